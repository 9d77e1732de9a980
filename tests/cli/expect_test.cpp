#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <xtensor/xbuilder.hpp>

#include "tests/cli/stored_runs.hpp"
#include "trace/archives.hpp"

namespace {

using Strings = std::vector<std::string>;

const Strings endings = {".txt", ".json", ".npz", ".safetensors"};

std::string expect(const std::string& arguments, const std::string& path) {
  return arguments + " --expect " + as_argument(path);
}

void store(const std::string& arguments, const std::string& path) {
  run(arguments + " --output " + as_argument(path));
}

void check_met(const std::string& arguments) {
  const auto result = run(arguments);
  INFO("attnlab " << arguments << '\n' << result.out << result.err);
  CHECK(result.out == "");
  CHECK(result.err == "");
  CHECK(result.status == 0);
}

/// A run that differs from what is expected, and says so.
std::string difference(const std::string& arguments) {
  const auto result = run(arguments);
  INFO("attnlab " << arguments << '\n' << result.out << result.err);
  CHECK(result.err == "");
  CHECK(result.status == 1);
  return result.out;
}

}  // namespace

TEST_CASE("every lesson meets what is expected of it, in every format", "[thorough]") {
  const Folder folder;
  for (const auto& lesson : lessons())
    for (const auto& ending : endings) {
      const auto path = folder.file("expected" + ending);
      store(lesson, path);
      check_met(expect(lesson, path));
    }
}

TEST_CASE("a run that differs tells where, with the file and this run by name") {
  const Folder folder;
  for (const auto& ending : endings) {
    const auto path = folder.file("expected" + ending);
    store("sdpa --sentence 'the cat sat'", path);
    const auto report = difference(expect("sdpa --sentence 'the cat sat' --causal", path));
    INFO(report);
    CHECK(contains(report, "in expected" + ending));
    CHECK(contains(report, "in this run"));
    CHECK(contains(report, "weights"));
  }
}

TEST_CASE("the option --steps restricts the run and what is expected") {
  const Folder folder;
  for (const auto& ending : endings) {
    const auto whole = folder.file("whole" + ending), part = folder.file("part" + ending);
    store("sdpa", whole);
    store("sdpa --steps weights,output", part);
    check_met(expect("sdpa --steps weights,output", part));
    check_met(expect("sdpa --steps weights,output", whole));
    difference(expect("sdpa --steps weights,output --causal", whole));
    difference(expect("sdpa", part));
  }
}

TEST_CASE("data are expected whatever the run's way of showing them, text in the way it was shown") {
  const Folder folder;
  const auto data = folder.file("expected.npz"), text = folder.file("expected.txt");
  store("sdpa", data);
  store("sdpa --precision 7", text);
  check_met(expect("sdpa --precision 7 --full", data));
  check_met(expect("sdpa --precision 7", text));
  check_met(expect("sdpa --precision 7 --color always", text));
  difference(expect("sdpa", text));
}

TEST_CASE("the coarser element type decides on the tolerance unless one is given") {
  const Folder folder;
  const auto path = folder.file("expected.npz");
  store("sdpa", path);
  difference(expect("sdpa --atol 0 --rtol 0 --dtype float32", path));
  const auto result = run(expect("sdpa --dtype float32", path));
  CHECK(result.status == 0);
  CHECK_THAT(result.out, Catch::StartsWith("equal within tolerance; the largest difference is "));
}

TEST_CASE("claims that do not hold are told, although the numbers are those expected") {
  const Folder folder;
  const attn::Tensor<2> large = xt::ones<double>({3, 8}) * 60000.0;
  attn::NpzWriter writer({});
  for (const char* id : {"Q", "K"})
    writer.receive({.kind = attn::Kind::input,
                    .id = id,
                    .tensor = attn::view_of(large),
                    .axes = {"token", "d_k"},
                    .labels = {{}, {}}});
  const auto overflowing = "sdpa --sentence 'the cat sat' --dtype float16 --input " +
                           as_argument(folder.write("large.npz", writer.finish()));
  for (const auto& ending : endings) {
    const auto path = folder.file("expected" + ending);
    store(overflowing, path);
    CHECK(difference(expect(overflowing, path)) == "Not all claims hold on this run.\n");
  }
}

TEST_CASE("the option --only-common leaves out what the expected file lacks") {
  const Folder folder;
  const auto path = folder.file("expected.npz");
  store("sdpa --steps weights,output", path);
  CHECK(contains(difference(expect("sdpa", path)), "scores"));
  check_met(expect("sdpa --only-common", path));
  difference(expect("sdpa --only-common --causal", path));
  check_refused("sdpa --only-common", {"--only-common", "--expect FILE"});
}

TEST_CASE(
    "common names of an expected file are taken for the run's, and steps that it lacks are told as that") {
  const Folder folder;
  const auto trace = nlohmann::json::parse(output_of("sdpa --format json"));
  const auto data = [&](const std::string& id) {
    for (const auto& event : trace["events"])
      if (event["id"] == id) return event["data"];
    return nlohmann::json();
  };
  const nlohmann::json right = {{"Q", data("Q")}, {"attn_weights", data("weights")}};
  const auto path = folder.write("right.json", right.dump());
  const auto met = run(expect("sdpa --only-common", path));
  CHECK(met.status == 0);
  CHECK(contains(met.out, "attn_weights is taken for weights."));
  const auto lacking = difference(expect("sdpa", path));
  CHECK(contains(lacking, "sdpa: what both have agrees"));
  CHECK(contains(lacking, "0 only in right.json, 5 only in this run: --only-common"));

  const nlohmann::json wrong = {{"Q", data("Q")}, {"attn_weights", data("scores")}};
  CHECK(contains(difference(expect("sdpa --only-common", folder.write("wrong.json", wrong.dump()))),
                 "weights differs first at"));
  const nlohmann::json renamed = {{"Q", data("Q")}, {"mine", data("weights")}};
  const auto other = folder.write("renamed.json", renamed.dump());
  check_refused(expect("sdpa --only-common", other), {"no step is in both", "--rename"});
  const auto named = run(expect("sdpa --only-common --rename mine=weights", other));
  CHECK(named.status == 0);
  check_refused("sdpa --rename a=b", {"--rename", "--expect FILE"});
}

TEST_CASE("the report of an expected run comes as JSON") {
  const Folder folder;
  const auto path = folder.file("expected.npz");
  store("sdpa --model none", path);
  const auto report =
      nlohmann::json::parse(difference(expect("sdpa --model none --seed 7 --format json", path)));
  CHECK(report["status"] == "different");
  CHECK(report["options"][0]["name"] == "seed");
}

TEST_CASE("what makes no sense beside --expect is refused") {
  const Folder folder;
  const auto path = folder.file("expected.npz");
  store("sdpa", path);
  check_refused(expect("sdpa --output x.txt", path), {"--output x.txt", "--expect"});
  check_refused(expect("sdpa --format svg", path), {"--format text or json"});
  check_refused(expect("sdpa --shapes", path), {"--shapes"});
  check_refused(expect("tour", path), {"tour has no option --expect"});
  check_refused("sdpa --atol 1", {"--atol", "--expect FILE"});
  check_refused("sdpa --rtol 1", {"--rtol", "--expect FILE"});
  check_refused(expect("sdpa", folder.file("missing.npz")), {"missing.npz"});
  check_refused(expect("sdpa --heads 2", path), {"does not use --heads"});
}

TEST_CASE(
    "tensors of a program are compared under the names that check knows, and what is left out is said") {
  const Folder folder;
  const auto tensors = nlohmann::json::parse(output_of("multihead --heads 2 --format json"))["events"];
  nlohmann::json mine;
  for (const auto& event : tensors) {
    if (event["id"] == "output") mine["attn_output"] = {event["data"]};
    if (event["id"] == "weights") mine["attn_output_weights"] = event["data"];
  }
  auto file = folder.write("mine.json", mine.dump());
  const auto same = run(expect("multihead --heads 2 --only-common", file));
  CHECK(same.status == 0);
  CHECK(contains(same.out, "attn_output is taken for output, attn_output_weights is taken for weights"));
  const auto all = difference(expect("multihead --heads 2", file));
  CHECK(contains(all, "All 2 inputs and steps agree; "));
  CHECK(contains(all, " not compared."));
  auto turned = mine;
  for (auto& row : turned["attn_output"] = mine["attn_output"][0]) row = nlohmann::json::array({row});
  CHECK(contains(
      difference(expect("multihead --heads 2 --only-common", folder.write("turned.json", turned.dump()))),
      "output is the first to differ: [5×1×"));
  mine["hidden"] = {1.0, 2.0};
  file = folder.write("mine.json", mine.dump());
  CHECK(contains(run(expect("multihead --heads 2 --only-common", file)).out, "no such tensor: hidden."));
  const auto other = folder.write("other.json", nlohmann::json{{"foo", mine["attn_output"][0]}}.dump());
  CHECK(contains(difference(expect("multihead --heads 2", other)),
                 "If foo in other.json is output: --rename foo=output."));
  CHECK(contains(difference(expect("multihead --heads 2", other)), "no id is in both"));
}
