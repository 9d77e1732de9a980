/// Biases of the projections: inputs that are there only where they are given.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/stored_runs.hpp"
#include "tests/documents/schema.hpp"

namespace {

using nlohmann::json;

json run_of(const std::string& arguments) {
  const auto text = output_of(arguments + " --format json");
  CHECK(schema_errors(text) == std::vector<std::string>{});
  return json::parse(text);
}

json event_called(const json& trace, const std::string& id) {
  for (const auto& event : trace["events"])
    if (event["id"] == id) return event;
  return nullptr;
}

/// The rows of the second tensor less those of the first.
json row_differences(const json& a, const json& b, const std::string& id) {
  json differences;
  const auto before = event_called(a, id)["data"], after = event_called(b, id)["data"];
  for (std::size_t row = 0; row < after.size(); ++row)
    for (std::size_t i = 0; i < after[row].size(); ++i)
      differences[row].push_back(after[row][i].get<double>() - before[row][i].get<double>());
  return differences;
}

void check_rows(const json& rows, const std::vector<double>& each) {
  REQUIRE(!rows.empty());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < each.size(); ++i)
      CHECK(row[i].get<double>() == Approx(each[i]).margin(1e-12));
}

}  // namespace

TEST_CASE("a bias is an input where it is given, and is added to every row of its projection") {
  const std::string biases = " --set 'b_Q=[1,0,-2,0.5]' --set 'b_V=[0,3,0,1]'";
  for (const std::string lesson :
       {"self-attention --d-model 4", "cross-attention --d-model 4", "masking --d-model 4",
        "multihead --d-model 4 --heads 2", "cross-attention --d-model 4 --heads 2"}) {
    CAPTURE(lesson);
    const auto without = run_of(lesson + " --model none"), with = run_of(lesson + biases);
    CHECK(event_called(without, "b_Q").is_null());
    CHECK(event_called(with, "b_K").is_null());
    const auto b_Q = event_called(with, "b_Q"), Q = event_called(with, "Q"), K = event_called(with, "K");
    CHECK(b_Q["kind"] == "input");
    CHECK(b_Q["axes"] == json::array({Q["axes"].back()}));
    CHECK(b_Q["data"] == json({1.0, 0.0, -2.0, 0.5}));
    const std::string X = Q["inputs"][0];
    CHECK(Q["formula"] == X + " W_Q + b_Q");
    CHECK(Q["inputs"] == json({X, "W_Q", "b_Q"}));
    CHECK_FALSE(contains(K["formula"], "b_K"));
    check_rows(row_differences(without, with, "Q"), {1.0, 0.0, -2.0, 0.5});
    check_rows(row_differences(without, with, "K"), {0.0, 0.0, 0.0, 0.0});
    check_rows(row_differences(without, with, "V"), {0.0, 3.0, 0.0, 1.0});
    CHECK(contains(Q["worked"]["operands"].dump(), "b_Q"));
  }
}

TEST_CASE("the bias of the output is added to it, in a block in its group") {
  const std::string lesson = "transformer-block --d-model 4 --heads 2 --memory 'a b'";
  const auto without = run_of(lesson), with = run_of(lesson + " --set 'cross/b_O=[1,2,3,4]'");
  check_rows(row_differences(without, with, "attention/output"), {0.0, 0.0, 0.0, 0.0});
  check_rows(row_differences(without, with, "cross/output"), {1.0, 2.0, 3.0, 4.0});
  CHECK(contains(output_of(lesson + " --set 'cross/b_O=[1,2,3,4]'"), "b_O=cross_b_O)"));
}

TEST_CASE("a bias of a wrong length is refused, and one of a lesson that has none") {
  CHECK(contains(refusal("multihead --set 'b_Q=[1,2,3]'"), "valid: a multiple of 2"));
  CHECK(contains(refusal("self-attention --d-k 4 --set 'b_Q=[1,2,3]'"), "--d-k 4 contradicts --set"));
  CHECK(contains(refusal("self-attention --set 'b_Q=[1,2]' --set 'b_K=[1,2,3]'"),
                 "valid: the same length in both"));
  CHECK(contains(refusal("backward --set 'b_Q=[1,2,3,4]'"), "b_Q in --set is no input of this run"));
}

TEST_CASE("what a run with biases computed is right, and without one of them it is named") {
  const Folder folder;
  const auto own = folder.file("own.npz"), probe = folder.file("probe.npz"), dump = folder.file("mine.npz");
  output_of("self-attention --d-model 4 --set 'b_Q=[1,2,3,4]' --output " + own);
  CHECK(contains(output_of("check self-attention " + own), "steps are right."));

  const std::string biases = " --d-k 2 --d-v 2 --set 'b_Q=[1,2,3,4,5,6,7,8]' --set 'b_V=[2,-1,0,1]'";
  output_of(fmt::format("probe multihead --output {}{}", probe, biases));
  output_of(fmt::format("break multihead bias-missing --output {}{}", dump, biases));
  const auto result = run(fmt::format("check multihead {} --probe {} --format json", dump, probe));
  CHECK(result.status == 1);
  for (const auto& step : json::parse(result.out)["steps"]) {
    CAPTURE(step);
    if (step["id"] == "Q" || step["id"] == "V")
      CHECK(step["mistakes"] == json::array({"bias-missing"}));
    else
      CHECK(step["verdict"] == "right");
  }
}
