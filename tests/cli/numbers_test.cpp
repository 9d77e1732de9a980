#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/program.hpp"

using nlohmann::json;

namespace {

std::string content_of(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

json trace_of(const std::string& arguments) {
  return json::parse(output_of(arguments + " --format json"));
}

json data_of(const json& trace, const std::string& id) {
  for (const auto& event : trace["events"])
    if (event["id"] == id) return event["data"];
  return nullptr;
}

}  // namespace

TEST_CASE("the page of NumPy code is printed as it is, and fits the terminal") {
  const auto page = output_of("--help numbers");
  CHECK(page == content_of(ATTNLAB_ROOT "/lessons/numbers/attnlab_numbers.py"));
  const auto lines = lines_of(page);
  CHECK(std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.size() <= 80; }));
  CHECK(output_of("--help").find("attnlab --help numbers") != std::string::npos);
}

TEST_CASE("help on anything else is refused with what there is") {
  const auto result = run("--help nmbers");
  CHECK(result.status == 2);
  CHECK(result.out == "");
  CHECK(result.err ==
        "attnlab: there is no help on \"nmbers\"; valid: attnlab --help, attnlab --help numbers, attnlab "
        "LESSON "
        "--help\n");
}

TEST_CASE("every lesson draws from either generator, and its header says from which") {
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    CHECK(trace_of(lesson)["config"]["rng"] == "legacy");
    CHECK(trace_of(lesson + " --rng pcg64")["config"]["rng"] == "pcg64");
  }
  CHECK(run("sdpa --rng mt19937").err == "attnlab: --rng mt19937 is unknown; valid: legacy, pcg64\n");
}

TEST_CASE("with --rng pcg64 the numbers are those of default_rng") {
  const auto query = data_of(trace_of("lookup --rng pcg64 --d-k 3"), "query");
  CHECK(query == json{0.30471707975443135, -1.0399841062404955, 0.7504511958064572});
  const auto legacy = data_of(trace_of("lookup --rng legacy --d-k 3"), "query");
  CHECK(legacy == json{0.4967141530112327, -0.13826430117118466, 0.6476885381006925});
}

TEST_CASE("the NumPy code in a trace names the generator of the run") {
  for (const std::string lesson : {"scaling", "training"}) {
    CHECK(output_of(lesson + " --samples 99").find("rng = np.random.RandomState(42)") != std::string::npos);
    CHECK(output_of(lesson + " --samples 99 --rng pcg64 --seed 7").find("rng = np.random.default_rng(7)") !=
          std::string::npos);
  }
}

TEST_CASE("the tour draws from the generator that it is given") {
  const auto text = output_of("tour --rng pcg64");
  CHECK(text.find("rng=pcg64") != std::string::npos);
  CHECK(text.find("rng=legacy") == std::string::npos);
}
