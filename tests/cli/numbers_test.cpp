#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/events.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

using nlohmann::json;

namespace {

std::string content_of(const std::string& path) {
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

/// The numbers of all tensors of a trace.
std::vector<json> numbers_in(const json& trace) {
  std::vector<json> numbers;
  for (const auto& event : trace["events"])
    if (event.contains("data")) numbers.push_back(event["data"]);
  return numbers;
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

TEST_CASE("every lesson draws from either generator, and its header says from which", "[thorough]") {
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    const auto drawn = lesson + (takes(lesson, "--model") ? " --model none" : "");
    const auto legacy = trace_of(drawn), pcg64 = trace_of(drawn + " --rng pcg64");
    CHECK(legacy["config"]["rng"] == "legacy");
    CHECK(pcg64["config"]["rng"] == "pcg64");
    CHECK((numbers_in(legacy) != numbers_in(pcg64) || lesson == "complexity"));  // which counts
  }
  CHECK(run("sdpa --rng mt19937").err == "attnlab: --rng mt19937 is unknown; valid: legacy, pcg64, torch\n");
}

TEST_CASE("with --rng pcg64 the numbers are those of default_rng") {
  const auto query = data_of(trace_of("lookup --rng pcg64 --draws stream --d-k 3"), "query");
  CHECK(query == json{0.30471707975443135, -1.0399841062404955, 0.7504511958064572});
  const auto legacy = data_of(trace_of("lookup --rng legacy --draws stream --d-k 3"), "query");
  CHECK(legacy == json{0.4967141530112327, -0.13826430117118466, 0.6476885381006925});
}

TEST_CASE("the code in a trace names the generator of the run", "[thorough]") {
  const auto code_of = [](const std::string& arguments) {
    const auto trace = trace_of(arguments);
    for (const auto& event : trace["events"])
      if (event["id"] == "draws") return event["formula"].get<std::string>();
    return std::string();
  };
  for (const std::string lesson : {"scaling", "training"}) {
    const auto first_lines = [&](const std::string& arguments, const std::string& lines) {
      INFO(lesson << arguments);
      CHECK_THAT(code_of(lesson + " --samples 99" + arguments), Catch::StartsWith(lines + "\n"));
    };
    first_lines(
        "",
        "from zlib import crc32\ndef rng(name): return np.random.RandomState([42, crc32(name.encode())])");
    first_lines(
        " --rng pcg64 --seed 7",
        "from zlib import crc32\ndef rng(name): return np.random.default_rng([7, crc32(name.encode())])");
    first_lines(" --draws stream", "rng = np.random.RandomState(42)");
    first_lines(" --draws stream --rng pcg64 --seed 7", "rng = np.random.default_rng(7)");
    first_lines(" --rng torch --seed 7", "torch.manual_seed(7)");
  }
  CHECK(code_of("training").find("scores = rng(\"dropout/scores\").normal(0, 1, 6)\n") != std::string::npos);
  CHECK(code_of("training --draws stream").find("scores = rng.normal(0, 1, 6)\n") != std::string::npos);
  CHECK(code_of("training --rng torch").find("scores = torch.randn(6)\n") != std::string::npos);
}

TEST_CASE(
    "draws are by name unless a stream is asked for, and a trace says which, to be run again from itself") {
  const Folder folder;
  for (const std::string way : {"", " --draws stream", " --rng torch", " --rng pcg64 --draws name"}) {
    INFO(way);
    const auto path = folder.file("trace.json");
    REQUIRE(run("self-attention --model none --dropout 0.5" + way + " --output " + path).status == 0);
    const auto expected =
        way.find("stream") != std::string::npos || way.find("torch") != std::string::npos ? "stream" : "name";
    CHECK(json::parse(content_of(path))["config"]["draws"] == expected);
    auto trace = json::parse(content_of(path));
    trace["events"] = json::array();  // no tensors: everything is drawn again
    const auto options = folder.write("config.json", trace.dump());
    CHECK(output_of("self-attention --model none --format json --input " + options) == content_of(path));
  }
}

TEST_CASE("a trace from before --draws came means one stream") {
  const Folder folder;
  auto trace = trace_of("sdpa --draws stream");
  const auto expected = data_of(trace, "Q");
  trace["config"].erase("draws");
  trace["events"] = json::array();
  const auto path = folder.write("old.json", trace.dump());
  CHECK(data_of(trace_of("sdpa --input " + path), "Q") == expected);
  CHECK(data_of(trace_of("sdpa --draws name --input " + path), "Q") ==
        data_of(trace_of("sdpa --model none"), "Q"));
}

TEST_CASE("what PyTorch alone draws is refused elsewhere") {
  CHECK(run("sdpa --rng torch --draws name").err ==
        "attnlab: --draws name does not go with --rng torch, which draws all numbers from one stream; valid: "
        "--draws "
        "stream or none, or --rng legacy or pcg64\n");
  for (const std::string scale : {"linear", "uniform"}) {
    CHECK(run("self-attention --weight-scale " + scale).err ==
          "attnlab: --weight-scale " + scale +
              " draws as PyTorch does; valid: --rng torch with it, or xavier, he or a number from 0 to "
              "1e+06\n");
    CHECK(run("self-attention --rng torch --weight-scale " + scale).status == 0);
  }
  CHECK(run("tour --rng torch --draws name").status == 2);
  CHECK(run("sdpa --draws names").err == "attnlab: --draws names is unknown; valid: name, stream\n");
}

// Its logarithms and cosines are float32's, and not the same on every machine.
TEST_CASE("a script that draws with PyTorch itself asserts what float32 keeps") {
  CHECK(contains(output_of("scaling --rng torch --format python"), "tolerance = 0.0001 *"));
  CHECK(contains(output_of("scaling --format python"), "tolerance = 1e-09 *"));
}

TEST_CASE("the self-attention that begins with torch.manual_seed(123) comes out digit for digit") {
  const auto text =
      output_of("self-attention --sentence 'Your journey starts with one step' --embeddings " ATTN_DATA
                "/tutorial/journey.vectors.txt --d-k 2 --d-v 2 --rng torch --seed 123 --weight-scale uniform "
                "--steps output");
  CHECK_THAT(text, Catch::Contains("0.2996  0.8053"));
}

TEST_CASE("where numbers are drawn, text, JSON, HTML and pictures say so, and nowhere else") {
  for (const auto& lesson : lessons()) {
    const auto* const said = lesson == "training" ? "drawn, then trained" : "drawn, not trained";
    if (lesson == "scaling" || lesson == "stability" || lesson == "complexity")
      continue;  // which have no inputs of a model
    INFO(lesson);
    const bool has_model = output_of(lesson + " --help").find("--model ") != std::string::npos;
    const auto drawn = lesson + (has_model ? " --model none" : "");
    for (const char* format : {"text", "json", "html"})
      CHECK_THAT(output_of(drawn + " --format " + format), Catch::Contains(said));
    CHECK_THAT(output_of(drawn + " --format svg"), Catch::Contains(said));
    if (has_model) CHECK_THAT(output_of(lesson), !Catch::Contains(said));
  }
  constexpr const char* said = "drawn, not trained";
  for (const auto& sheet : {"lookup", "sdpa", "multihead"})
    for (const char* format : {"text", "html"})
      CHECK_THAT(output_of(fmt::format("worksheet {} --format {}", sheet, format)), Catch::Contains(said));
  for (const std::string part : {"sdpa", "multihead", "transformer-block"})
    CHECK_THAT(output_of("backward --through " + part),
               Catch::Contains("numbers=\"trained; the seed draws d_output\""));
  CHECK_THAT(output_of("backward --sentence sleep --set d_output='[[1,0,0,0,0,0,0,0]]'"),
             !Catch::Contains("the seed draws"));
  CHECK_THAT(output_of("sdpa --model none --explain 'weights[0,1]'"), Catch::Contains(said));
  CHECK_THAT(output_of("sdpa --explain 'weights[0,1]'"), !Catch::Contains(said));
}
