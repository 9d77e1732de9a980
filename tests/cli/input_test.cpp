#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
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
        "scoring --source 'a b c' --source 'd e' --target 'f g' --target 'h'",
        "transformer-block --heads 4 --kv-heads 2 --d-k 3 --d-v 5 --sentence 'a b c'",
        "classifier --heads 4 --kv-heads 1 --d-k 3 --d-v 2 --sentence 'a b c' --sentence 'd'",
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

/// A table of numbers, no two of them alike.
json table_of(std::size_t rows, std::size_t columns) {
  json table;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      table[i].push_back(std::sin(static_cast<double>(1 + i * columns + j)));
  return table;
}

json first_rows(const json& table, std::size_t count) {
  return json(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(count));
}

json transposed(const json& table) {
  json turned;
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t j = 0; j < table[i].size(); ++j) turned[j].push_back(table[i][j]);
  return turned;
}

json given(const std::string& id, const json& table) {
  return tensor(id, {table.size(), table[0].size()}, table);
}

/// The numbers of the steps of a trace, by id.
json steps_in(const std::string& trace) {
  json steps;
  for (const auto& event : json::parse(trace)["events"])
    if (event["kind"] == "step") steps[event["id"].get<std::string>()] = event["data"];
  return steps;
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
      if (tensor_in(drawn.dump(), id)["kind"] == "step" && id != "X")  // X may be given in place of layer_1
        steps += (steps.empty() ? "" : ", ") + id;
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

TEST_CASE("the header names the file that gives numbers, and the seed only where something is drawn") {
  const Folder folder;
  const auto file = folder.write("mine.json", R"({"X": [[1, 0], [0, 1]]})");
  const auto page = output_of("self-attention --sentence 'the cat' --input " + as_argument(file));
  CHECK(contains(page, "input=\"mine.json (CRC-32 dbd3b0d3)\""));
  CHECK(contains(in_one_line(page), "What is not given is drawn at random."));
  CHECK(contains(output_of("self-attention --sentence 'the cat' --input " +
                           as_argument(folder.write("layers.json", R"({"layers.0.W_Q": [[1, 0], [0, 1]],
                                                                        "layers.1.W_Q": [[2, 0], [0, 2]]})") +
                                       ":layers.1")),
                 "input=\"layers.json:layers.1 (CRC-32 "));
  const auto given =
      output_of("sdpa --sentence 'a b' --set Q=identity --set K='[[1,0],[0,1]]' --set V='[[1],[2]]'");
  CHECK_FALSE(contains(given, "seed"));
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

TEST_CASE("a trace of another lesson gives what is an input here, and the page says so") {
  const Folder folder;
  const auto path = folder.file("heads.npz");
  output_of("multihead --heads 2 --dtype float32 --steps Q,K,V,weights --output " + path);
  const auto heads = output_of("multihead --heads 2 --dtype float32 --format json");
  const auto page = output_of("patterns --heads 2 --dtype float32 --format json --input " + path);
  CHECK(tensor_in(page, "weights")["data"] == tensor_in(heads, "weights")["data"]);
  CHECK(tensor_in(page, "names")["note"] == "Taken from the trace of multihead: weights.");
  CHECK_FALSE(contains(output_of("patterns --heads 2 --input " + path), "Nothing here is trained"));
  const auto attended = output_of("sdpa --dtype float32 --format json --input " + path);
  for (const auto* id : {"Q", "K", "V"})
    CHECK(tensor_in(attended, id)["data"] == tensor_in(heads, id)["data"]);
  output_of("multihead --steps output --output " + folder.file("none.npz"));
  CHECK(contains(refusal("sdpa --input " + folder.file("none.npz")),
                 "holds no input of sdpa; it has output (5×"));
}

TEST_CASE("names of inputs and of steps are taken for what their shapes are") {
  const Folder folder;
  auto file = [&](std::size_t tokens) {
    const json given = {{"X", table_of(tokens, 4)},
                        {"q_proj", table_of(4, 4)},
                        {"k_proj", table_of(4, 4)},
                        {"v_proj", table_of(4, 4)},
                        {"o_proj", table_of(4, 4)}};
    return " --input " + folder.write("weights.json", given.dump());
  };
  const auto trace = output_of("multihead --heads 2 --format json" + file(3));
  CHECK(tensor_in(trace, "W_K")["data"] == table_of(4, 4));
  CHECK(tensor_in(trace, "W_O")["data"] == table_of(4, 4));
  CHECK_THAT(std::string(tensor_in(trace, "names")["note"]), Catch::Contains("q_proj for W_Q"));
  CHECK(contains(refusal("multihead --heads 2" + file(4)), "in --input is no input of this run"));
}

TEST_CASE("who gives weights without the number of heads is told of it, and which would fit") {
  const Folder folder;
  const auto file = [&](std::size_t keys) {
    const json given = {{"X", table_of(3, 8)},
                        {"q_proj.weight", table_of(8, 8)},
                        {"k_proj.weight", table_of(keys, 8)},
                        {"v_proj.weight", table_of(keys, 8)}};
    return "multihead --input " + folder.write("weights.json", given.dump());
  };
  const std::string said = "heads = 2 is assumed: by their shapes the weights may be of 1, 2, 4 or 8";
  CHECK_THAT(std::string(tensor_in(output_of(file(8) + " --format json"), "names")["note"]),
             Catch::Contains(said));
  CHECK_FALSE(contains(output_of(file(8) + " --heads 2 --format json"), said));
  CHECK(contains(refusal(file(2)), "or --heads 4 --kv-heads 1: 4 queries to a key"));
  CHECK(contains(refusal(file(4) + " --heads 4"), "or --heads 4 --kv-heads 2: 2 queries to a key"));
  output_of(file(2) + " --heads 4 --kv-heads 1");
}

TEST_CASE("of a table of positions that is longer than the sentence the first rows are in use") {
  const Folder folder;
  const auto table = table_of(16, 4);
  struct Table {
    std::string arguments, id;
    std::size_t in_use;
  };
  for (const auto& [arguments, id, in_use] :
       {Table{"positional --encoding learned --sentence 'a b c' --d-model 4", "learned/table", 3},
        Table{"classifier --sentence 'a b c' --sentence 'd' --d-model 4", "positions", 3},
        Table{"generate --sentence 'a b c' --d-model 4 --new-tokens 2", "positions", 4}}) {
    CAPTURE(arguments);
    const auto run_with = [&, &arguments = arguments, &id = id](const json& rows) {
      return arguments + input_of(folder, {given(id, rows)});
    };
    const auto whole = output_of(run_with(table) + " --format json");
    CHECK(steps_in(whole) == steps_in(output_of(run_with(first_rows(table, in_use)) + " --format json")));
    CHECK(tensor_in(whole, id)["data"] == table);
    CHECK(contains(tensor_in(whole, id)["note"], "first " + std::to_string(in_use)));
    const auto trace = folder.file("own.npz");
    output_of(run_with(table) + " --output " + trace);
    const auto lesson = arguments.substr(0, arguments.find(' '));
    if (lesson != "classifier")  // which check does not know
      CHECK(contains(output_of("check " + lesson + " " + trace), "steps are right."));
    CHECK_THAT(refusal(run_with(first_rows(table, in_use - 1))),
               Catch::Contains(id + " in --input has the shape") &&
                   Catch::Contains("valid: " + std::to_string(in_use) + " or more along its axis position"));
  }
}

TEST_CASE("of a table of positions those rows are in use whose numbers are given") {
  const Folder folder;
  const std::string arguments = "positional --encoding learned --sentence 'a b c' --d-model 4";
  const auto table = table_of(8, 4);
  const auto with = [&](const json& positions) {
    return arguments +
           input_of(folder, {given("learned/table", table),
                             tensor("learned/positions", {positions.size()}, positions, "int64")});
  };
  const auto picked = output_of(with({6, 2, 3}) + " --format json");
  CHECK(steps_in(picked) ==
        steps_in(output_of(arguments +
                           input_of(folder, {given("learned/table", {table[6], table[2], table[3]})}) +
                           " --format json")));
  CHECK(contains(tensor_in(picked, "learned/table")["note"], "positions says which one each word reads"));
  CHECK(contains(output_of(with({6, 2, 3}) + " --explain 'learned/encoded[1,2]'"), "learned/table[2, 2]"));
  const auto trace = folder.file("own.npz");
  output_of(with({6, 2, 3}) + " --output " + trace);
  CHECK(contains(output_of("check positional " + trace), "steps are right."));
  CHECK_THAT(refusal(with({6, 2, 8})), Catch::Contains("learned/positions in --input has 8; valid: 0 to 7"));
}

TEST_CASE("of a whole vocabulary a decoder knows the first words, or those at the places that are given") {
  const Folder folder;
  const std::string arguments = "generate --sentence 'a b a' --d-model 4 --new-tokens 2 --format json";
  const auto vectors = table_of(7, 4), scores = transposed(table_of(7, 4));
  const auto with = [&](std::vector<json> more) {
    more.push_back(given("embedding", vectors));
    more.push_back(given("W_vocabulary", scores));
    return arguments + input_of(folder, more);
  };
  const auto x_of = [](const std::string& trace) { return tensor_in(trace, "step=0/x")["data"]; };
  const auto by_order = output_of(with({})),
             by_place = output_of(with({tensor("tokens", {3}, {5, 2, 5}, "int64")}));
  CHECK(steps_in(by_order) == steps_in(output_of(with({tensor("tokens", {3}, {0, 1, 0}, "int64")}))));
  const auto positions = tensor_in(by_order, "positions")["data"];
  for (const auto& [trace, places] :
       {std::pair(by_order, std::vector{0, 1, 0}), std::pair(by_place, std::vector{5, 2, 5})})
    for (std::size_t token = 0; token < 3; ++token)
      CHECK(x_of(trace)[token][0].get<double>() ==
            Approx(vectors[places[token]][0].get<double>() + positions[token][0].get<double>()));
  CHECK(contains(tensor_in(by_order, "embedding")["note"],
                 "Of the 7 words the first 2 are those of the prompt."));
  CHECK(contains(tensor_in(by_place, "embedding")["note"], "The input tokens says which of the 7 words"));
  CHECK(tensor_in(by_place, "step=0/logits")["labels"][0] == json({"#0", "#1", "b", "#3", "#4", "a", "#6"}));
  CHECK(tensor_in(by_order, "step=0/logits")["labels"][0] == json({"a", "b", "#2", "#3", "#4", "#5", "#6"}));

  CHECK(refusal(with({tensor("tokens", {3}, {0, 7, 0}, "int64")})) ==
        "attnlab: tokens in --input has 7; valid: 0 to 6\n");
  CHECK(refusal(arguments + input_of(folder, {tensor("tokens", {3}, {0, 1000000000000, 0}, "int64")})) ==
        "attnlab: tokens in --input has 1000000000000; valid: 0 to 1\n");
  CHECK_THAT(refusal(with({tensor("tokens", {2}, {0, 1}, "int64")})), Catch::Contains("tokens is (2 token)"));
}

TEST_CASE("of a whole vocabulary the words to write are the first columns, or those that are given") {
  const Folder folder;
  const std::string texts = " --source 'a b' --target 'x y x'";
  const auto W = transposed(table_of(9, 4));
  const auto with = [&](const std::string& lesson, std::vector<json> more) {
    more.push_back(given("output/W", W));
    return lesson + texts + " --hidden 2 --format json" + input_of(folder, more);
  };
  const auto words = tensor("words", {4}, {4, 0, 4, 7}, "int64");
  const auto by_order = output_of(with("seq2seq", {})), by_column = output_of(with("seq2seq", {words}));
  CHECK(tensor_in(by_order, "decoder/logits")["data"] == tensor_in(by_column, "decoder/logits")["data"]);
  CHECK(contains(
      tensor_in(by_order, "output/W")["note"],
      "Of the 9 columns the first 2 are the words of this run, in the order in which they first stand "
      "there, and the last is </s>."));
  CHECK(contains(tensor_in(by_column, "output/W")["note"], "The input words says which of the 9 columns"));
  CHECK(tensor_in(by_order, "decoder/logits")["labels"][1] ==
        json({"x", "y", "#2", "#3", "#4", "#5", "#6", "#7", "</s>"}));
  CHECK(tensor_in(by_column, "decoder/logits")["labels"][1] ==
        json({"y", "#1", "#2", "#3", "x", "#5", "#6", "</s>", "#8"}));

  const auto loss_of = [&](const std::vector<json>& more) {
    return tensor_in(output_of(with("backward --through seq2seq", more)), "L")["data"].get<double>();
  };
  CHECK(loss_of({tensor("words", {4}, {0, 1, 0, 8}, "int64")}) == Approx(loss_of({})));
  CHECK_FALSE(loss_of({words}) == Approx(loss_of({})));

  CHECK(refusal(with("seq2seq", {tensor("words", {4}, {4, 0, 9, 7}, "int64")})) ==
        "attnlab: words in --input has 9; valid: 0 to 8\n");
  CHECK(refusal(with("backward --through seq2seq", {tensor("words", {4}, {4, 0, -1, 7}, "int64")})) ==
        "attnlab: words in --input has -1; valid: 0 to 8\n");
  CHECK_THAT(
      refusal("seq2seq --hidden 2" + texts +
              input_of(folder, {given("output/W", transposed(table_of(2, 4)))})),
      Catch::Contains("output/W in --input has the shape (4×2); valid: 3 or more along its axis vocabulary"));
}

TEST_CASE("scores of a batch are those of each of its samples, and padding is hidden") {
  const std::string longer = " --source 'a b c' --target 'x y'", shorter = " --source 'd e' --target 'z'";
  const auto of = [](const std::string& texts) {
    return output_of("scoring --model none --format json" + texts);
  };
  const auto batch = of(longer + shorter), first = of(longer), second = of(shorter);
  for (const std::string function : {"dot", "scaled_dot", "general", "additive", "concat"}) {
    CAPTURE(function);
    for (const std::string step : {"/scores", "/weights", "/context"}) {
      CAPTURE(step);
      const auto both = tensor_in(batch, function + step)["data"],
                 alone = tensor_in(second, function + step)["data"];
      CHECK(both[0] == tensor_in(first, function + step)["data"]);
      for (std::size_t i = 0; i < alone[0].size(); ++i)
        CHECK(both[1][0][i].get<double>() == Approx(alone[0][i].get<double>()).margin(1e-12));
    }
    CHECK(tensor_in(batch, function + "/masked")["data"][1][0][2] == "-Infinity");
    CHECK(tensor_in(batch, function + "/weights")["data"][1][0][2] == 0.0);
    CHECK(tensor_in(first, function + "/masked") == nullptr);
  }
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
  CHECK(contains(refusal("self-attention" + input_of(folder, {tensor("Y", {1}, {1})})),
                 "given.json holds no input of self-attention; it has Y (1); valid: X [token×d_model], W_Q"));
  CHECK(refusal("self-attention" + input_of(folder, {X, tensor("Z", {1}, {1})})) ==
        "attnlab: Z in --input is no input of this run; valid: X, W_Q, W_K, W_V, b_Q, b_K, b_V\n");
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

namespace {

/// The matrices under each other.
json stacked(const std::vector<json>& tables) {
  json rows = json::array();
  for (const auto& table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

/// A run's inputs as a state dict of nn.MultiheadAttention has them.
json as_state_dict(const json& tensors) {
  const auto turned = [&](const char* id) { return transposed(tensors[id]); };
  return {{"in_proj_weight", stacked({turned("W_Q"), turned("W_K"), turned("W_V")})},
          {"in_proj_bias", stacked({tensors["b_Q"], tensors["b_K"], tensors["b_V"]})},
          {"out_proj.weight", turned("W_O")},
          {"out_proj.bias", tensors["b_O"]}};
}

const std::string with_biases =
    "multihead --model none --d-model 4 --heads 2 --set 'b_Q=[1,2,3,4]' --set 'b_K=[0,1,0,2]' "
    "--set 'b_V=[2,0,1,3]' --set 'b_O=[1,0,0,5]' --format json";

}  // namespace

TEST_CASE("a state dict is an input, with X from another file, and the page says what was taken for what") {
  const Folder folder;
  const auto trace = output_of(with_biases);
  const auto tensors = plain_arrays(json::parse(trace));
  auto weights = as_state_dict(tensors);
  weights["mlp.fc.weight"] = json({{1, 2}});
  const auto two_files = " --input " + folder.write("weights.json", weights.dump()) + " --input " +
                         folder.write("x.json", json{{"hidden_states", tensors["X"]}}.dump());
  const auto again = output_of("multihead --heads 2 --format json" + two_files);
  CHECK(plain_arrays(json::parse(again)) == tensors);
  const std::string note = tensor_in(again, "names")["note"];
  for (const auto* said :
       {"in_proj_weight is split into W_Q, W_K and W_V, transposed", "out_proj.bias is taken for b_O.",
        "hidden_states is taken for X.", "Left aside, since this run has no such tensor: mlp.fc.weight."})
    CHECK_THAT(note, Catch::Contains(said));
  CHECK(contains(output_of("multihead --heads 2" + two_files), "Names in --input\n"));
  CHECK(tensor_in(trace, "names") == nullptr);

  CHECK(contains(refusal("multihead --input " + folder.file("x.json") + " --input " + folder.file("x.json")),
                 "hidden_states is in two files of --input; valid: each tensor in one of them"));
  weights["typo"] = 1;
  CHECK(refusal("multihead --heads 2 --input " + folder.write("typo.json", weights.dump())) ==
        "attnlab: typo in --input is no input of this run; valid: X, W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, "
        "b_O\n");
}

TEST_CASE("of the weights of several layers one is chosen, and none is drawn in their place") {
  const Folder folder;
  const auto tensors = plain_arrays(json::parse(output_of(with_biases)));
  const auto others = plain_arrays(json::parse(output_of(with_biases + " --seed 7")));
  const auto by_torch = as_state_dict(tensors), others_by_torch = as_state_dict(others);
  json both = {{"X", tensors["X"]}};
  for (const auto& [name, tensor] : others_by_torch.items()) both["layers.0.self_attn." + name] = tensor;
  for (const auto& [name, tensor] : by_torch.items()) both["layers.1.self_attn." + name] = tensor;
  const auto file = folder.write("both.json", both.dump());
  const auto refused = refusal("multihead --heads 2 --input " + file);
  CHECK(contains(refused, "layers.0.self_attn.in_proj_weight and layers.1.self_attn.in_proj_weight"));
  CHECK(contains(refused, fmt::format("--input {0}:layers.0 or --input {0}:layers.1", file)));
  const auto second = "multihead --heads 2 --format json --input " + file + ":layers.1";
  CHECK(plain_arrays(json::parse(output_of(second))) == tensors);
  CHECK_THAT(refusal("multihead --input " + file + ":layers.7"),
             Catch::Contains("the file has no tensors of layers.7"));
}

TEST_CASE("a file of --input of which nothing is used is refused, though another has inputs") {
  const Folder folder;
  const auto x = folder.write("x.json", R"({"hidden_states": [[1, 2], [3, 4]]})");
  const auto other = folder.write("other.json", R"({"mlp.fc.weight": [[1, 2]]})");
  CHECK_THAT(refusal(fmt::format("multihead --input {} --input {}", x, other)),
             Catch::Contains(
                 fmt::format("--input {} holds no input of multihead; it has mlp.fc.weight (1×2)", other)));
}

TEST_CASE("an --input of others' names is what check takes it for, masks included") {
  const std::string dumps = std::string(ATTNLAB_ROOT) + "/tests/fixtures/dumps/";
  for (const auto& [file, options] :
       {std::pair("torch_multihead.npz", "--heads 4"),
        std::pair("torch_multihead_seq_first.npz", "--heads 4"), std::pair("gpt2.npz", "--heads 4 --causal"),
        std::pair("llama.safetensors", "--heads 4 --kv-heads 2")}) {
    INFO(file);
    const Folder folder;
    const auto own = folder.file("own.npz");
    output_of(fmt::format("multihead --input {}{} {} --output {}", dumps, file, options, own));
    const auto result = run(fmt::format("check multihead {}{} --probe {}", dumps, file, own));
    INFO(result.out);
    CHECK(result.status == 0);
    CHECK_FALSE(contains(result.out, "is another than the probe's"));
  }
}

TEST_CASE("pickles are refused with the line of Python that converts them, by a run as by check") {
  const Folder folder;
  const std::string torch_before_zip("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a", 11);
  const std::string pickle("\x80\x04\x95\x01\x00\x00\x00\x00\x00\x00\x00}.", 13);
  for (const std::string command : {"multihead --input ", "check multihead "}) {
    CHECK_THAT(refusal(command + folder.write("mine.pth", torch_before_zip)),
               Catch::Contains("mine.pth: it is a pickle of torch.save, which only Python reads; valid: ") &&
                   Catch::Contains("torch.load(\"" + folder.file("mine.pth") + "\""));
    CHECK_THAT(refusal(command + folder.write("mine.pkl", pickle)),
               Catch::Contains("mine.pkl: it is a pickle, which only Python reads; valid: ") &&
                   Catch::Contains("numpy.savez(\"" + folder.file("mine.npz") + "\", **pickle.load("));
  }
  const std::string one_by_one(
      "\x80\x02}X\x01\x00\x00\x00X]]G?\xf0\x00\x00\x00\x00\x00\x00"
      "aas.",
      25);
  const auto said = refusal("self-attention --input " + folder.write("one.pkl", one_by_one));
  const auto begin = said.find("python3 -c '"), end = said.find("' writes of");
  REQUIRE(end != std::string::npos);
  REQUIRE(std::system(("/usr/bin/" + said.substr(begin, end + 1 - begin)).c_str()) == 0);
  CHECK(
      tensor_in(output_of("self-attention --format json --set 'W_Q=[[1]]' --input " + folder.file("one.npz")),
                "X")["data"] == json({{1.0}}));
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

namespace {

/// A matrix of small numbers that differ.
json numbers(std::size_t rows, std::size_t columns, double first) {
  json matrix = json::array();
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      matrix[i][j] = std::sin(first + 1.7 * static_cast<double>(i * columns + j));
  return matrix;
}

/// What nn.MultiheadAttention of that width stores, in the module of that name.
json module_of_torch(std::size_t d_model, const std::string& path = "") {
  return {{path + "in_proj_weight", numbers(3 * d_model, d_model, 1.0)},
          {path + "in_proj_bias", numbers(1, 3 * d_model, 2.0)[0]},
          {path + "out_proj.weight", numbers(d_model, d_model, 3.0)},
          {path + "out_proj.bias", numbers(1, d_model, 4.0)[0]}};
}

json merged(json a, const json& b) {
  a.update(b);
  return a;
}

json table(std::size_t n, bool diagonal) {
  json rows = json::array();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) rows[i][j] = (i == j) == diagonal;
  return rows;
}

}  // namespace

TEST_CASE("a mask beside a state dict is never dropped: it hides, or is refused with what would be valid") {
  const Folder folder;
  const auto with = [&](const json& more) {
    return "multihead --heads 2 --input " +
           folder.write("mine.json",
                        merged(merged(module_of_torch(4), {{"X", numbers(3, 4, 0.0)}}), more).dump());
  };
  for (const auto& mask : {table(2, true), json({table(3, true), table(3, false)})})
    CHECK_THAT(refusal(with({{"mask", mask}})),
               Catch::Contains("mask (") && Catch::Contains("valid: (3) or (3×3)"));
  CHECK_THAT(refusal(with({{"mask", numbers(3, 3, 0.0)}})),
             Catch::Contains("mask in --input has 0.99") && Catch::Contains("valid: 0 or 1"));
  const auto others = with({{"attn_mask", table(3, true)}});
  const auto page = output_of(others + " --format json");
  CHECK(tensor_in(page, "weights")["data"][0][0][0] == 0.0);
  CHECK(contains(tensor_in(page, "names")["note"], "attn_mask is taken to be true for what is hidden"));
  CHECK(tensor_in(output_of(others + " --mask-true seen --format json"), "weights")["data"][1][0][0] == 1.0);
  const auto ours = with({{"mask", table(3, true)}});
  CHECK(tensor_in(output_of(ours + " --format json"), "weights")["data"][0][0][0] == 1.0);
  CHECK(tensor_in(output_of(ours + " --mask-true hidden --format json"), "weights")["data"][0][0][0] == 0.0);
  const auto both = merged({{"mask", json({{true, true, false}, {true, true, true}, {true, true, true}})}},
                           {{"key_padding_mask", json({true, false, false})}});
  const auto weights = tensor_in(output_of(with(both) + " --format json"), "weights")["data"][0];
  CHECK((weights[0][0] == 0.0 && weights[0][1] == 1.0 && weights[0][2] == 0.0));
  CHECK((weights[1][0] == 0.0 && weights[1][1] > 0.0 && weights[1][2] > 0.0));
  const auto set = [](const std::string& mask) {
    return tensor_in(output_of("sdpa --sentence 'a b' --steps mask --format json --set mask=" + mask),
                     "mask");
  };
  CHECK(set("'[[1,0],[0,1]]' --mask-true hidden")["data"] == set("'[[0,1],[1,0]]'")["data"]);
}

TEST_CASE("a layer of a state dict is taken by any part of its name, and a refusal says one that works") {
  const Folder folder;
  auto layers = merged(module_of_torch(4, "layers.0.self_attn."), module_of_torch(4, "layers.1.self_attn."));
  layers["layers.1.self_attn.in_proj_weight"] = numbers(12, 4, 5.0);
  const auto file = folder.write("two.json", layers.dump());
  const auto X = " --set 'X=" + numbers(3, 4, 0.0).dump() + "'";
  const auto page_of = [&](const std::string& part) {
    return without_header(output_of("multihead --heads 2 --input " + file + part + X + " --steps output"));
  };
  for (const auto* part : {":layers.1.self_attn", ":layers.1.", ":layers.1.self_attn."})
    CHECK(page_of(part) == page_of(":layers.1"));
  auto decoder =
      merged(module_of_torch(4, "layers.0.self_attn."), module_of_torch(4, "layers.0.cross_attn."));
  decoder["layers.0.cross_attn.in_proj_weight"] = numbers(12, 4, 5.0);
  const auto of_decoder = folder.write("dec.json", decoder.dump());
  CHECK_THAT(refusal("multihead --heads 2 --input " + of_decoder + ":layers.0" + X),
             Catch::Contains("--input " + of_decoder + ":layers.0.cross_attn"));
  CHECK(run("multihead --heads 2 --input " + of_decoder + ":layers.0.cross_attn" + X).status == 0);
  const auto before = folder.file("before.npz");
  output_of("multihead --heads 2 --input " + file + ":layers.0" + X + " --output " + before);
  CHECK_THAT(refusal("multihead --heads 2 --input " + file + ":layers.1 --input " + before),
             Catch::Contains("is left out, because W_") && Catch::Contains("is there itself; valid: "));
}

TEST_CASE("a target word that stands in the source, too, has the vector that was given for it") {
  for (const std::string lesson : {"seq2seq", "backward --through seq2seq"}) {
    INFO(lesson);
    const auto X_target =
        tensor_in(output_of(lesson + " --source 'a b' --target 'b c' --model none --format json "
                                     "--set 'X_source=[[1,2,3,4],[5,6,7,8]]'"),
                  "X_target");
    CHECK(X_target["data"][1] == json{5.0, 6.0, 7.0, 8.0});
  }
}

TEST_CASE("heads are no samples where a lesson takes one text, and what is taken for one head is told") {
  const Folder folder;
  const auto file = folder.file("run.npz"), heads = folder.file("heads.json");
  output_of("multihead --model none --sentence 'a b c' --d-model 4 --heads 2 --output " + file);
  CHECK(contains(in_one_line(output_of("efficient --input " + file)), "are taken for those of one head"));
  const auto Q = json({numbers(3, 4, 0.0), numbers(3, 4, 1.0)});
  folder.write("heads.json", json{{"Q", Q}, {"K", Q}, {"V", Q}}.dump());
  CHECK(
      refusal("efficient --input " + heads) ==
      "attnlab: the tensors of --input are of 2 samples, but efficient takes no batch; valid: those of one, "
      "without an axis before tokens\n");
}

TEST_CASE("patterns takes a state dict, and the heads of weights beside one sentence or in their trace") {
  const Folder folder;
  const auto file = folder.write("mha.json", merged(module_of_torch(4), {{"X", numbers(3, 4, 0.0)}}).dump());
  const auto weights_of = [](const std::string& arguments) {
    return tensor_in(output_of(arguments + " --format json"), "weights");
  };
  const auto weights = weights_of("multihead --heads 2 --input " + file)["data"];
  const auto theirs = weights_of("patterns --heads 2 --input " + file)["data"];
  const auto page = in_one_line(output_of("patterns --input " + file));
  CHECK(contains(page, "heads = 1 is assumed: by their shapes the weights may be of 1, 2 or 4"));
  CHECK_FALSE(contains(page, "Nothing here is trained"));
  CHECK(theirs[1][2][0].get<double>() == Approx(weights[1][2][0].get<double>()).margin(1e-12));
  const auto alone = folder.write("weights.json", json{{"attn_output_weights", weights}}.dump());
  CHECK(weights_of("patterns --sentence 'a b c' --input " + alone)["axes"][0] == "head");
  const auto own = folder.file("own.npz");
  output_of("multihead --heads 2 --input " + file + " --steps weights --output " + own);
  CHECK(weights_of("patterns --input " + own)["axes"][0] == "head");
}

TEST_CASE("a page says that numbers are drawn only where some are") {
  const Folder folder;
  const auto given = folder.file("given.npz");
  output_of("transformer-block --model none --output " + given);
  const auto drawn = [](const std::string& arguments) {
    return contains(output_of(arguments + " --shapes"), "drawn, not trained");
  };
  CHECK(drawn("transformer-block --model none"));
  CHECK(drawn("transformer-block --set 'X=[[1,0,0,1],[0,1,1,0]]'"));
  auto all = json::object();
  const auto trace = json::parse(output_of("transformer-block --model none --format json"));
  for (const auto& event : trace["events"])
    if (event["kind"] == "input") all[event["id"].get<std::string>()] = event["data"];
  CHECK_FALSE(drawn("transformer-block --heads 2 --input " + folder.write("all.json", all.dump())));
  CHECK_FALSE(
      drawn("patterns --input " + folder.write("weights.json", R"({"weights": [[0.5, 0.5], [1, 0]]})")));
}

TEST_CASE("what is given is told in few lines, and what is assumed of it, of pictures too") {
  const Folder folder;
  json long_Q = numbers(300, 2, 0.0);
  const auto page =
      output_of("sdpa --steps weights --input " +
                folder.write("q.json", json{{"Q", long_Q}, {"K", long_Q}, {"V", long_Q}}.dump()));
  CHECK(contains(page, "(300 words)"));
  const auto file = folder.write("mha.json", merged(module_of_torch(4), {{"X", numbers(3, 4, 0.0)}}).dump());
  const auto picture = run("multihead --input " + file + " --output " + folder.file("w.svg"));
  CHECK(contains(picture.err, "heads = 2 is assumed"));
  CHECK(run("multihead --heads 2 --input " + file + " --output " + folder.file("w.svg")).err == "");
  const auto turned = folder.write("t.json", R"({"X": [[[1, 0]], [[0, 1]], [[1, 1]]]})");
  CHECK(contains(output_of("self-attention --input " + turned), "3 texts of one token each"));
  CHECK_THAT(refusal("sdpa --steps comparison --input " + folder.file("q.json")),
             Catch::Contains("no step comparison; valid: "));
}
