#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/schema.hpp"

using nlohmann::json;

namespace {

/// Command lines that between them show every kind of input.
const std::vector<std::string>& varied_runs() {
  static const std::vector<std::string> runs = [] {
    std::vector<std::string> all = {
        "sdpa --source 'one two three' --target 'four five' --causal",
        "sdpa --sentence 'a b c' --sentence 'd' --dropout 0.3 --d-k 3",
        "self-attention --sentence 'a b c' --sentence 'd e' --window 1 --dtype float32",
        "self-attention --sentence 'a b'",
        "cross-attention --heads 2 --dropout 0.1 --source 'I am' --source you --target 'a b c' --target d",
        "multihead --heads 4 --kv-heads 2 --norm --residual --dropout 0.2 --causal",
        "multihead --d-k 3 --d-v 5 --sentence 'a b' --sentence c",
        "positional --encoding t5 --heads 4",
        "seq2seq --source 'a b c'",
        "seq2seq --source 'a b c' --source a",
        "seq2seq --source 'a b c' --dtype float16",
        "seq2seq --source a --model none --attention luong-dot --seed 3",
        "seq2seq --source 'a b c' --source d --target 'e f' --target 'g' --bidirectional --hidden 3",
        "seq2seq --attention multihead --heads 2 --hidden 6",
        "seq2seq --attention luong-concat --d-a 5",
        "seq2seq --attention bahdanau-input --d-a 5 --hidden 3",
        "transformer-block --memory 'I am' --norm pre --activation gelu --sentence 'a b' --sentence c",
        "generate --layers 2 --new-tokens 2",
        "efficient --variant linformer --rank 3",
        "patterns --heads 2 --causal",
        "patterns --sentence 'a b c' --sentence 'd'",
        "backward --causal --sentence 'a b c' --sentence 'd'",
    };
    for (const auto& lesson : lessons()) all.push_back(lesson);
    return all;
  }();
  return runs;
}

json tensor(const std::string& id, const json& shape, const json& data,
            const std::string& dtype = "float64") {
  json axes = json::array();
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back("axis_" + std::to_string(i));
  return {
      {"kind", "input"}, {"id", id},       {"title", ""},  {"formula", ""},
      {"note", ""},      {"shape", shape}, {"axes", axes}, {"labels", json::array_t(shape.size(), nullptr)},
      {"dtype", dtype},  {"data", data}};
}

/// " --input FILE" with a file of these tensors, which no lesson has written.
std::string input_of(const Folder& folder, const std::vector<json>& tensors) {
  const json document = {{"schema", "attnlab.trace/1"},
                         {"lesson", ""},
                         {"title", ""},
                         {"config", json::object()},
                         {"events", tensors}};
  return " --input " + as_argument(folder.write("given.json", document.dump()));
}

json tensor_in(const std::string& trace, const std::string& id) {
  const auto document = json::parse(trace);
  for (const auto& event : document["events"])
    if (event["id"] == id) return event;
  return nullptr;
}

}  // namespace

TEST_CASE("a trace run again from its own inputs is the same trace", "[thorough]") {
  const Folder folder;
  for (const auto& arguments : varied_runs()) {
    const auto expected = output_of(arguments + " --format json");
    const auto lesson = arguments.substr(0, arguments.find(' '));
    for (const std::string ending : {".npz", ".safetensors", ".json"}) {
      INFO("attnlab " << arguments << " to " << ending);
      const auto file = as_argument(folder.file("trace" + ending));
      output_of(arguments + " --output " + file);
      CHECK((output_of(arguments + " --format json --input " + file) == expected));
      CHECK((output_of(lesson + " --format json --input " + file) == expected));
    }
  }
}

/// A run's tensors by id, as a program that knows nothing of a trace saves them.
json plain_arrays(const json& trace) {
  json arrays;
  for (const auto& event : trace["events"])
    if (event["kind"] == "input" || event["kind"] == "step") arrays[event["id"]] = event["data"];
  return arrays;
}

TEST_CASE("of arrays without a config the inputs are taken by id, and results are named and left aside") {
  const Folder folder;
  for (const std::string lesson : {"sdpa", "multihead", "scoring", "transformer-block", "ring"}) {
    INFO(lesson);
    const auto drawn = json::parse(output_of(lesson + " --format json"));
    const auto arrays = plain_arrays(drawn);
    const auto file = as_argument(folder.write("arrays.json", arrays.dump()));
    const auto again = json::parse(output_of(lesson + " --format json --input " + file));
    CHECK(plain_arrays(again) == arrays);
    std::string steps;
    for (const auto& [id, data] : arrays.items())
      if (tensor_in(drawn.dump(), id)["kind"] == "step") steps += (steps.empty() ? "" : ", ") + id;
    CHECK(tensor_in(again.dump(), "left-aside")["note"] ==
          "These are computed again, and those of the file are left aside: " + steps + ".");
    CHECK(tensor_in(drawn.dump(), "left-aside") == nullptr);
  }
  CHECK(contains(refusal("sdpa --input " + as_argument(folder.write("steps.json", R"({"scores": [[1]]})"))),
                 "scores in --input is no input of this run"));
  CHECK(
      contains(refusal("sdpa --input " + as_argument(folder.write("other.json", R"({"Q": [[1]], "q": 1})"))),
               "q in --input is no input of this run"));
  CHECK(contains(refusal("sdpa --set Q=[[1]] --set scores=[[1]]"), "scores in --set is no input"));
}

TEST_CASE("what is given stands in the place of what is drawn, and the rest is drawn as ever") {
  const Folder folder;
  const auto drawn = output_of("self-attention --sentence 'a b' --d-model 2 --format json");
  const auto given = output_of("self-attention --sentence 'a b' --format json" +
                               input_of(folder, {tensor("X", {2, 2}, {{1, 2}, {3, 4}})}));
  CHECK(tensor_in(given, "X")["data"] == json({{1.0, 2.0}, {3.0, 4.0}}));
  CHECK(tensor_in(given, "W_Q") == tensor_in(drawn, "W_Q"));
  CHECK(tensor_in(given, "W_V") == tensor_in(drawn, "W_V"));
}

TEST_CASE("a mask that no option makes can be given") {
  const Folder folder;
  const json mask = {{true, false, true}, {false, false, false}, {true, true, false}};
  const auto trace = output_of("sdpa --sentence 'a b c' --format json" +
                               input_of(folder, {tensor("mask", {3, 3}, mask, "bool")}));
  CHECK(tensor_in(trace, "mask")["data"] == mask);
  CHECK(tensor_in(trace, "mask")["formula"] == "");
  CHECK(tensor_in(trace, "weights")["data"][1] == json({0.0, 0.0, 0.0}));
  CHECK(tensor_in(trace, "weights")["data"][0][1] == 0.0);
}

TEST_CASE("weights can be looked at by themselves") {
  const Folder folder;
  const auto trace = output_of("patterns --format json" +
                               input_of(folder, {tensor("weights", {2, 2}, {{0.25, 0.75}, {1, 0}})}));
  CHECK(tensor_in(trace, "X") == nullptr);
  CHECK(tensor_in(trace, "diagonal")["data"] == 0.125);
  CHECK(refusal("patterns" + input_of(folder, {tensor("weights", {1, 2}, {{0.25, 0.7}})}))
            .find("weights is (1 query × 2 key)") != std::string::npos);
  CHECK(refusal("patterns" + input_of(folder, {tensor("weights", {1, 1}, {{0.7}})})).find("sum to 1") !=
        std::string::npos);
}

TEST_CASE("words that a decoder reads back have the vectors that were given for them") {
  const Folder folder;
  const auto trace = output_of("seq2seq --source 'a b' --format json" +
                               input_of(folder, {tensor("X_source", {2, 2}, {{1, 2}, {3, 4}})}));
  const auto read = tensor_in(trace, "X_target");
  for (std::size_t i = 1; i < read["data"].size(); ++i) {
    const auto word = read["labels"][0][i];
    CHECK(read["data"][i] == (word == "a" ? json({1.0, 2.0}) : json({3.0, 4.0})));
  }
}

TEST_CASE("inputs that cannot be used are refused and named") {
  const Folder folder;
  const auto X = tensor("X", {2, 2}, {{1, 2}, {3, 4}});
  CHECK(refusal("self-attention" + input_of(folder, {tensor("Y", {1}, {1})})) ==
        "attnlab: Y in --input is no input of this run; valid: X, W_Q, W_K, W_V\n");
  CHECK(refusal("self-attention" + input_of(folder, {tensor("weights", {1, 1}, {{1}})})).find("no input") !=
        std::string::npos);
  CHECK(refusal("self-attention" + input_of(folder, {X, tensor("W_Q", {3, 1}, {{1}, {1}, {1}})})) ==
        "attnlab: W_Q is (3 d_model × 1 d_k) but X has d_model 2, both in --input; valid: the same length in "
        "both\n");
  CHECK(refusal("self-attention" + input_of(folder, {tensor("X", {1, 1}, {{"NaN"}})})) ==
        "attnlab: X in --input has nan at (0, 0); valid: finite numbers\n");
  CHECK(refusal("self-attention --dtype float32" + input_of(folder, {tensor("X", {1, 1}, {{1e300}})})) ==
        "attnlab: X in --input has 1e+300 at (0, 0); valid: finite numbers up to 3.4e38, the largest of "
        "float32\n");
  CHECK(refusal("self-attention" + input_of(folder, {tensor("mask", {1, 3}, {{1, 1, 0}}, "int64")})) ==
        "attnlab: mask is (1 query × 3 key) in --input: query and key are the same tokens; valid: the same "
        "length for both\n");
  CHECK(refusal("sdpa --sentence a" + input_of(folder, {tensor("mask", {1, 1}, {{2}}, "int64")})) ==
        "attnlab: mask in --input has 2 at (0, 0); valid: 0 or 1, where 1 means may be seen\n");
  CHECK(refusal("generate" + input_of(folder, {tensor("W_vocabulary", {8, 4},
                                                      json::array_t(8, json::array_t(4, 1.0)))})) ==
        "attnlab: W_vocabulary in --input has the shape (8×4); valid: 5 or more along its axis vocabulary\n");
  CHECK(refusal("sdpa --input nowhere.npz").find("nowhere.npz") != std::string::npos);
}

TEST_CASE("inputs so large that products of them would overflow are refused by name") {
  const Folder folder;
  const auto given = [&](double number) {
    return "sdpa --sentence a" +
           input_of(folder, {tensor("Q", {1, 1}, json::array({json::array({number})}))});
  };
  CHECK_THAT(refusal(given(1e160)), Catch::Contains("Q in --input has 1e+160 at (0, 0)") &&
                                        Catch::Contains("valid: numbers up to 1e+30"));
  CHECK(run(given(1e30)).status == 0);
}

TEST_CASE(
    "inputs so large that the scores overflow break the claims, and the trace stays valid by the schema") {
  const Folder folder;
  const auto huge = json::array({json::array({60000.0})});
  const auto result = run("sdpa --sentence a --dtype float16 --format json" +
                          input_of(folder, {tensor("Q", {1, 1}, huge), tensor("K", {1, 1}, huge)}));
  CHECK(result.status == 1);
  CHECK(schema_errors(result.out) == std::vector<std::string>{});
}
