#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/text/width.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/well_formed.hpp"

namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;

const std::string quick = "bench --rounds 1 --d-k 4 --heads 2 --seconds 600 ";
const std::string tiny = quick + "--lengths 8,16 ";

Strings cells_of(const std::string& line) {
  Strings cells;
  std::size_t begin = 0;
  for (auto comma = line.find(','); comma != line.npos; comma = line.find(',', begin)) {
    cells.push_back(line.substr(begin, comma - begin));
    begin = comma + 1;
  }
  cells.push_back(line.substr(begin));
  return cells;
}

void check_kernel(const json& kernel) {
  INFO(kernel);
  for (const char* positive : {"operations", "median_seconds", "lower_quartile_seconds",
                               "upper_quartile_seconds", "gflops", "share_of_gemm", "share_of_peak"})
    CHECK(kernel[positive].get<double>() > 0.0);
  CHECK(kernel["lower_quartile_seconds"] <= kernel["median_seconds"]);
  CHECK(kernel["median_seconds"] <= kernel["upper_quartile_seconds"]);
  CHECK(kernel["max_error"].get<double>() < 1e-4);
  CHECK(kernel["extra_bytes"].get<double>() >= 0.0);
  CHECK(kernel["seconds"].size() == 1);
  CHECK((kernel["pass"] == "forward" || kernel["pass"] == "backward"));
}

std::set<std::string> kernels_in(const json& length) {
  std::set<std::string> names;
  for (const auto& kernel : length["kernels"]) names.insert(kernel["kernel"].get<std::string>());
  return names;
}

}  // namespace

TEST_CASE("bench prints a table for each length, growth, a chart and what its words mean") {
  const auto text = output_of(tiny);
  for (const char* part : {"bench: ", "n = 8, forward", "n = 16, forward", "kernel", "quartiles", "GFLOP/s",
                           "of gemm", "of peak", "memory", "rounding", "Time grows as a power of n", "┤",
                           "both scales logarithmic", "threads=1", "4 n² d", "two lengths give no exponent"})
    CHECK(contains(text, part));
  for (const char* kernel : {"xtensor", "plain", "blas", "tiled", "simd", "sparse-simd", "linear-simd"})
    CHECK(contains(text, std::string("\n  ") + kernel + " "));
  CHECK(contains(text, "\n  rounding  the largest difference of a number from the same attention in"));
  for (const auto& line : lines_of(text)) {
    INFO(line);
    CHECK(attn::display_width(line) <= 80);
  }
}

TEST_CASE("bench hands all that it measured to programs") {
  const auto document = json::parse(output_of(tiny + "--backward --causal --format json"));
  CHECK(document["schema"] == "attnlab.bench/1");
  CHECK(document["config"]["lengths"] == json({8, 16}));
  CHECK(document["config"]["causal"] == true);
  CHECK(document["config"]["window"].is_null());
  CHECK(document["config"]["dtype"] == "float32");
  REQUIRE(document["lengths"].size() == 2);
  for (const auto& length : document["lengths"]) {
    CHECK(length["gemm_rates"].size() == 1);
    CHECK(length["peak_rates"].size() == 1);
    for (const auto& kernel : length["kernels"]) check_kernel(kernel);
    const auto names = kernels_in(length);
    for (const char* name : {"xtensor", "plain", "blas", "tiled", "simd", "simd-full", "linear-simd-full"})
      CHECK(names.count(name) == 1);
  }
  CHECK(document["omitted"].empty());
  CHECK(document["config"]["kernels"].is_null());
}

TEST_CASE("bench says how far a variant is off from full attention, beside its rounding") {
  const auto kernels = [](const std::string& options) {
    const auto document =
        json::parse(output_of(quick + "--lengths 300 --dtype float64 --format json " + options));
    std::map<std::string, json> of_name;
    for (const auto& kernel : document["lengths"][0]["kernels"]) of_name[kernel["kernel"]] = kernel;
    return of_name;
  };
  auto all = kernels("--kernels simd,sparse,linear");
  CHECK(all.size() == 5);
  CHECK(all["simd"]["variant"] == "flash");
  CHECK(all["simd"]["relative_error"].is_null());
  for (const char* name : {"sparse-plain", "sparse-simd", "linear-plain", "linear-simd"}) {
    INFO(name << all[name]);
    CHECK(all[name]["relative_error"] > 0.01);
    CHECK(all[name]["max_error"] < 1e-12);
  }
  CHECK(all["linear-simd"]["variant"] == "linear");
  auto windows = kernels("--kernels flash --window 2");
  CHECK(windows.size() == 3);
  CHECK(windows["simd"]["variant"] == "local");
  CHECK(windows["simd"]["relative_error"] > 0.01);
  CHECK(windows["simd-full"]["variant"] == "flash");
  CHECK(windows["simd-full"]["relative_error"].is_null());
  CHECK(kernels("--kernels tiled --window 2 --causal")["tiled"]["variant"] == "sliding");
  CHECK(contains(output_of(tiny + "--kernels linear"), "off from full attention: linear-plain "));
}

TEST_CASE("bench times the kernels that are named, blanks aside") {
  const auto document = json::parse(output_of(quick + "--lengths 8 --kernels 'simd, blas' --format json"));
  CHECK(document["config"]["kernels"] == json({"simd", "blas"}));
  CHECK(kernels_in(document["lengths"][0]) == std::set<std::string>{"simd", "blas"});
}

TEST_CASE("bench times linear attention to all keys where a window hides some") {
  const auto document =
      json::parse(output_of(quick + "--lengths 8 --window 2 --kernels linear-simd-full --format json"));
  CHECK(kernels_in(document["lengths"][0]) == std::set<std::string>{"linear-simd-full"});
}

TEST_CASE("bench's ratios are those of the passes that they name") {
  const auto document =
      json::parse(output_of(tiny + "--backward --causal --format json --kernels xtensor,simd,simd-full"));
  for (const auto& kernel : document["lengths"][0]["kernels"]) {
    INFO(kernel);
    CHECK(kernel["of_forward"].is_null() == (kernel["pass"] == "forward"));
    CHECK(kernel["of_full"].is_null() == (kernel["kernel"] != "simd"));
    CHECK_FALSE(kernel["times_xtensor"].is_null());
  }
  std::set<std::string> grown;
  for (const auto& growth : document["exponents"]) {
    grown.insert(growth["kernel"].get<std::string>() + " " + growth["pass"].get<std::string>());
    CHECK(growth["lengths"] == json({8.0, 16.0}));
    CHECK(growth["exponent"].is_null());
  }
  CHECK(grown.size() == 6);
}

TEST_CASE("bench's operations count the pairs that are visible") {
  const auto document = json::parse(
      output_of(quick + "--lengths 8 --causal --window 1 --kernels simd,simd-full --format json"));
  const auto& kernels = document["lengths"][0]["kernels"];
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0]["operations"] == 2 * 2.0 * 8 * (8 + 7));
  CHECK(kernels[1]["operations"] == 2 * 2.0 * 8 * 8 * 8);
}

TEST_CASE("bench writes a line of names and one for each kernel and length as csv") {
  const auto lines = lines_of(output_of(tiny + "--kernels plain,simd --format csv"));
  REQUIRE(lines.size() == 5);
  const auto names = cells_of(lines[0]);
  CHECK(names[0] == "n");
  CHECK(names[1] == "kernel");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cells = cells_of(lines[i]);
    CHECK(cells.size() == names.size());
    CHECK(cells[0] == (i < 3 ? "8" : "16"));
    CHECK(cells[1] == (i % 2 == 1 ? "plain" : "simd"));
  }
}

TEST_CASE("bench draws its curves") {
  const Folder folder;
  const auto path = folder.file("times.svg");
  CHECK(output_of(tiny + "--kernels plain,simd --output " + as_argument(path)) == "");
  const auto document = read_file(path);
  CHECK(is_well_formed(document));
  for (const char* part : {"<svg", "Seconds of a run, forward", "Useful GFLOP/s, forward", ">plain<",
                           ">simd<", ">gemm<", "<path"})
    CHECK(contains(document, part));
}

TEST_CASE("bench takes every option") {
  const std::string all =
      "--lengths 9 --threads 2 --kv-heads 1 --d-v 3 --window 2 --kernels simd --format json --dtype ";
  const auto as_document = [&](const std::string& more) {
    return json::parse(output_of(quick + all + more));
  };
  const auto document = as_document("float64"), single = as_document("float32");
  const json wanted = {{"lengths", {9}}, {"dtype", "float64"}, {"threads", 2}, {"kv_heads", 1},
                       {"d_v", 3},       {"window", 2},        {"d_k", 4},     {"heads", 2}};
  for (const auto& [option, value] : wanted.items()) CHECK(document["config"][option] == value);
  const auto kernel_of = [](const json& run) { return run["lengths"][0]["kernels"][0]; };
  CHECK(kernel_of(document)["operations"] == 2 * (4.0 + 3) * 2 * (9 + 2 * (8 + 7)));
  CHECK(kernel_of(document)["max_error"] < 1e-14);
  CHECK(kernel_of(single)["max_error"] > 1e-14);
  CHECK(kernel_of(as_document("float32 --scores rising"))["max_error"] != kernel_of(single)["max_error"]);
  const auto forced =
      json::parse(output_of(quick + "--lengths 8 --isa generic --kernels simd --format json"));
  CHECK(forced["config"]["isa"] == "generic");
}

TEST_CASE("bench leaves out what takes too long, and says so") {
  const auto document =
      json::parse(output_of("bench --lengths 64,2048 --rounds 1 --d-k 64 --heads 8 --seconds 0.2 --kernels "
                            "plain,simd --format json"));
  REQUIRE_FALSE(document["omitted"].empty());
  for (const auto& omission : document["omitted"]) {
    CHECK((omission["kernel"] == "plain" || omission["kernel"] == "simd"));
    CHECK(contains(omission["reason"].get<std::string>(), "0.2 s"));
  }
}

TEST_CASE("bench refuses values that it cannot use") {
  for (const char* option :
       {"--lengths", "--d-k", "--d-v", "--heads", "--kv-heads", "--threads", "--rounds", "--seconds"})
    for (const char* value : {"0", "-1", "x", "1e3x", "''"})
      check_bad_usage("bench " + std::string(option) + " " + value, {option});
  check_bad_usage("bench --lengths ,", {"--lengths"});
  check_bad_usage("bench --lengths 8,,16", {"--lengths"});
  check_bad_usage("bench --heads 6 --kv-heads 4", {"--kv-heads 4", "--heads 6", "1, 2, 3, 6"});
  check_bad_usage("bench --window -1", {"--window -1"});
  check_bad_usage("bench --seconds inf", {"--seconds inf"});
  check_bad_usage("bench --dtype half", {"--dtype half", "float32, float64"});
  check_bad_usage("bench --isa sse9", {"--isa sse9", "generic"});
  check_bad_usage("bench --scores falling", {"--scores falling", "rising"});
  check_bad_usage("bench --format png", {"--format png", "csv"});
  check_bad_usage("bench --kernels smid", {"\"smid\"", "did you mean simd?", "tiled"});
  check_bad_usage("bench --kernels SIMD", {"\"SIMD\"", "did you mean simd?"});
  check_bad_usage("bench --kernels simd-full", {"\"simd-full\"", "--causal", "linear-simd-full"});
  check_bad_usage("bench --lengths 8 --d-k 257 --kernels simd", {"takes d_k and d_v up to 256"});
  check_bad_usage("bench --lengths 8,16 --output times.npz", {"--output times.npz", ".csv"});
  check_bad_usage("bench --lengths 8 --format svg", {"svg", "two lengths"});
  check_bad_usage("bench --output /nowhere/at/all.json", {"/nowhere/at/all.json", "No such file"});
  check_bad_usage("bench --length 8", {"--length", "did you mean --lengths?"});
  check_bad_usage("bench now", {"\"now\""});
  check_bad_usage("bench --ranks", {"--ranks", "mpirun -n 2 attnlab bench --ranks"});
  check_bad_usage("bench --ranks --kernels simd", {"--kernels", "--ranks"});
  check_bad_usage("bench --ranks --format csv", {"--ranks", "text or json"});
  check_bad_usage("bench --ranks --order sideways", {"--order sideways", "contiguous, striped, zigzag"});
  check_bad_usage("bench --order zigzag", {"--order", "with --ranks"});
}

TEST_CASE("bench checks memory before it takes any") {
  for (const char* option : {"--lengths", "--d-k", "--d-v", "--heads"}) {
    const auto arguments = std::string(option) + " 1000000000000";
    check_bad_usage("bench " + arguments, {"need about ", "iB", "are free"});
    CHECK(run("bench " + arguments).peak_memory < std::size_t{1} << 28);
  }
}

TEST_CASE("bench shows how far it is on a terminal only") {
  CHECK_FALSE(contains(output_of(quick + "--lengths 8 --kernels simd"), " %  "));
  const Surroundings terminal = {.output = Output::terminal, .err_goes_there = true, .window = {24, 100}};
  CHECK(contains(output_of(quick + "--lengths 8 --kernels simd", terminal), " %  "));
}
