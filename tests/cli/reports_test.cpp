/// Public reports of wrong attention: check names what is wrong in a dump of each, which
/// tests/fixtures/make_reports.py rebuilt.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

namespace {

using nlohmann::json;

struct Report {
  std::string file, lesson, options;
  json of_step;  ///< what is said of the only step in the dump
};

const Report reports[] = {
    {"jax_23349",
     "multihead",
     "--heads 4",
     {{"id", "output"}, {"verdict", "wrong"}, {"mistakes", {"mask-missing"}}}},
    {"pytorch_103082",
     "sdpa",
     "--causal",
     {{"id", "output"}, {"verdict", "convention"}, {"convention", "mask-causal-corner"}}},
    {"transformers_19045",
     "positional",
     "",
     {{"id", "relative/scores"}, {"verdict", "wrong"}, {"mistakes", {"relative-bias-zero-in-decode"}}}},
    {"transformers_17886",
     "positional",
     "--heads 3",
     {{"id", "t5/bias"}, {"verdict", "wrong"}, {"mistakes", {"relative-bias-not-pruned"}}}},
    {"transformers_37574",
     "generate",
     "--heads 2 --new-tokens 2 --sentence 'a b c d e f g'",
     {{"id", "logits"}, {"verdict", "wrong"}, {"mistakes", {"cache-window-early"}}}},
    {"ng_video_lecture_6",
     "multihead",
     "--heads 4 --causal",
     {{"id", "output"}, {"verdict", "wrong"}, {"mistakes", {"scale-d-model"}}}},
};

}  // namespace

TEST_CASE("six public reports are named from what their reporters could see") {
  for (const auto& report : reports) DYNAMIC_SECTION(report.file) {
      const auto result = run(fmt::format("check {} tests/fixtures/reports/{}.npz {} --format json",
                                          report.lesson, report.file, report.options));
      INFO(result.out << result.err);
      REQUIRE(result.err == "");
      CHECK(result.status == (report.of_step["verdict"] == "wrong" ? 1 : 0));
      const auto steps = json::parse(result.out)["steps"];
      REQUIRE(steps.size() == 1);
      for (const auto& [name, value] : report.of_step.items()) CHECK(steps[0][name] == value);
    }
}
