/// Biases of the projections: inputs that are there only where they are given.

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/text/width.hpp"
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

/// A file with the trace of these arguments.
std::string trace_of(const std::string& arguments) {
  static const Folder folder;
  const auto file = folder.file("own.npz");
  output_of(arguments + " --output " + file);
  return file;
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
  CHECK(contains(output_of(lesson + " --set 'cross/b_O=[1,2,3,4]'"), " @ cross_W_O + cross_b_O"));
}

TEST_CASE("a bias of a wrong length is refused, and one of a lesson that has none") {
  CHECK(contains(refusal("multihead --set 'b_Q=[1,2,3]'"), "valid: a multiple of 2"));
  CHECK(contains(refusal("self-attention --d-k 4 --set 'b_Q=[1,2,3]'"), "--d-k 4 contradicts --set"));
  CHECK(contains(refusal("self-attention --set 'b_Q=[1,2]' --set 'b_K=[1,2,3]'"),
                 "valid: the same length in both"));
  CHECK(contains(refusal("sdpa --set 'b_Q=[1,2,3,4]'"), "b_Q in --set is no input of this run"));
  CHECK(contains(refusal("generate --d-model 4 --set 'b_O=[1,2,3]'"), "--d-model 4 contradicts --set"));
  CHECK(contains(refusal("seq2seq --attention multihead --hidden 4 --set 'attention/b_V=[1,2,3]'"),
                 "--hidden 4 contradicts --set"));
  CHECK(contains(refusal("backward --through transformer-block --set 'attention/b_K=[1,2,3]'"),
                 "valid: a multiple of 2"));
}

TEST_CASE("biases of a decoder with a cache are added to what is read now") {
  const std::string lesson = "generate --d-model 4 --heads 2 --layers 2 --model none";
  const std::string biases = " --set 'layer=2/b_V=[0,3,0,1]' --set 'layer=2/b_O=[1,2,3,4]'";
  const auto without = run_of(lesson), with = run_of(lesson + biases);
  const auto V = event_called(with, "step=0/layer=2/V");
  CHECK(contains(V["formula"], "W_V + b_V cut into heads"));
  CHECK(contains(V["inputs"].dump(), "layer=2/b_V"));
  for (const std::string layer : {"layer=1", "layer=2"}) {
    CAPTURE(layer);
    const auto id = fmt::format("step=0/{}/V", layer);
    const auto before = event_called(without, id)["data"], after = event_called(with, id)["data"];
    const json added = layer == "layer=2" ? json({{0.0, 3.0}, {0.0, 1.0}}) : json({{0.0, 0.0}, {0.0, 0.0}});
    REQUIRE(after.size() == 2);
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t token = 0; token < after[head].size(); ++token)
        for (std::size_t i = 0; i < 2; ++i)
          CHECK(after[head][token][i].get<double>() - before[head][token][i].get<double>() ==
                Approx(added[head][i].get<double>()).margin(1e-12));
  }
  CHECK(event_called(with, "step=0/layer=2/output")["formula"] == "concat(heads) W_O + b_O");
  CHECK(contains(output_of("check generate " + trace_of(lesson + biases)), "steps are right."));
}

TEST_CASE("multi-head attention between two LSTMs takes biases, and without one the step is wrong") {
  const std::string lesson = "seq2seq --attention multihead --hidden 4";
  const std::string biases = " --set 'attention/b_Q=[1,0,-2,0.5]' --set 'attention/b_O=[1,2,3,4]'";
  const auto with = run_of(lesson + biases);
  CHECK(event_called(with, "decoder/scores")["formula"] == "(hₜ W_Q + b_Q)ᵢ · (eⱼ W_K)ᵢ for each head i");
  CHECK(contains(event_called(with, "decoder/scores")["worked"]["operands"].dump(), "attention/b_Q"));
  CHECK(contains(event_called(with, "decoder/context")["worked"]["operands"].dump(), "attention/b_O"));
  CHECK(contains(output_of("check seq2seq " + trace_of(lesson + biases)), "steps are right."));

  auto forgotten = run_of(lesson);
  json dump;
  for (const auto& event : with["events"])
    if (event["kind"] == "input") dump[event["id"].get<std::string>()] = event["data"];
  for (const auto* id : {"encoder/h", "decoder/h", "decoder/scores"})
    dump[id] = event_called(forgotten, id)["data"];
  const Folder folder;
  const auto result = run(fmt::format("check seq2seq {} --attention multihead --format json",
                                      folder.write("dump.json", dump.dump())));
  CHECK(result.status == 1);
  for (const auto& step : json::parse(result.out)["steps"])
    CHECK((step["verdict"] == "right") == (step["id"] != "decoder/scores"));
}

TEST_CASE("the gradient of a bias is the sum of what comes back to each row") {
  const json one = {1.0, 0.0, -2.0, 0.5}, other = {0.0, 3.0, 0.0, 1.0};
  struct Bias {
    std::string id, of;
  };
  struct Run {
    std::string arguments;
    json given;
    std::vector<Bias> biases;
  };
  const Folder folder;
  for (const auto& [options, given, biases] :
       std::vector<Run>{{"--through sdpa --d-model 4",
                         {{"b_Q", one}, {"b_V", other}},
                         {{"d_b_Q", "d_Q"}, {"d_b_V", "d_V"}}},
                        {"--through multihead --d-model 4",
                         {{"b_Q", one}, {"b_O", other}},
                         {{"d_b_Q", "d_Q"}, {"d_b_O", "d_output"}}},
                        {"--through transformer-block --heads 4 --kv-heads 2 --d-k 3 --d-v 2",
                         {{"attention/b_V", other}},
                         {{"attention/d_b_V", "attention/d_V"}}}}) {
    const auto arguments =
        fmt::format("backward {} --input {}", options, folder.write("biases.json", given.dump()));
    CAPTURE(arguments);
    const auto trace = run_of(arguments);
    for (const auto& [id, of] : biases) {
      CAPTURE(id);
      const auto gradient = event_called(trace, id)["data"], rows = event_called(trace, of)["data"];
      REQUIRE(gradient.size() == 4);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        double sum = 0.0;
        for (const auto& row : rows) sum += row[i].get<double>();
        CHECK(gradient[i].get<double>() == Approx(sum).margin(1e-12));
      }
      CHECK(event_called(trace, "check/" + id)["holds"] == true);
    }
    CHECK(event_called(trace, "d_b_K").is_null());
    CHECK(contains(output_of(fmt::format("check backward {} {}", trace_of(arguments), options)),
                   "steps are right."));
  }
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

TEST_CASE(
    "the attentions of Bahdanau et al. and Luong et al. take biases, and without one the step is wrong") {
  struct Case {
    std::string attention, biases, step, formula;
  };
  const std::string of_W_c = " --set 'attention/b_c=[1,0,-2,0.5]' --set 'output/b=[0.5,0,1]'";
  const std::string of_d_a = "=[1,0,-2]'";
  for (const Case& each :
       {Case{"bahdanau", " --set 'attention/b_q" + of_d_a + " --set 'attention/b_k" + of_d_a,
             "decoder/scores", "v_a · tanh(hₜ₋₁ W_q + b_q + eⱼ W_k + b_k)"},
        Case{"bahdanau-input", " --set 'attention/b_k" + of_d_a, "decoder/scores",
             "v_a · tanh([hₜ₋₁; yₜ] W_q + eⱼ W_k + b_k)"},
        Case{"luong-concat", " --set 'attention/b_a" + of_d_a, "decoder/scores",
             "v_a · tanh([hₜ; eⱼ] W_a + b_a)"},
        Case{"luong-general", " --set 'attention/b_a=[1,0,-2,0.5]'", "decoder/scores", "(hₜ W_a + b_a) · eⱼ"},
        Case{"luong-dot", of_W_c, "decoder/attentional", "tanh([context; h] W_c + b_c)"},
        Case{"luong-dot", of_W_c, "decoder/logits", "attentional W + b"},
        Case{"multihead", of_W_c, "decoder/attentional", "tanh([context; h] W_c + b_c)"}}) {
    CAPTURE(each.attention, each.step);
    const auto lesson =
        "seq2seq --source 'a b' --target 'c d' --hidden 4 --d-a 3 --attention " + each.attention;
    const auto with = run_of(lesson + each.biases), without = run_of(lesson);
    const auto step = event_called(with, each.step);
    CHECK(step["formula"] == each.formula);
    CHECK(contains(step["worked"]["operands"].dump(), "/b"));
    CHECK(step["data"] != event_called(without, each.step)["data"]);
    CHECK(contains(output_of("check seq2seq " + trace_of(lesson + each.biases)), "steps are right."));

    json dump;
    for (const auto& event : with["events"])
      if (event["kind"] == "input" || event["kind"] == "step")
        dump[event["id"].get<std::string>()] = event["data"];
    dump[each.step] = event_called(without, each.step)["data"];
    const Folder folder;
    const auto result = run(fmt::format("check seq2seq {} --attention {} --format json",
                                        folder.write("dump.json", dump.dump()), each.attention));
    CHECK(result.status == 1);
    for (const auto& checked : json::parse(result.out)["steps"])
      if (checked["id"] == each.step) CHECK(checked["verdict"] == "wrong");
  }
}

TEST_CASE("nothing is claimed of logits that are no larger than what rounding may do") {
  const auto page = output_of(
      "generate --sentence a --d-model 2 --heads 1 --new-tokens 1 --set W_O=[[0,0],[0,0]] --set "
      "embedding=[[1000,999]] --set W_vocabulary=[[1],[-1]]");
  CHECK(contains(page, "Rounding decides too much here"));
  CHECK_FALSE(contains(page, "one pass without a cache gives the same logits"));
}

TEST_CASE("code with biases fits 80 columns, and computes their gradients") {
  const auto trace =
      run_of("generate --d-model 4 --heads 2 --layers 2 --model none --set layer=2/b_V=[0,1,2,3]");
  for (const auto& event : trace["events"]) {
    const std::string id = event["id"], code = event["formula"];
    if (id == "code" || contains(id, "/code"))
      for (const auto& line : lines_of(code)) CHECK(attn::display_width(line) <= 80);
  }
  const std::string of_block = "backward --through transformer-block --d-model 4 --all";
  CHECK(contains(output_of(of_block + " --set attention/b_O=[0,1,2,3]"),
                 "attention_d_b_O = attention_d_output.sum(axis=0)"));
}

TEST_CASE("backward through seq2seq has the gradients of the biases of Bahdanau's projections") {
  const std::string biases = " --set 'attention/b_q=[0.5,-1,0.25,2]' --set 'attention/b_k=[0,3,-0.5,1]'";
  const auto trace = run_of("backward --through seq2seq" + biases);
  for (const std::string b : {"b_q", "b_k"}) {
    CHECK(event_called(trace, "attention/d_" + b)["axes"] == json::array({"d_a"}));
    const auto moved = event_called(trace, "check/attention/d_" + b);
    REQUIRE(!moved.is_null());
    CHECK(moved["holds"] == true);
  }
  CHECK(contains(event_called(trace, "attention/d_v_a")["formula"],
                 "tanh(decoder/queries W_q + b_q + encoder/h W_k + b_k)"));
}

TEST_CASE("scoring adds the biases of both projections, to a sum as to a pair") {
  const std::string biases = " --set 'b_q=[0.5,-1,0.25]' --set 'b_k=[0,3,-0.5]'";
  const auto without = run_of("scoring --model none"), with = run_of("scoring --model none" + biases);
  check_rows(row_differences(without, with, "additive/projected_queries"), {0.5, -1.0, 0.25});
  check_rows(row_differences(without, with, "additive/projected_keys"), {0.0, 3.0, -0.5});
  CHECK(event_called(with, "concat/hidden")["formula"] == "tanh(pairs W_c + b_q + b_k)");
  CHECK(event_called(with, "additive/projected_keys")["formula"] == "keys W_k + b_k");
  const auto additive = event_called(with, "additive/scores")["data"],
             concat = event_called(with, "concat/scores")["data"];
  CHECK(additive != event_called(without, "additive/scores")["data"]);
  REQUIRE(additive.size() == concat.size());
  for (std::size_t i = 0; i < additive.size(); ++i)
    for (std::size_t j = 0; j < additive[i].size(); ++j)
      CHECK(additive[i][j].get<double>() == Approx(concat[i][j].get<double>()).margin(1e-12));
  CHECK(contains(output_of("scoring --model none --format python" + biases),
                 "additive_projected_queries = queries @ W_q + b_q"));
}

TEST_CASE("a dump of Bahdanau's scores from nn.Linear layers with biases is right") {
  const Folder folder;
  const auto trace = run_of("scoring --model none --set 'b_q=[0.5,-1,0.25]' --set 'b_k=[0,3,-0.5]'");
  const auto data = [&](const char* id) { return event_called(trace, id)["data"]; };
  const auto transposed = [](const json& rows) {
    json columns = json::array();
    for (std::size_t j = 0; j < rows[0].size(); ++j)
      for (std::size_t i = 0; i < rows.size(); ++i) columns[j][i] = rows[i][j];
    return columns;
  };
  auto scores = data("additive/scores");
  for (auto& row : scores)
    for (auto& score : row) score = score.get<double>() + 0.75;  // the bias of v_a
  folder.write("mine.json", json{{"queries", data("queries")},
                                 {"keys", data("keys")},
                                 {"W_a", data("W_a")},
                                 {"Wa.weight", transposed(data("W_q"))},
                                 {"Wa.bias", data("b_q")},
                                 {"Ua.weight", transposed(data("W_k"))},
                                 {"Ua.bias", data("b_k")},
                                 {"Va.weight", json::array({data("v_a")})},
                                 {"Va.bias", {0.75}},
                                 {"additive/scores", scores},
                                 {"additive/context", data("additive/context")}}
                                .dump());
  const auto checked = run("check scoring " + folder.file("mine.json"));
  INFO(checked.out << checked.err);
  CHECK(checked.status == 0);
  CHECK(contains(checked.out, "scores-shifted"));
}
