/// Attention as a dictionary that always answers: it returns a mixture of values, and as its temperature goes
/// to 0 it becomes an ordinary dictionary.
/// Sources: Vaswani et al. 2017, "Attention Is All You Need", section 3.2, for queries, keys and values;
/// Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", section 2, for the temperature.

#include "attn/ops/lookup.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

struct Temperature {
  double value;
  std::string weights_title, weights_note;
  std::string output_title, output_note;
};

const std::array<Temperature, 3> temperatures = {{
    {1.0, "A soft lookup, T = 1: every key gets a share",
     "softmax(x)ⱼ = exp(xⱼ) / Σ exp(x): each share is between 0 and 1 and together they are 1. A key that "
     "scores 1 more than another gets e ≈ 2.7 times its share.",
     "The answer at T = 1: a mixture of all values",
     "Each value counts as much as its key's share. A mixture need not be near any single value."},
    {0.1, "A colder lookup, T = 0.1: the better keys get more",
     "Dividing by 0.1 makes every difference between two scores ten times as large. A key that scores 1 more "
     "than another now gets e¹⁰ ≈ 22026 times its share.",
     "The answer at T = 0.1: the same values in other shares",
     "Scores and values are as before. Only the temperature has changed."},
    {0.01, "A colder lookup still, T = 0.01: nearly hard",
     "Now a lead of 0.1 is enough for a factor of e¹⁰. Only keys that score almost the same still share.",
     "The answer at T = 0.01: nearly that of a hard lookup",
     "Compare this with the rows of values: which one is it?"},
}};

/// What "hard" means, and which key the hard lookup takes here, unless rounding could decide it.
void explain_hard_lookup(Workbench& bench, const Tensor<1>& scores, const attn::HardLookup& hard) {
  const auto& tokens = bench.plan.sentence.tokens[0];
  const auto best = hard.keys[0];
  const bool has_winner =
      hard.keys.size() == 1 && hard.gap > rounding(bench.trace, attn::max_abs(scores)).bound;
  std::string taken =
      "Here the best keys score the same but for rounding, and none of them is the clear winner.";
  if (tokens.size() == 1) taken = "Here there is only one key, so a soft lookup takes the same.";
  if (tokens.size() > 1 && has_winner)
    taken =
        fmt::format("Here that is the value of “{}”, key {} of {}.", tokens[best], best + 1, tokens.size());
  bench.trace.note(
      "hard-and-soft", "Hard and soft",
      "A hard lookup, like a dictionary's, takes a single value: that of the key with the best score. " +
          taken +
          " Hard means all or nothing: change the query a little and the answer either stays exactly the "
          "same or jumps to another value. Training needs to know which small change makes the answer a "
          "little better, and here there is none. A soft lookup gives every key a share that grows with its "
          "score. Its answer moves smoothly with the query, the keys and the values, so all three can be "
          "trained. The temperature T says how soft it is: as T grows the shares become equal, as T goes to "
          "0 the lookup becomes hard.",
      "weights = softmax(scores / T)");
}

/// The share that these keys have together.
double share_of(const std::vector<std::size_t>& keys, const Tensor<1>& weights) {
  double share = 0.0;
  for (const auto key : keys) share += static_cast<double>(weights(key));
  return share;
}

/// `shares` are the weights at each temperature, from warm to cold.
void claim_shares(Workbench& bench, const std::vector<Tensor<1>>& shares, const Tensor<1>& scores,
                  const attn::HardLookup& hard) {
  double sum_deviation = 0.0, loss = 0.0, share_before = 0.0;
  for (const auto& weights : shares) {
    const double share = share_of(hard.keys, weights);
    sum_deviation = attn::maximum({sum_deviation, attn::row_sum_deviation(weights)});
    loss = attn::maximum({loss, share_before - share});
    share_before = share;
  }
  bench.trace.claim({.id = "weights-sum-to-1",
                     .claim = "the weights sum to 1 at every temperature",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = sum_deviation,
                     .limit = rounding(bench.trace)});
  bench.trace.claim(
      {.id = "colder-is-harder",
       .claim = "a colder lookup never gives the best key a smaller share",
       .formula = "max(0, share at T=1 − share at T=0.1, share at T=0.1 − share at T=0.01)",
       .value = loss,
       .limit = rounding(bench.trace, attn::max_abs(scores)),
       .note = "This is said of the share, not of the answer, which may make a detour: a mixture of all "
               "values can happen to lie nearer to the best key's value than a mixture of two."});
}

/// Looks up once more, far colder than the gap between the two best scores is wide. Subtracting the best
/// score first changes no weight and keeps a narrow gap exact.
void claim_hard_limit(Workbench& bench, const Tensor<1>& scores, const Tensor<2>& values,
                      const attn::HardLookup& hard) {
  const bool has_second_best = std::isfinite(hard.gap);
  const double temperature = has_second_best ? hard.gap / 50.0 : 1.0;
  const auto weights = attn::softmax(attn::divide(attn::shift(scores, -hard.best_score), temperature));
  bench.trace.claim(
      {.id = "hard-limit",
       .claim = "as T → 0 the soft lookup becomes the dictionary's hard lookup",
       .formula = hard.keys.size() == 1
                      ? "max |softmax(scores / T) · values − value of the best key|"
                      : "max |softmax(scores / T) · values − mean of the best keys' values|",
       .value = attn::max_abs_difference(attn::matmul(weights, values), hard.output),
       .limit = rounding(bench.trace, attn::max_abs(values)),
       .note = has_second_best
                   ? "Measured at T = (best score − second best) / 50. There the second best key gets e⁻⁵⁰ ≈ "
                     "2·10⁻²² times the share of the best one, too little to change a digit."
                   : "No key scores less than another, so every T gives this answer. Measured at T = 1."});
}

void run_lookup(Workbench& bench) {
  auto& trace = bench.trace;
  bench.label({"key"}, bench.plan.sentence);

  trace.note(
      "idea", "The idea",
      "A dictionary holds keys and their values. Ask it with a query: if a key equals the query, you get "
      "that key's value, and otherwise you get nothing. Attention is a dictionary that always has an answer. "
      "It compares the query with every key and returns a mixture of all the values, in which a value counts "
      "for more the better its key matches. Query, keys and values are drawn at random here and the tokens "
      "only name the keys, so watch the mechanism, not which word is found.",
      "output = Σⱼ weightⱼ · valueⱼ");

  const auto query = bench.input<1>({.id = "query",
                                     .title = "What we ask for",
                                     .note = "A query is as long as a key, so that they can be compared."});
  const auto keys =
      bench.input<2>({.id = "keys",
                      .title = "What each entry can be found by",
                      .note = "One row a key. An ordinary dictionary would answer only if one of "
                              "them were equal to the query in every number."});
  const auto values =
      bench.input<2>({.id = "values",
                      .title = "What each entry holds",
                      .note = "One row a key: the value that belongs to it. Its length d_v is free."});

  const auto scores =
      trace.step({.id = "scores",
                  .title = "How well does the query match each key?",
                  .formula = "keys · query",
                  .from = {"keys", "query"},
                  .axes = {"key"},
                  .note = "One dot product a key: large where the two vectors are long and point the same "
                          "way. The scores are not divided by √d_k as in the lesson sdpa; that division is "
                          "nothing else than the temperature T = √d_k.",
                  .worked = attn::worked_matmul(attn::Known{"keys", keys}, attn::Known{"query", query})},
                 attn::matmul(keys, query));

  const auto hard = attn::hard_lookup(scores, values);
  explain_hard_lookup(bench, scores, hard);

  std::vector<Tensor<1>> shares;
  for (const auto& temperature : temperatures) {
    const auto group = fmt::format("temperature={:g}", temperature.value);
    const auto weights =
        trace.step({.id = group + "/weights",
                    .title = temperature.weights_title,
                    .formula = fmt::format("softmax(scores / {:g})", temperature.value),
                    .from = {"scores"},
                    .axes = {"key"},
                    .note = temperature.weights_note,
                    .distribution = true,
                    .worked = attn::worked_softmax(attn::Known{"scores", scores}, temperature.value)},
                   attn::softmax(attn::divide(scores, temperature.value)));
    trace.step({.id = group + "/output",
                .title = temperature.output_title,
                .formula = "weights · values",
                .from = {group + "/weights", "values"},
                .axes = {"d_v"},
                .note = temperature.output_note,
                .worked = attn::worked_matmul(attn::Known{group + "/weights", weights},
                                              attn::Known{"values", values})},
               attn::matmul(weights, values));
    shares.push_back(weights);
  }

  claim_shares(bench, shares, scores, hard);
  claim_hard_limit(bench, scores, values, hard);
}

std::vector<Input> lookup_inputs(const Options&) {
  return {{"query", {"d_k"}}, {"keys", {"key", "d_k"}}, {"values", {"key", "d_v"}}};
}

}  // namespace

extern const Lesson lookup;
const Lesson lookup = {
    .name = "lookup",
    .title = "attention as a dictionary that always answers",
    .teaches =
        "What a query, a key and a value are. An ordinary dictionary returns one value or nothing; attention "
        "returns a mixture of all values, and its temperature says how much of one. The lesson lowers the "
        "temperature until the mixture is the value of the single best key.",
    .options = {"sentence", "d-k", "d-v", "seed", "rng", "draws", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"the cat sat on the mat"}, .d_k = 8, .d_v = 8},
    .examples = {"lookup --sentence \"the cat sat\" --d-k 4 --d-v 3", "lookup --seed 2"},
    .inputs = lookup_inputs,
    .run = run_lookup,
};

}  // namespace lessons
