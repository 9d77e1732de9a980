#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "tests/cli/stored_runs.hpp"

namespace {

using Strings = std::vector<std::string>;

const Strings data_formats = {"json", "npz", "safetensors"};

void check_silent(const Result& result) {
  CHECK(result.out == "");
  CHECK(result.err == "");
  CHECK(result.status == 0);
}

}  // namespace

TEST_CASE("numbers that agree are equal whatever the options, where that is asked for") {
  const Folder folder;
  const auto a = folder.file("a.npz"), b = folder.file("b.npz");
  output_of("self-attention --output " + a);
  output_of("self-attention --seed 7 --output " + b);
  CHECK(run(fmt::format("diff {} {}", a, b)).status == 1);
  CHECK(run(fmt::format("diff {} {} --ignore-config", a, b)).status == 0);
  CHECK(run(fmt::format("self-attention --seed 7 --expect {} --ignore-config --quiet", a)).status == 0);
  const auto quiet = run(fmt::format("self-attention --causal --expect {} --quiet", a));
  CHECK(quiet.status == 1);
  CHECK(quiet.out.empty());
  CHECK(contains(refusal("self-attention --quiet"), "valid: with --expect FILE"));
}

TEST_CASE("a trace of any lesson is equal to itself in every format and in any two formats of data",
          "[thorough]") {
  const Folder folder;
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    store(folder, "a", lesson);
    for (const char* file : {"a.txt", "a.json", "a.npz", "a.safetensors"})
      check_silent(diff(folder, file, file));
    check_silent(diff(folder, "a.json", "a.npz"));
    check_silent(diff(folder, "a.npz", "a.safetensors"));
    check_silent(diff(folder, "a.safetensors", "a.json"));
  }
}

TEST_CASE("two runs differ in every pair of formats of data, in the same places") {
  const Folder folder;
  store(folder, "a", "sdpa --sentence 'the cat sat'", data_formats);
  store(folder, "b", "sdpa --sentence 'the cat sat' --temperature 2", data_formats);
  const auto report_on = [&](const std::string& a, const std::string& b) {
    const auto result = diff(folder, "a." + a, "b." + b, "--format json");
    INFO(a << ' ' << b << '\n' << result.err);
    CHECK(result.status == 1);
    auto report = nlohmann::json::parse(result.out);
    report.erase("words");  // which archives do not have
    return report;
  };
  const auto expected = report_on("npz", "npz");
  CHECK(expected["first"]["id"] == "scaled");
  CHECK(expected["first"]["place"] == "[query 0 `the` × key 0 `the`]");
  CHECK(expected["options"][0]["name"] == "temperature");
  CHECK(expected["tensors"].size() == 3);
  for (const auto& a : data_formats)
    for (const auto& b : data_formats) CHECK(report_on(a, b) == expected);
}

TEST_CASE("two runs differ as printed") {
  const Folder folder;
  store(folder, "a", "sdpa --sentence 'the cat sat'", {"txt"});
  store(folder, "b", "sdpa --sentence 'the cat sat' --temperature 2", {"txt"});
  const auto result = diff(folder, "a.txt", "b.txt");
  CHECK(result.status == 1);
  CHECK(result.err == "");
  CHECK(contains(result.out, "differs first at line 3: nothing in A,\n  `temperature=2` in B\n"));
  CHECK(contains(result.out, " differs first at line "));
  for (const auto* id : {"scaled", "weights", "output"})
    CHECK(contains(result.out, std::string("\n  ") + id + ' '));
  CHECK_FALSE(contains(result.out, "\n  scores "));
}

TEST_CASE("of two printed pages the first ten headings that differ are listed, and with --all the rest") {
  const Folder folder;
  store(folder, "a", "multihead --all --model none", {"txt"});
  store(folder, "b", "multihead --all --model none --seed 2", {"txt"});
  const auto few = diff(folder, "a.txt", "b.txt").out;
  const auto all = run("diff --all " + folder.file("a.txt") + ' ' + folder.file("b.txt")).out;
  CHECK(contains(few, " more, which --all lists\n"));
  CHECK_FALSE(contains(all, "which --all lists"));
  CHECK(lines_of(few.substr(few.find("  id or heading"))).size() < 16);
  CHECK(lines_of(all).size() > lines_of(few).size() + 5);
}

TEST_CASE("one number of a printed page is named by its line, whatever the page shows") {
  const Folder folder;
  const auto number = std::regex("-?[0-9]+\\.[0-9]{4}");
  const std::string cat = " --sentence 'the cat sat'";
  for (const auto& arguments :
       {"sdpa --model none" + cat, "self-attention --model none --all" + cat,
        "self-attention --model none --causal" + cat + cat, "multihead --heads 2" + cat}) {
    const auto page = output_of(arguments);
    const auto row = page.find("\n  cat ", page.rfind("  output = "));
    std::smatch match;
    const std::string rest = page.substr(row);
    REQUIRE(std::regex_search(rest, match, number));
    const auto place = row + static_cast<std::size_t>(match.position());
    auto changed = page;
    changed.replace(place, match.length(), std::string(match.length() - 6, ' ') + "9.0000");
    folder.write("a.txt", page);
    folder.write("b.txt", changed);
    const auto result = diff(folder, "a.txt", "b.txt");
    const auto line = 1 + std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    INFO(arguments << '\n' << result.out);
    CHECK(result.status == 1);
    CHECK(contains(result.out, fmt::format("output differs first at line {}: {} in A, 9.0000 in B\n", line,
                                           match.str())));
    CHECK(contains(result.out, "\n  B    cat "));
  }
}

TEST_CASE("float32 beside float64 agrees within the tolerance of float32") {
  const Folder folder;
  store(folder, "a", "sdpa", {"npz"});
  store(folder, "b", "sdpa --dtype float32", {"npz"});
  const auto result = diff(folder, "a.npz", "b.npz");
  CHECK(contains(result.out, "dtype: \"float64\" in A, \"float32\" in B"));
  CHECK(result.status == 0);
  CHECK(contains(result.out, "equal within tolerance; the largest difference is "));
  CHECK(contains(diff(folder, "a.npz", "b.npz", "--rtol 1e-12 --atol 0").out, "differs first at"));
}

TEST_CASE("with --all what agrees is listed too") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt", "npz"});
  const auto data = diff(folder, "a.npz", "a.npz", "--all");
  CHECK(data.status == 0);
  for (const char* id : {"Q", "K", "V", "scores", "scaled", "weights", "output"})
    CHECK(contains(data.out, std::string("\n  ") + id + ' '));
  CHECK(contains(diff(folder, "a.txt", "a.txt", "--all").out, "\n  weights "));
}

TEST_CASE("the report comes as JSON as well") {
  const Folder folder;
  store(folder, "a", "sdpa --model none", {"txt", "npz"});
  store(folder, "b", "sdpa --model none --seed 7", {"txt", "npz"});
  for (const char* ending : {".txt", ".npz"}) {
    const auto result = diff(folder, std::string("a") + ending, std::string("b") + ending, "--format json");
    CHECK(result.status == 1);
    const auto report = nlohmann::json::parse(result.out);
    CHECK(report["schema"] == "attnlab.diff/1");
    CHECK(report["status"] == "different");
    CHECK(report["first"]["id"] == "Q");
  }
  CHECK(nlohmann::json::parse(diff(folder, "a.npz", "a.npz", "--format json").out)["status"] == "equal");
}

TEST_CASE("a printed trace may come from a pipe") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt"});
  const auto pipe = folder.file("pipe");
  REQUIRE(std::system(
              fmt::format("mkfifo '{0}' && cat '{1}' >'{0}' &", pipe, folder.file("a.txt")).c_str()) == 0);
  while (!std::filesystem::exists(pipe)) std::this_thread::yield();
  check_silent(diff(folder, "a.txt", "pipe"));
}

TEST_CASE("data may come from a pipe and from standard input") {
  const Folder folder;
  const auto command = [&](const std::string& line) {
    const auto whole = fmt::format("cd '{}' && {} >out 2>&1", folder.path().string(), line);
    return std::system(("bash -c \"" + whole + "\"").c_str());
  };
  const std::string program = ATTNLAB_PROGRAM;
  store(folder, "a", "sdpa", {"txt", "json", "npz", "safetensors"});
  for (const std::string format : {"txt", "json", "npz", "safetensors"}) {
    INFO(format);
    CHECK(command(fmt::format("cat a.{0} | {1} diff - a.{0}", format, program)) == 0);
    CHECK(command(fmt::format("{1} diff <(cat a.{0}) a.{0}", format, program)) == 0);
    if (format == "txt") continue;
    CHECK(command(fmt::format("cat a.{0} | {1} sdpa --input - --expect a.{0}", format, program)) == 0);
    CHECK(command(fmt::format("{1} sdpa --input <(cat a.{0}) --expect a.{0}", format, program)) == 0);
  }
}

TEST_CASE("where only seeds differ, a tolerance that allows the numbers makes two traces equal") {
  const Folder folder;
  store(folder, "a", "sdpa --model none", {"npz"});
  store(folder, "b", "sdpa --model none --seed 43", {"npz"});
  CHECK(diff(folder, "a.npz", "b.npz").status == 1);
  const auto result = diff(folder, "a.npz", "b.npz", "--atol 100");
  CHECK(result.status == 0);
  CHECK(contains(result.out, "seed: 42 in A, 43 in B"));
  CHECK(contains(result.out, "equal within tolerance"));
}

TEST_CASE("a dump of one's own is compared by what both have, and under the names of the lab") {
  const Folder folder;
  store(folder, "a", "multihead --sentence 'the cat sat' --sentence cat", {"json"});
  const auto trace = nlohmann::json::parse(read_file(folder.file("a.json")));
  auto mine = trace;
  mine["events"] = nlohmann::json::array();
  for (auto event : trace["events"]) {
    if (event["id"] == "weights") event["id"] = "attn";
    if (event["id"] == "scores") event["data"][0][0][1][2] = 7.5;
    if (event["kind"] == "step") mine["events"].push_back(event);
  }
  folder.write("mine.json", mine.dump());
  const auto plain = diff(folder, "a.json", "mine.json");
  CHECK(plain.status == 1);
  CHECK(contains(plain.out, "multihead: scores differs first at [batch 0"));
  CHECK(contains(plain.out, "lengths"));
  const auto common =
      diff(folder, "a.json", "mine.json", "--only-common --rename attn=weights --format json");
  const auto report = nlohmann::json::parse(common.out);
  CHECK(report["tensors"].size() == 1);
  CHECK(report["tensors"][0]["id"] == "scores");
  CHECK(report["words"].empty());
  CHECK(diff(folder, "a.json", "mine.json", "--only-common --rename attn=weights --atol 100").status == 0);
  const auto files = as_argument(folder.file("a.json")) + ' ' + as_argument(folder.file("mine.json"));
  check_refused("diff " + files + " --rename att=weights", {"--rename att=weights: neither has att"});
  check_refused("diff a b --rename attn", {"--rename attn: it names no two ids", "--rename attn=weights"});
}

TEST_CASE("two lessons agree on what both have, and differ in all else") {
  const Folder folder;
  store(folder, "a", "self-attention", {"json"});
  auto projected = nlohmann::json::parse(read_file(folder.file("a.json")));
  projected["lesson"] = "";
  projected["config"] = nlohmann::json::object();
  auto& events = projected["events"];
  events.erase(std::remove_if(events.begin(), events.end(),
                              [](const auto& event) {
                                const std::string id = event["id"];
                                return id != "Q" && id != "K" && id != "V";
                              }),
               events.end());
  for (auto& event : events) event["kind"] = "input";
  folder.write("projected.json", projected.dump());
  output_of("sdpa --input " + as_argument(folder.file("projected.json")) + " --output " +
            as_argument(folder.file("b.json")));
  const auto common = diff(folder, "a.json", "b.json", "--only-common");
  CHECK(common.status == 0);
  CHECK_FALSE(contains(common.out, "Lessons differ"));
  const auto all = diff(folder, "a.json", "b.json");
  CHECK(all.status == 1);
  CHECK(contains(all.out, "Lessons differ"));
}

TEST_CASE("a line of many megabytes beside a small trace is compared soon and shown in part") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt"});
  std::string line;
  while (line.size() < 20'000'000) line += "1.5 ";
  folder.write("line.txt", line);
  const auto result = diff(folder, "line.txt", "a.txt");
  CHECK(result.status == 1);
  CHECK(result.out.size() < 10'000);
}

TEST_CASE("files that are no traces are trouble") {
  const Folder folder;
  store(folder, "a", "sdpa", {"txt", "npz", "json"});
  const auto a = as_argument(folder.file("a.txt")), npz = as_argument(folder.file("a.npz"));
  const auto file = [&](const std::string& name, const std::string& text) {
    return as_argument(folder.write(name, text));
  };
  const auto archive = read_file(folder.file("a.npz"));
  check_refused("diff " + a + ' ' + as_argument(folder.file("missing.txt")), {"missing.txt", "No such file"});
  check_refused("diff " + a + ' ' + as_argument(folder.path().string()), {"directory"});
  check_refused("diff " + a + ' ' + file("empty.txt", " \n"), {"empty.txt", "empty"});
  check_refused("diff " + a + ' ' + file("latin.txt", "caf\xe9\n"), {"latin.txt", "0xE9"});
  check_refused("diff " + npz + ' ' + file("cut.npz", archive.substr(0, archive.size() / 2)), {"cut.npz"});
  check_refused("diff " + npz + ' ' + file("cut.json", R"({"schema":"attnlab.trace/1")"), {"cut.json"});
  check_refused("diff " + npz + ' ' + file("zeros", std::string(100, '\0')), {"zeros"});
  check_refused("diff " + a + ' ' + npz, {"a.txt", "a.npz", "printed trace", "data"});
  check_refused("diff " + as_argument(folder.file("a.json")) + ' ' + a, {"a.txt is a printed trace"});
  check_refused("diff " + a + " /dev/zero", {"/dev/zero"});
  check_refused("diff " + a + " /dev/urandom", {"/dev/urandom"});
}

TEST_CASE("arguments that make no comparison are refused") {
  check_refused("diff", {"diff takes two files", "attnlab diff A B"});
  check_refused("diff a.npz", {"a.npz is the only one"});
  check_refused("diff a b c", {"\"c\" belongs to no option; valid: two files"});
  check_refused("diff a b --atoll 1", {"--atoll", "did you mean --atol?"});
  check_refused("diff a b --atol", {"--atol"});
  check_refused("diff a b --atol -1", {"--atol -1", "0 or more"});
  check_refused("diff a b --rtol nan", {"--rtol nan"});
  check_refused("diff a b --rtol inf", {"--rtol inf"});
  check_refused("diff a b --rtol 1 --rtol 2", {"--rtol", "2 times"});
  check_refused("diff a b --format svg", {"--format svg", "text, json"});
  check_refused("dif a b", {"did you mean diff?"});
}

TEST_CASE("the help tells what is equal and the general help lists the command") {
  const auto help = output_of("diff --help");
  for (const char* part : {"attnlab diff", "--atol", "--rtol", "--all", "--format", "1e-12", "Exit status"})
    CHECK(contains(help, part));
  CHECK(contains(output_of("--help"), "attnlab diff A B"));
}

TEST_CASE("steps that one file lacks are named with the options that help") {
  const Folder folder;
  store(folder, "golden", "sdpa", {"npz"});
  store(folder, "mine", "sdpa --steps output", {"json"});
  const auto lacking = diff(folder, "golden.npz", "mine.json");
  CHECK(lacking.status == 1);
  CHECK(contains(lacking.out, "\n6 only in A, 0 only in B: --only-common compares what both have."));
  CHECK(contains(lacking.out, "\n--rename FROM=TO"));
  CHECK_FALSE(contains(diff(folder, "golden.npz", "mine.json", "--only-common").out, "--only-common"));
  folder.write("other.json", R"({"att": [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5],
    [1, 2, 3, 4, 5]]})");
  CHECK(contains(diff(folder, "golden.npz", "other.json").out,
                 "\nIf att in B is weights: --rename att=weights.\n"));
  CHECK(
      nlohmann::json::parse(diff(folder, "golden.npz", "mine.json", "--format json").out)["tensors"].size() ==
      6);
}

TEST_CASE("of data, drawings and code in words the report says whose differ, and --quiet nothing at all") {
  const Folder folder;
  store(folder, "a", "sdpa", {"json"});
  store(folder, "b", "sdpa --model none --seed 3", {"json"});
  const auto result = diff(folder, "a.json", "b.json");
  CHECK(contains(result.out, "worked differs in scores, scaled, weights, output\n"));
  CHECK(contains(result.out, "formula differs in flow, code, next\n"));
  CHECK_FALSE(contains(result.out, "expression"));
  CHECK_FALSE(contains(result.out, "{"));
  const auto quiet = diff(folder, "a.json", "b.json", "--quiet");
  CHECK(quiet.status == 1);
  CHECK(quiet.out + quiet.err == "");
  check_silent(diff(folder, "a.json", "a.json", "--quiet"));
  CHECK(diff(folder, "a.json", "none.json", "--quiet").status == 2);
}
