/// probe, check and break on backward passes: each part of the lesson backward has a probe of its own.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/stored_runs.hpp"

namespace {

using nlohmann::json;

/// A mistake of a backward pass, the step in which it shows and another that it leaves right.
struct BackwardMistake {
  std::string options, mistake, step, right;
};

json verdict_of(const json& report, const std::string& id) {
  for (const auto& step : report["steps"])
    if (step["id"] == id) return step;
  FAIL("no verdict on " << id);
  return {};
}

}  // namespace

TEST_CASE("a backward pass is checked like a forward one, through whatever it goes", "[thorough]") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), dump = folder.file("mine.npz");
  const BackwardMistake mistakes[] = {
      {"", "backward-no-softmax-sum", "d_scaled", "d_X"},
      {"", "backward-batch-not-summed", "d_W_Q", "d_X"},
      {" --through multihead", "backward-heads-not-summed", "d_V_heads", "d_X"},
      {" --through transformer-block", "backward-norm-as-constant", "d_residual_1", "norm_1/d_gain"}};
  for (const auto& [options, mistake, step, right] : mistakes) {
    CAPTURE(options, mistake);
    output_of(fmt::format("probe backward --output {}{}", probe, options));
    output_of(fmt::format("break backward {} --output {}{}", mistake, dump, options));
    const auto result = run(fmt::format("check backward {} --probe {} --format json", dump, probe));
    CHECK(result.status == 1);
    const auto report = json::parse(result.out);
    CHECK(verdict_of(report, step)["mistakes"] == json::array({mistake}));
    CHECK(verdict_of(report, right)["verdict"] == "right");
  }
}

TEST_CASE("a part of a lesson without a probe is refused with those that have one") {
  const Folder folder;
  CHECK(contains(refusal("probe backward --through seq2seq --output " + folder.file("x.npz")),
                 "valid: --through sdpa, multihead, transformer-block"));
}

TEST_CASE("a backward pass that begins with words is checked from the words on, whatever was set") {
  const Folder folder;
  const auto dump = folder.file("mine.npz");
  for (const std::string set : {"", " --set W_Q=identity", " --set b_Q=[1,2,3,4]"}) {
    output_of("backward --output " + dump + set);
    const auto report = json::parse(output_of(fmt::format("check backward {} --format json", dump)));
    for (const auto* id : {"Q", "d_W_Q", "d_X"}) CHECK(verdict_of(report, id)["verdict"] == "right");
  }
  output_of("backward --set 'Q=[[1,2],[3,4]]' --output " + dump);
  CHECK(contains(output_of("check backward " + dump), "All 11 steps are right."));
}
