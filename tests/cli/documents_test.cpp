/// Lessons that are documents: other formulas in the place of their steps, other languages, other words.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/stored_runs.hpp"

namespace {

using Catch::Matchers::Contains;

Result with_data(const std::string& folder, const std::string& arguments) {
  return run(arguments, {.environment = {{"ATTNLAB_DATA", folder}}});
}

}  // namespace

TEST_CASE(
    "another formula of --define takes the place of a step, what follows follows, and the page says so") {
  const auto page = output_of("sdpa --model none --define 'scaled = scores / d_k'");
  CHECK_THAT(page, Contains("Not as the lesson has it") && Contains("scaled = scores / d_k = scores / 4"));
  const auto weights = [](const std::string& more) {
    return nlohmann::json::parse(output_of("sdpa --model none --format json" + more))["events"].dump();
  };
  CHECK(weights("") != weights(" --define 'scaled = scores / d_k'"));
  const auto leaking = run("masking --model none --define 'causal_mask = key < query + 2'");
  CHECK(leaking.status == 1);  // the next word leaks, and the claims say so
  CHECK_THAT(leaking.out, Contains("key < query + 2") && Contains("✗ changing the last word"));
}

TEST_CASE("a formula of --define that does not fit is refused with its column") {
  for (const auto& [formula, message] :
       {std::pair("scaled = scores / d_q", "column 19: d_q is unknown"),
        std::pair("scled = scores", "scled is no step"), std::pair("scaled = (scores", "column 17"),
        std::pair("scaled[query] = scores", "the axis key of scores")}) {
    const auto result = run(fmt::format("sdpa --define '{}'", formula));
    INFO(formula);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    CHECK_THAT(result.err, Contains(message));
  }
  CHECK_THAT(run("multihead --define 'scaled = scores'").err, Contains("does not use --define"));
}

TEST_CASE("check tells the formula behind numbers that no mistake of the catalogue gives") {
  const Folder folder;
  const auto probe = folder.file("probe.npz"), dump = folder.file("mine.npz");
  output_of("probe sdpa --output " + probe);
  for (const std::string formula : {"scaled = scores / 1.7", "output = Σ_key weights² · V"}) {
    const std::string defined = formula.front() == 's' ? formula : "output = sum(key) weights ^ 2 * V";
    run(fmt::format("sdpa --input {} --causal --window 3 --define '{}' --output {}", probe, defined, dump));
    const auto result = run(fmt::format("check sdpa {} --probe {}", dump, probe));
    CHECK(result.status == 1);
    CHECK_THAT(result.out, Contains("wrong: your numbers are those of " + formula));
    const auto report =
        nlohmann::json::parse(run(fmt::format("check sdpa {} --probe {} --format json", dump, probe)).out);
    CHECK_THAT(report.dump(), Contains("\"formula\":\"" + formula));
    CHECK_THAT(run(fmt::format("check sdpa {} --probe {} --hint 1", dump, probe)).out,
               !Contains("your numbers"));
  }
}

TEST_CASE("xtensor: --code shows the page's code in xtensor, and --format cpp is a program of it") {
  CHECK_THAT(output_of("masking --code xtensor"),
             Contains("In xtensor") && Contains("xt::linalg::dot(X, W_Q)"));
  const auto program = output_of("sdpa --format cpp");
  CHECK_THAT(program, Catch::Matchers::StartsWith("// g++ ") && Contains("expect(\"weights\", weights,"));
  const auto refused = run("multihead --format cpp");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("--format cpp") && Contains("sdpa, masking"));
}

TEST_CASE("a word of a page changes with its file, and what is wrong with the file is said with its place") {
  const Folder folder;
  namespace fs = std::filesystem;
  const auto lessons = fs::path(ATTN_DATA).parent_path() / "lessons";
  const fs::path data = folder.file("data");
  fs::create_directories(data / "lessons");
  for (const auto* name : {"sdpa.md", "masking.md"}) fs::copy(lessons / name, data / "lessons" / name);
  fs::copy(lessons / "parts", data / "lessons" / "parts", fs::copy_options::recursive);
  const auto append = [&](const std::string& text) {
    std::ofstream(data / "lessons" / "sdpa.md", std::ios::app) << text;
  };
  append("\n# A new part  {#new}\n\nThe largest score is {max(query, key) scores:.1f}.\n");
  CHECK_THAT(with_data(data, "sdpa --model none").out,
             Contains("A new part") && Contains("The largest score is"));
  append("\n{if nonsense}\n\nnever\n\n{end}\n");
  const auto refused = with_data(data, "sdpa --model none");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("lessons/sdpa.md, line ") && Contains("nonsense is unknown"));
}
