#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/expression.hpp"
#include "tests/cli/program.hpp"

namespace {

using Catch::Contains;
using Catch::StartsWith;
using nlohmann::json;

double entry_of(const json& tensor, const json& index) {
  const json* data = &tensor["data"];
  for (const auto& place : index) data = &data->at(place.get<std::size_t>());
  if (data->is_boolean()) return data->get<bool>() ? 1.0 : 0.0;
  if (data->is_string()) return *data == "-Infinity" ? -INFINITY : NAN;
  return data->get<double>();
}

bool is_near(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

/// Evaluates the worked entries of a run, whose operands may be entries of what is shown later. Returns the
/// ids of the steps that have one; those that have none are added to `missing`.
std::set<std::string> check_worked(const std::string& arguments, double tolerance,
                                   std::set<std::string>* missing = nullptr) {
  std::map<std::string, json> tensors;
  std::set<std::string> worked;
  const auto trace = json::parse(output_of(arguments + " --format json"));
  for (const auto& event : trace["events"])
    if (event.contains("data")) tensors[event["id"]] = event;
  for (const auto& event : trace["events"]) {
    if (!event.contains("worked")) {
      if (event["kind"] == "step" && missing != nullptr) missing->insert(event["id"]);
      continue;
    }
    const auto& entry = event["worked"];
    INFO("attnlab " << arguments << ": " << event["id"] << entry["index"] << " = " << entry["expression"]);
    const auto evaluated = evaluate(entry["expression"]);
    CHECK(is_near(evaluated.value, entry["value"], 1e-12));
    CHECK(is_near(entry_of(event, entry["index"]), entry["value"], tolerance));
    auto number = evaluated.numbers.begin();
    for (const auto& operand : entry["operands"]) {
      REQUIRE(tensors.count(operand[0]) == 1);
      const double value = entry_of(tensors[operand[0]], operand[1]);
      number = std::find_if(number, evaluated.numbers.end(),
                            [&](double x) { return is_near(x, value, tolerance > 1e-12 ? tolerance : 0.0); });
      CHECK(number != evaluated.numbers.end());
      if (number != evaluated.numbers.end()) ++number;
    }
    worked.insert(event["id"]);
  }
  return worked;
}

}  // namespace

TEST_CASE("each worked entry evaluates to the tensor's entry, and its operands are entries of the run",
          "[thorough]") {
  for (const auto& lesson : lessons()) {
    check_worked(lesson, 1e-12);
    check_worked(lesson + with_sentence(lesson, "Word"), 1e-12);
    check_worked(lesson + with_sentence(lesson, "one two three four five six seven eight nine ten"), 1e-12);
    const auto batch = lesson + with_sentence(lesson, "I love cats") + with_sentence(lesson, "Sleep");
    if (run(batch).status == 0) check_worked(batch, 1e-12);
    if (takes(lesson, "--causal")) check_worked(lesson + " --causal", 1e-12);
    if (takes(lesson, "--dropout")) check_worked(lesson + " --dropout 0.3", 1e-12);
    if (takes(lesson, "--temperature")) check_worked(lesson + " --temperature 0.01", 1e-12);
    if (takes(lesson, "--dtype")) check_worked(lesson + " --dtype float32", 1e-5);
  }
  check_worked("multihead --heads 4 --kv-heads 2 --residual --norm --causal", 1e-12);
  check_worked("cross-attention --heads 2", 1e-12);
  check_worked("transformer-block --activation gelu --norm pre --memory 'a b'", 1e-12);
  const std::string words = " --sentence 'one two three four five six seven eight nine ten'";
  for (const std::string options :
       {"--causal --heads 4 --d-k 8 --d-v 8 --kv-heads 2 --block 3", "--pattern fixed",
        "--pattern fixed --causal", "--pattern random --features 3 --rank 3"})
    check_worked("efficient " + options + words, 1e-12);
  for (const std::string options :
       {"--order zigzag --causal --ranks 3", "--order striped --window 1 --heads 2",
        "--way heads --heads 4 --ranks 2 --causal"})
    check_worked("ring " + options + words, 1e-12);
  check_worked("positional --pairing halves" + words, 1e-12);
  check_worked("generate --layers 2 --heads 4 --kv-heads 2", 1e-12);
  check_worked("patterns --heads 2 --causal --sentence 'I love cats' --sentence Sleep", 1e-12);
  for (const std::string lengths : {"1,2,3", "5,7,9", "10,11,13"})
    check_worked("complexity --window 3 --block 3 --d-model 6 --lengths " + lengths, 1e-12);
}

TEST_CASE("every step of a recurrence is worked out, with every attention and in both directions") {
  for (const std::string attention :
       {"bahdanau", "bahdanau-input", "luong-dot", "luong-general", "luong-concat", "multihead"})
    for (const std::string options :
         {"", " --source Word",
          " --bidirectional --source 'a b c' --source 'd e' --target x --target 'y z w'"}) {
      std::set<std::string> missing;
      check_worked("seq2seq --attention " + attention + options, 1e-12, &missing);
      const bool writes_itself =
          options == " --source Word";  // and reads what it wrote: no formula says that
      CHECK(missing == (writes_itself ? std::set<std::string>{"X_target"} : std::set<std::string>{}));
    }
  const auto first_and_second = output_of(
      "seq2seq --source 'i love cats' --target 'chats' --model none --explain 'encoder/c[0,1]' --explain "
      "'encoder/c[1,1]'");
  CHECK_THAT(first_and_second, Contains("= encoder/i[i, 1] · encoder/g[i, 1]\n"));
  CHECK_THAT(first_and_second, Contains("encoder/f[love, 1] · encoder/c[i, 1]"));
}

/// Steps whose entries follow from numbers that are not shown, from chance or from a search, and those that
/// are rounded to a format that is not the run's.
TEST_CASE("no step but these is without a worked entry", "[thorough]") {
  const std::map<std::string, std::set<std::string>> without = {
      {"scaling",
       {"mean", "variance", "entropy_raw", "entropy_scaled", "max_weight_raw", "max_weight_scaled",
        "jacobian_raw", "jacobian_scaled", "example/scores"}},
      {"generate", {"full/logits"}},
      {"patterns", {"models/measures"}},
      {"seq2seq", {"decoder/scores", "other_query/weights"}},
      {"efficient", {"comparison/costs", "comparison/errors"}},
      {"efficient --variant sparse --pattern random",
       {"sparse/mask", "comparison/costs", "comparison/errors"}},
      {"stability",
       {"float16/fill=-1e9/masked", "float16/fill=-1e9/weights", "float16/added/masked",
        "float16/added/weights"}},
      {"training",
       {"loss",
        "losses",
        "gradient_norm",
        "first_step/d_W_out",
        "first_step/norm",
        "midway/E",
        "midway/P",
        "midway/W_Q",
        "midway/W_K",
        "midway/W_V",
        "midway/W_out",
        "after/E",
        "after/P",
        "after/W_Q",
        "after/W_K",
        "after/W_V",
        "after/W_out",
        "initialisation/xavier/variance",
        "initialisation/xavier/standard_error",
        "initialisation/he/variance",
        "initialisation/0.02/variance",
        "initialisation/relu/xavier/variance",
        "initialisation/relu/he/variance",
        "initialisation/score_std",
        "initialisation/entropy",
        "right"}},
      {"complexity",
       {"recurrence/crossing", "convolution/crossing", "local/crossing", "sliding/crossing",
        "sparse/crossing", "linear/crossing", "linear/causal/crossing", "linformer/crossing",
        "performer/crossing"}},
  };
  auto runs = lessons();
  for (const std::string run : {"efficient --variant sparse --pattern random", "cross-attention --heads 2",
                                "multihead --residual --norm --dropout 0.2 --kv-heads 1",
                                "transformer-block --norm pre --memory 'a b'", "patterns --heads 2"})
    runs.push_back(run);
  for (const auto& run : runs) {
    std::set<std::string> missing;
    check_worked(run, 1e-12, &missing);
    INFO("attnlab " << run);
    CHECK(missing == (without.count(run) > 0 ? without.at(run) : std::set<std::string>{}));
  }
}

TEST_CASE("attention is worked out from the projections to the output") {
  const auto has = [](const std::string& lesson, const std::vector<std::string>& ids) {
    const auto worked = check_worked(lesson, 1e-12);
    for (const auto& id : ids) {
      INFO(lesson << ": " << id);
      CHECK(worked.count(id) == 1);
    }
  };
  has("lookup", {"scores", "temperature=1/weights", "temperature=0.01/weights", "temperature=1/output"});
  has("sdpa --causal --dropout 0.2", {"scores", "scaled", "masked", "weights", "dropped", "output"});
  has("self-attention", {"Q", "K", "V", "scores", "scaled", "weights", "output"});
  has("multihead --residual --norm", {"Q_heads", "K_heads", "weights", "mean_weights", "heads", "concat",
                                      "output", "residual", "normalized"});
  has("masking", {"causal_mask", "causal/masked", "causal/weights", "padding/output"});
  has("scoring", {"dot/scores", "additive/hidden", "additive/scores", "concat/weights", "general/context"});
  has("transformer-block",
      {"attention/scores", "residual_1", "norm_1", "ffn/hidden", "ffn/output", "output"});
  has("classifier", {"attention/weights", "pooled", "logits", "probabilities"});
  has("backward", {"d_V", "d_weights", "d_scaled", "d_scores", "d_Q", "d_K"});
}

TEST_CASE("an entry is explained by its tokens or by its place") {
  const std::string sentence = "self-attention --sentence 'the cat sat on the mat' ";
  const auto by_tokens = output_of(sentence + "--explain 'weights[sat, cat]'");
  CHECK_THAT(by_tokens, Contains("weights[sat, cat] = softmax(scaled)\n"));
  CHECK_THAT(by_tokens, Contains("exp(scaled[sat, the#1])"));
  CHECK(by_tokens == output_of(sentence + "--explain weights[2,1]"));
  CHECK(by_tokens == output_of(sentence + "--explain 'weights[#2, #1]'"));
  CHECK(output_of(sentence + "--explain Q[the#2,0]") == output_of(sentence + "--explain Q[4,0]"));
  const auto both = output_of(sentence + "--explain Q[0,0] --explain X[cat,1]");
  CHECK_THAT(both, Contains("Q[the#1, 0] = X W_Q\n") && Contains("X[cat, 1] = ") &&
                       Contains("an input of this run"));
}

TEST_CASE("of a long sum the ends are explained, and all terms where all are asked for") {
  const std::string entry = "sdpa --model none --d-k 64 --explain scores[0,0]";
  const auto ends = output_of(entry), all = output_of(entry + " --full");
  CHECK(contains(ends, "Q[girls, 0] · K[girls, 0]"));
  CHECK(contains(ends, "…"));
  CHECK_FALSE(contains(ends, "Q[girls, 32]"));
  CHECK_FALSE(contains(all, "…"));
  CHECK(contains(all, "Q[girls, 32]"));
}

TEST_CASE("of a weight and a score that a mask hides it is said that the mask hides the key") {
  const std::string why = "  = 0: the mask hides this key. Its score is −∞, and exp(−∞) = 0.\n";
  const auto said =
      output_of("sdpa --causal --sentence 'a b c' --explain weights[0,1] --explain masked[0,1]");
  CHECK(contains(said, "weights[a, b] = softmax(masked)\n" + why));
  CHECK(contains(said, "\n  = −∞: the mask hides this key\n"));
  CHECK(contains(output_of("multihead --causal --sentence 'a b c' --explain weights[1,0,1]"), why));
}

TEST_CASE("a token that looks like an index is explained by its place") {
  const std::string sentence = "self-attention --sentence '0 1 2 2' --explain ";
  CHECK_THAT(output_of(sentence + "weights[0,1]"), StartsWith("weights[#0, #1] = "));
  CHECK_THAT(output_of(sentence + "weights[#2,3]"), StartsWith("weights[#2, #3] = "));
  CHECK_THAT(run(sentence + "weights[2,0]").err, Contains("“2” names 2 places along query; valid: #2, #3\n"));
  const auto shifted = run("self-attention --sentence '1 2 3' --explain weights[1,0]");
  CHECK_THAT(shifted.err, Contains("“1” names 2 places along query; valid: #0, #1\n"));
}

TEST_CASE("what cannot be explained is refused with what could be") {
  const auto refused = [](const std::string& arguments, const std::vector<std::string>& said) {
    const auto result = run(arguments);
    INFO("attnlab " << arguments << '\n' << result.err);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    for (const auto& part : said) CHECK_THAT(result.err, Contains(part));
  };
  const std::string sentence = "self-attention --sentence 'the cat sat on the mat' ";
  refused(sentence + "--explain weights[the,cat]",
          {"“the” names 2 places along query; valid: the#1, the#2\n"});
  refused(sentence + "--explain weights[6,0]", {"“6”", "valid: 0 to 5"});
  refused(sentence + "--explain weights[dog,0]", {"“dog”", "cat"});
  refused(sentence + "--explain weights[cat]", {"names 1 places", "query, key"});
  refused(sentence + "--explain wheights[0,0]", {"wheights", "valid: ", "weights"});
  refused(sentence + "--explain weights[0,0", {"valid: ID[row, column]"});
  refused(sentence + "--explain weights[0,0] --format json", {"--format text"});
  refused("tour --explain weights[0,0]", {"--explain"});
}
