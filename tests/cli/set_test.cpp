#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/events.hpp"
#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/documents/schema.hpp"

using nlohmann::json;

namespace {

json valid_trace_of(const std::string& arguments) {
  auto trace = trace_of(arguments);
  CHECK(schema_errors(trace.dump()) == std::vector<std::string>{});
  return trace;
}

std::string set(const std::string& id, const json& value) {
  return " --set " + as_argument(id + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
}

}  // namespace

TEST_CASE("a tensor that is set stands in the place of the one that is drawn, and dimensions follow") {
  const auto drawn = valid_trace_of("self-attention --sentence 'a b' --d-model 2");
  const auto trace = valid_trace_of("self-attention --sentence 'a b'" + set("X", {{1, 0}, {0, -2.5}}));
  CHECK(data_of(trace, "X") == json({{1.0, 0.0}, {0.0, -2.5}}));
  CHECK(trace["config"]["d_model"] == 2);
  CHECK(trace["config"]["set"] == json({"X=[[1,0],[0,-2.5]]"}));
  CHECK(drawn["config"]["set"].is_null());
  CHECK(event_of(trace, "W_Q") == event_of(drawn, "W_Q"));
  CHECK(valid_trace_of("self-attention" + set("X", {{1, 0}, {0, 1}}))["config"]["sentence"] == json({"a b"}));
}

TEST_CASE("a page on few rows shows every table, and names rows as its worked entries do") {
  const auto set_W_Q = std::string(" --set W_Q=identity");
  const auto page = output_of("self-attention" + set("X", {{1, 0}, {0, 1}, {1, 1}}) + set_W_Q);
  for (const char* part : {"\n  Q[c, 0] = 1 · 1 + 1 · 0 = 1\n", "\n  K[c, 0] = ", "\n  V[c, 0] = ", "\n  c  ",
                           "weights[c, b] = "})
    CHECK_THAT(page, Catch::Contains(part));
  CHECK(lines_of(page).size() <= 110);
  CHECK_THAT(output_of("self-attention --sentence 'a b c d' --d-model 2" + set_W_Q),
             Catch::Contains("\n  K = X W_K [4×2], V = X W_V [4×2]\n"));
}

TEST_CASE("all inputs of every lesson may be set, and are then what a file of the same tensors makes them",
          "[thorough]") {
  const Folder folder;
  for (const auto& name : lessons()) {
    // a plain file tells neither that there is a model, nor its words, too many for a command line, nor its
    // heads
    const bool needs_more = name == "cross-attention" || name == "generate" || name == "patterns" ||
                            name == "seq2seq" || name == "transformer-block";
    const auto lesson = needs_more ? name + " --model none" : name;
    INFO(lesson);
    json tensors;
    std::string settings;
    const auto trace = valid_trace_of(lesson);
    for (const auto& event : trace["events"]) {
      if (event["kind"] != "input") continue;
      tensors[event["id"]] = event["data"];
      settings += set(event["id"], event["data"]);
    }
    const auto file = folder.write("plain.json", tensors.dump());
    const auto given = valid_trace_of(lesson + " --input " + as_argument(file));
    const auto set_by_hand = valid_trace_of(lesson + settings);
    // how many heads are assumed of the file, and the commands to try next, name what was given
    const auto without_names_of_given = [](json events) {
      for (std::size_t i = events.size(); i-- > 0;)
        if (events[i]["id"] == "names" || events[i]["id"] == "next") events.erase(i);
      return events;
    };
    CHECK(without_names_of_given(set_by_hand["events"]) == without_names_of_given(given["events"]));
    for (const auto& [id, data] : tensors.items()) CHECK(data_of(given, id) == data);
  }
}

TEST_CASE("a plain JSON file gives tensors as a trace does") {
  const Folder folder;
  const auto file =
      folder.write("plain.json", R"({"X": [[1, 0], [0.5, 1e1]], "mask": [[true, false], [true, true]]})");
  const auto trace = valid_trace_of("self-attention --input " + as_argument(file));
  CHECK(data_of(trace, "X") == json({{1.0, 0.0}, {0.5, 10.0}}));
  CHECK(data_of(trace, "mask") == json({{true, false}, {true, true}}));
  CHECK(data_of(trace, "weights")[0] == json({1.0, 0.0}));
  CHECK(trace["config"]["d_model"] == 2);
}

TEST_CASE("a plain JSON file that holds something else is refused") {
  const Folder folder;
  const auto said_of = [&](const std::string& text) {
    return refusal("self-attention --input " + as_argument(folder.write("plain.json", text)));
  };
  const auto contains = [](const std::string& part) { return Catch::Matchers::Contains(part); };
  CHECK_THAT(said_of(R"({"X": [[1, 0], [0]]})"),
             contains("plain.json: X: its lists differ in length or depth"));
  CHECK_THAT(said_of(R"({"X": [[1, "a"]]})"), contains("X: it has \"\\\"a\\\"\"; valid: lists of numbers"));
  CHECK_THAT(said_of(R"({"X": null})"), contains("X: it has \"null\""));
  CHECK_THAT(said_of(R"({"X": [[1, true]]})"), contains("X: it has \"true\""));
  CHECK_THAT(said_of(R"({"X": [[1, 0]], "X": [[1, 0]]})"), contains("the name \"X\" twice"));
  CHECK_THAT(said_of(R"({"a b": [1]})"),
             contains("holds no input of self-attention; it has a b (1); valid: X"));
  CHECK_THAT(said_of(R"({"X": [[NaN]]})"), contains("X in --input has nan at (0, 0)"));
  CHECK_THAT(said_of(R"({"X": [["NaN"]]})"),
             contains("X in --input has nan at (0, 0); valid: finite numbers"));
  CHECK_THAT(said_of(R"({"Y": [[1]]})"),
             contains("holds no input of self-attention; it has Y (1×1); valid: X"));
  CHECK_THAT(said_of("{}"), contains("valid: a trace as --format json writes it, or tensors by id"));
}

TEST_CASE("the identity has the shape that the run asks for") {
  const auto square = valid_trace_of("self-attention --sentence 'a b c'" + set("W_Q", "identity"));
  CHECK(data_of(square, "Q") == data_of(square, "X"));
  const auto wide =
      valid_trace_of("self-attention --sentence 'a b c' --d-model 2 --d-k 3" + set("W_Q", "identity"));
  CHECK(data_of(wide, "W_Q") == json({{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}));
  const auto follows = valid_trace_of("self-attention" + set("X", {{1, 2}, {3, 4}}) + set("W_V", "identity"));
  CHECK(data_of(follows, "W_V") == json({{1.0, 0.0}, {0.0, 1.0}}));
  const auto mask = valid_trace_of("sdpa --sentence 'a b'" + set("mask", "identity"));
  CHECK(data_of(mask, "mask") == json({{true, false}, {false, true}}));
  CHECK(data_of(mask, "output") == data_of(mask, "V"));
  const auto vocabulary =
      data_of(valid_trace_of("generate --sentence 'a b'" + set("W_vocabulary", "identity")), "W_vocabulary");
  CHECK(vocabulary[1][0] == 0.0);
  CHECK(vocabulary[1][1] == 1.0);
}

TEST_CASE("numbers come from rows in a file") {
  const Folder folder;
  const auto file = folder.write("rows=1.csv", "1, 0, -2.5e1\r\n 0,1,3\n\n");
  const auto trace = valid_trace_of("self-attention" + set("X", "@" + file));
  CHECK(data_of(trace, "X") == json({{1.0, 0.0, -25.0}, {0.0, 1.0, 3.0}}));
  CHECK(trace["config"]["set"] == json({"X=@" + file}));
  const auto vector = folder.write("vector.csv", "1,2,3\n");
  CHECK(data_of(valid_trace_of("lookup" + set("query", "@" + vector)), "query") == json({1.0, 2.0, 3.0}));
  CHECK(data_of(valid_trace_of("self-attention" + set("X", "@" + vector)), "X") == json({{1.0, 2.0, 3.0}}));
  const auto mask = folder.write("mask.csv", "1,0\n1,1\n");
  CHECK(data_of(valid_trace_of("sdpa --sentence 'a b'" + set("mask", "@" + mask)), "mask") ==
        json({{true, false}, {true, true}}));
}

TEST_CASE("whole numbers, masks and ids with a sign of equality may be set") {
  const auto counts = valid_trace_of("scaling" + set("d_k", {3, 5}) + set("samples", 100));
  CHECK(data_of(counts, "d_k") == json({3, 5}));
  CHECK(counts["config"]["samples"] == 100);
  for (const auto& mask : {json({{true, false}, {true, true}}), json({{1, 0}, {1, 1}})})
    CHECK(data_of(valid_trace_of("sdpa --sentence 'a b'" + set("mask", mask)), "weights")[0][1] == 0.0);
  const auto said = refusal("generate --sentence 'a b'" + set("step=0/mask", {1}));
  CHECK_THAT(said, Catch::Matchers::StartsWith("attnlab: step=0/mask in --set has the shape (1); valid"));
}

TEST_CASE("a trace with tensors that were set can be run again from its own inputs and from its config") {
  const Folder folder;
  const std::vector<std::string> runs = {
      "self-attention" + set("X", {{1, 0}, {0, 1}}) + set("W_Q", "identity"),
      "sdpa --causal" + set("Q", {{1, 0}}) + set("K", {{1, 0}, {0, 1}}),
      "multihead --heads 2" + set("W_Q", "identity"), "sdpa --sentence 'a b'" + set("mask", {{1, 0}, {1, 1}}),
      "scaling" + set("samples", 100)};
  for (const auto& arguments : runs) {
    const auto lesson = arguments.substr(0, arguments.find(' '));
    const auto expected = output_of(arguments + " --format json");
    for (const std::string ending : {".json", ".npz", ".safetensors"}) {
      const auto file = folder.file("trace" + ending);
      INFO("attnlab " << arguments << " to " << ending);
      output_of(arguments + " --output " + as_argument(file));
      CHECK((output_of(lesson + " --format json --input " + as_argument(file)) == expected));
      CHECK(output_of(lesson + " --input " + as_argument(file) + " --expect " + as_argument(file)) == "");
    }
  }
  const auto part = folder.file("part.json");
  output_of("self-attention" + set("X", {{1, 0}, {0, 1}}) + " --steps weights --output " + as_argument(part));
  CHECK(data_of(valid_trace_of("self-attention --steps X --input " + as_argument(part)), "X") ==
        json({{1.0, 0.0}, {0.0, 1.0}}));
}

TEST_CASE("a file and --set give different inputs together") {
  const Folder folder;
  const auto file = as_argument(folder.write("plain.json", R"({"X": [[1, 2], [3, 4]]})"));
  const auto trace =
      valid_trace_of("self-attention --input " + file + set("W_Q", "identity") + set("W_K", {{1}, {0}}));
  CHECK(data_of(trace, "X") == json({{1.0, 2.0}, {3.0, 4.0}}));
  CHECK(data_of(trace, "W_K") == json({{1.0}, {0.0}}));
  CHECK(data_of(trace, "Q") == json({{1.0}, {3.0}}));
  CHECK(refusal("self-attention --input " + file + set("X", {{1, 2}})) ==
        "attnlab: --set X=[[1,2]]: X is in --input, too; valid: one of the two\n");
  CHECK(refusal("self-attention --input " + file + set("W_Q", {{1}, {2}, {3}})) ==
        "attnlab: X is (2 token × 2 d_model) but W_Q has d_model 3, one in --input and one in --set; valid: "
        "the same length in both\n");
}

TEST_CASE("tensors that cannot be set are refused with the id, the value and what would be valid") {
  const Folder folder;
  const std::string lesson = "self-attention";
  const auto said_of = [&](const std::string& text) {
    return refusal(lesson + " --sentence 'a b' --set " + as_argument(text));
  };
  const auto contains = [](const std::string& part) { return Catch::Matchers::Contains(part); };
  const std::string valid = "; valid: ID=[[1,0],[0,1]], ID=identity or ID=@FILE.csv\n";
  CHECK(said_of("") == "attnlab: --set \"\": it has no =" + valid);
  CHECK(said_of("X") == "attnlab: --set X: it has no =" + valid);
  CHECK(said_of("X=") == "attnlab: --set X=: its value is no tensor" + valid);
  CHECK(said_of("X=eye") == "attnlab: --set X=eye: its value is no tensor" + valid);
  CHECK(said_of("=[[1]]") == "attnlab: --set =[[1]]: \"\" is the id of no input" + valid);
  CHECK(said_of("a b=[[1]]") == "attnlab: --set a b=[[1]]: \"a b\" is the id of no input" + valid);
  CHECK_THAT(said_of("X=[[1,0],[0,1]"), contains("--set X=[[1,0],[0,1]: it is no JSON from byte 13 on"));
  CHECK_THAT(said_of("X=[[1 0]]"), contains("it is no JSON from byte"));
  CHECK_THAT(said_of("X=[[nan]]"), contains("it is no JSON from byte"));
  CHECK_THAT(said_of("X=[[1e999]]"), contains("--set X=[[1e999]]: it is no JSON"));
  CHECK_THAT(said_of("X=[[1,0],[0]]"), contains("--set X=[[1,0],[0]]: its lists differ in length or depth"));
  CHECK_THAT(said_of("X=[[1,0],0]"), contains("its lists differ in length or depth"));
  CHECK_THAT(said_of("X=[[1,\"a\"]]"), contains("it has \"\\\"a\\\"\"; valid: lists of numbers"));
  CHECK_THAT(said_of("X=[[1,null]]"), contains("it has \"null\""));
  CHECK(said_of("X=[[\"NaN\",1],[1,2]]") == "attnlab: X in --set has nan at (0, 0); valid: finite numbers\n");
  CHECK(said_of("X=[[\"Infinity\",1],[1,2]]") ==
        "attnlab: X in --set has inf at (0, 0); valid: finite numbers\n");
  CHECK(said_of("X=[1,2]") == "attnlab: X in --set has the shape (2); valid: the axes token × d_model\n");
  CHECK(said_of("X=[[],[]]") == "attnlab: X in --set has the shape (2×0); valid: no axis of length 0\n");
  CHECK_THAT(said_of("X=[[1],[2],[3]]"), contains("contradicts --set, where X is (3 token × 1 d_model)"));
  CHECK(said_of("mask=[[2,0],[1,1]]") ==
        "attnlab: mask in --set has 2 at (0, 0); valid: 0 or 1, where 1 means may be seen\n");
  CHECK(said_of("Y=[[1]]") ==
        "attnlab: Y in --set is no input of this run; valid: X, W_Q, W_K, W_V, b_Q, b_K, b_V\n");
  CHECK(said_of("Y=identity") ==
        "attnlab: Y in --set is no input of this run; valid: X, W_Q, W_K, W_V, b_Q, b_K, b_V\n");
  CHECK_THAT(said_of("X=@nowhere.csv"), contains("nowhere.csv: it cannot be opened: No such file"));
  CHECK(said_of("X=@") == "attnlab: --set X=@: its value is no tensor" + valid);
  CHECK_THAT(said_of("X=@" + folder.write("words.csv", "1,2\na,b\n")),
             contains("words.csv: line 2: \"a\" is no number; valid: rows of numbers"));
  CHECK(refusal("self-attention" + set("X", {{1}}) + set("X", {{2}})) ==
        "attnlab: --set X=[[2]]: X is set twice; valid: each input once\n");
  CHECK(refusal("self-attention --d-model 3" + set("X", {{1, 2}})) ==
        "attnlab: --d-model 3 contradicts --set, where X is (1 token × 2 d_model); valid: --d-model 2 or "
        "none\n");
  CHECK(refusal("self-attention" + set("X", {{1, 2}}) + set("W_Q", {{1}, {2}, {3}})) ==
        "attnlab: W_Q is (3 d_model × 1 d_k) but X has d_model 2, both in --set; valid: the same length in "
        "both\n");
  CHECK(refusal("lookup" + set("query", "identity")) ==
        "attnlab: query in --set is identity, which is a matrix; valid for this run: (4 d_k)\n");
  CHECK(refusal("self-attention --dtype float32 --sentence a" + set("X", {{1e300}})) ==
        "attnlab: X in --set has 1e+300 at (0, 0); valid: finite numbers up to 3.4e38, the largest of "
        "float32\n");
  CHECK_THAT(refusal("tour" + set("X", {{1}})), contains("tour has no option --set"));
}
