/// probe, check and break: from the inputs of a probe to the name of a mistake.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/stored_runs.hpp"

namespace {

using nlohmann::json;

/// A probe of the lesson and the tensors of a program with the mistake in it.
struct Exercise {
  Exercise(const Folder& folder, const std::string& lesson, const std::string& mistake)
      : probe(folder.file("probe.npz")), dump(folder.file("mine.npz")) {
    output_of(fmt::format("probe {} --output {}", lesson, probe));
    output_of(fmt::format("break {} {} --output {}", lesson, mistake, dump));
    arguments = fmt::format("check {} {} --probe {}", lesson, dump, probe);
  }
  std::string probe, dump, arguments;
};

json verdict_on(const json& report, const std::string& id) {
  for (const auto& step : report["steps"])
    if (step["id"] == id) return step;
  FAIL("no verdict on " << id);
  return {};
}

}  // namespace

TEST_CASE("check names the mistake that break made, and only in its own step") {
  const Folder folder;
  const Exercise exercise(folder, "multihead", "scale-heads");
  const auto result = run(exercise.arguments + " --format json");
  CHECK(result.status == 1);
  CHECK(result.err == "");
  const auto report = json::parse(result.out);
  CHECK(report["schema"] == "attnlab.check/1");
  CHECK(report["lesson"] == "multihead");
  CHECK(verdict_on(report, "scaled")["verdict"] == "wrong");
  CHECK(verdict_on(report, "scaled")["mistakes"] == json::array({"scale-heads"}));
  for (const auto& step : report["steps"])
    if (step["id"] != "scaled") CHECK(step["verdict"] == "right");
}

TEST_CASE("hints tell where, then the family, then the name, and no number that would be right") {
  const Folder folder;
  const Exercise exercise(folder, "sdpa", "no-scale");
  const auto told = [&](const std::string& more) { return run(exercise.arguments + more).out; };
  const auto where = told(" --hint 1"), family = told(" --hint 2"), name = told(" --hint 3");
  CHECK(contains(where, "scaled   wrong\n"));
  CHECK_FALSE(contains(where, "no-scale"));
  CHECK(contains(family, "a mistake of the family scale"));
  CHECK_FALSE(contains(family, "no-scale"));
  CHECK(contains(name, "wrong: no-scale"));
  CHECK_FALSE(contains(told(""), "yours is 21.27, right"));
  CHECK(contains(told(" --reveal"), "yours is 21.27, right"));
}

TEST_CASE("a trace of the lesson's own is right, from its own inputs as well as from a probe") {
  const Folder folder;
  for (const std::string lesson : {"sdpa --causal", "multihead --model none --causal"}) {
    const auto name = lesson.substr(0, lesson.find(' '));
    for (const char* ending : {"npz", "json", "safetensors"}) {
      const auto file = folder.file(fmt::format("{}.{}", name, ending));
      output_of(fmt::format("{} --output {}", lesson, file));
      CHECK(contains(output_of(fmt::format("check {} {}", name, file)), "steps are right."));
    }
  }
}

TEST_CASE("a folder of dumps becomes a table, and one wrong file is enough for status 1") {
  const Folder folder;
  const auto dumps = folder.file("dumps"), probe = folder.file("probe.npz");
  std::filesystem::create_directory(dumps);
  output_of("probe sdpa --output " + probe);
  output_of("break sdpa no-scale --output " + dumps + "/ada.npz");
  folder.write("dumps/eve.npz", "no archive");
  const auto result = run(fmt::format("check sdpa --folder {} --probe {} --format csv", dumps, probe));
  CHECK(result.status == 1);
  const auto lines = lines_of(result.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "file,status,step,mistakes");
  CHECK(lines[1] == "ada.npz,wrong,scaled,no-scale");
  CHECK(lines[2].rfind("eve.npz,unreadable,,", 0) == 0);
}

TEST_CASE("a probe is the same for the same seed, another for another, and states its task") {
  const Folder folder;
  const auto sheet = output_of("probe multihead --seed 7 --output " + (folder.file("a.npz")));
  output_of("probe multihead --seed 7 --output " + (folder.file("b.npz")));
  output_of("probe multihead --seed 8 --output " + (folder.file("c.npz")));
  CHECK(read_file(folder.file("a.npz")) == read_file(folder.file("b.npz")));
  CHECK(read_file(folder.file("a.npz")) != read_file(folder.file("c.npz")));
  for (const char* part : {"W_Q", "scores", "np.savez", "attnlab check multihead mine.npz"})
    CHECK(contains(sheet, part));
}

TEST_CASE("an audit says which mistakes a course's dimensions hide, and a probe's hide none") {
  const auto few = output_of(
      "probe multihead --audit --sentence 'a b c d' --d-model 4 --heads 2 --kv-heads 2 --d-k 2 --d-v 2");
  CHECK(contains(few, "scale-heads"));
  CHECK(contains(few, "exposed by"));
  const auto none = output_of("probe multihead --audit");
  INFO(none);
  CHECK_FALSE(contains(none, "exposed by"));
}

TEST_CASE("break shows what changes, what stays and why tests pass") {
  const auto text = output_of("break multihead heads-reshape-only");
  for (const char* part : {"Q_heads", "changes by up to", "stays", "Why the usual tests pass",
                           "Why a model may train with it", "with the mistake"})
    CHECK(contains(text, part));
  CHECK(contains(output_of("break --list sdpa"), "softmax-axis"));
  CHECK(contains(output_of("break --list"), "multihead"));
}

TEST_CASE("bad arguments of check, probe and break are refused with what would be valid") {
  const Folder folder;
  const auto mine = folder.file("mine.npz");
  output_of("sdpa --output " + mine);
  CHECK(contains(refusal("check"), "valid: attnlab check LESSON"));
  CHECK(contains(refusal("check nothing x.npz"), "valid: "));
  CHECK(contains(refusal("check sdpa"), "no file is given"));
  CHECK(contains(refusal("check sdpa " + mine + " --hint 4"), "--hint"));
  CHECK(contains(refusal("check sdpa " + mine + " --like pandas"), "valid: torch"));
  CHECK(contains(refusal("check sdpa " + mine + " --format csv"), "--folder"));
  CHECK(contains(refusal("check sdpa " + (folder.file("none.npz"))), "none.npz"));
  CHECK(contains(refusal("probe sdpa"), "--output"));
  CHECK(contains(refusal("probe lookup --output x.npz"), "valid: "));
  CHECK(contains(refusal("break sdpa"), "no mistake is given"));
  CHECK(contains(refusal("break sdpa no-scal"), "did you mean no-scale"));
}
