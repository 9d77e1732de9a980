/// Attention as a dictionary that always answers: it returns a mixture of values, and as its temperature goes
/// to 0 it becomes an ordinary dictionary.
/// Sources: Vaswani et al. 2017, "Attention Is All You Need", section 3.2, for queries, keys and values;
/// Hinton et al. 2015, "Distilling the Knowledge in a Neural Network", section 2, for the temperature.

#include "attn/ops/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/python/python.hpp"

namespace lessons {

namespace {

struct Temperature {
  double value;
  std::string weights_title, weights_note;
  std::string output_title, output_note;
};

const std::array<Temperature, 3> temperatures = {{
    {1.0, "Every key gets a share",
     "softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ): each share is between 0 and 1 and together they are 1. A key that "
     "scores 1 more than another gets e ≈ 2.7 times its share.",
     "A mixture of all values",
     "Each value counts as much as its key's share. One more word would add a row to keys and values: the "
     "old scores would stay, the old shares get smaller."},
    {0.1, "At T = 0.1 the better keys get more",
     "Dividing by 0.1 makes every difference between two scores ten times as large. A key that scores 1 more "
     "than another now gets e¹⁰ ≈ 22026 times its share.",
     "The answer at T = 0.1: the same values in other shares",
     "Scores and values are as before. Only the temperature has changed."},
    {0.01, "At T = 0.01 the lookup is nearly hard",
     "Now a lead of 0.1 is enough for a factor of e¹⁰. Only keys that score almost the same still share.",
     "The answer at T = 0.01: nearly that of a hard lookup",
     "Compare this with the rows of values: which one is it?"},
}};

/// What comes of the scores at one temperature.
struct SoftLookup {
  Tensor<1> weights;  ///< [key]
  Tensor<1> output;   ///< [d_v]
};

/// The share that these keys have together.
double share_of(const std::vector<std::size_t>& keys, const Tensor<1>& weights) {
  double share = 0.0;
  for (const auto key : keys) share += static_cast<double>(weights(key));
  return share;
}

/// Whether one key is best by more than rounding could decide.
bool has_winner(const Workbench& bench, const Tensor<1>& scores, const attn::HardLookup& hard) {
  return hard.keys.size() == 1 && hard.gap > rounding(bench.trace, attn::max_abs(scores)).bound;
}

/// A row a key with its score and its shares, then a row for each number of the answer; a column a
/// temperature, and one for the hard lookup where it has a clear winner.
std::string temperature_table(Workbench& bench, const Tensor<1>& scores, const Tensor<2>& values,
                              const std::vector<SoftLookup>& lookups, const attn::HardLookup& hard) {
  constexpr std::size_t most_keys = 12, most_numbers = 6;
  const auto& tokens = bench.plan.sentence.tokens[0];
  const bool shows_hard = has_winner(bench, scores, hard);
  const auto number = [](double x) { return fmt::format("{:.4f}", x == 0.0 ? 0.0 : x); };

  std::vector<std::vector<std::string>> rows = {{"", "score"}};
  for (const auto& temperature : temperatures) rows[0].push_back(fmt::format("T = {:g}", temperature.value));
  if (shows_hard) rows[0].emplace_back("hard");
  const auto add_row = [&](const std::vector<std::string>& start, auto number_of,
                           const std::string& of_hard) {
    rows.push_back(start);
    for (const auto& lookup : lookups) rows.back().push_back(number(number_of(lookup)));
    if (shows_hard) rows.back().push_back(of_hard);
  };
  for (const auto& key : places_shown(tokens.size(), most_keys)) {
    if (!key) {
      rows.push_back({"…"});
      continue;
    }
    add_row(
        {"share of " + as_row_name(tokens[*key]), number(scores(*key))},
        [&](const SoftLookup& lookup) { return static_cast<double>(lookup.weights(*key)); },
        *key == hard.keys[0] ? "1" : "0");
  }
  for (const auto& place : places_shown(values.shape(1), most_numbers)) {
    if (!place) {
      rows.push_back({"…"});
      continue;
    }
    add_row(
        {fmt::format("output[{}]", *place), ""},
        [&](const SoftLookup& lookup) { return static_cast<double>(lookup.output(*place)); },
        number(hard.output(*place)));
  }
  return in_columns(rows);
}

/// What the temperature does, and which key the hard lookup takes here, unless rounding could decide it.
void explain_hard_lookup(Workbench& bench, const Tensor<1>& scores, const Tensor<2>& values,
                         const std::vector<SoftLookup>& lookups, const attn::HardLookup& hard) {
  const auto& tokens = bench.plan.sentence.tokens[0];
  std::string taken = "Here the best keys score the same but for rounding, so none of them wins.";
  if (tokens.size() == 1) taken = "Here there is only one key, so every T gives its value.";
  if (tokens.size() > 1 && has_winner(bench, scores, hard))
    taken = fmt::format("Here that is the value of \"{}\".", tokens[hard.keys[0]]);
  bench.trace.note("hard-and-soft", "The temperature T: from soft to hard",
                   "A small T makes every lead larger: a lead of 50 T gives e⁵⁰ ≈ 5·10²¹ times the share. As "
                   "T goes to 0 the lookup becomes hard: like a dictionary it returns one value. " +
                       taken +
                       " A soft answer changes a little with the query. A hard one stays until another key "
                       "wins: its derivative is 0 or undefined, so training learns nothing from it.",
                   temperature_table(bench, scores, values, lookups, hard));
}

/// `lookups` go from warm to cold.
void claim_shares(Workbench& bench, const std::vector<SoftLookup>& lookups, const Tensor<1>& scores,
                  const attn::HardLookup& hard) {
  double sum_deviation = 0.0, loss = 0.0, share_before = 0.0;
  for (const auto& [weights, output] : lookups) {
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
       .claim = "the best key never loses share as T falls",
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
       .claim = has_second_best ? fmt::format("at T = {:.3g} / 50 the output is the hard lookup's", hard.gap)
                                : std::string("at every T the output is the hard lookup's"),
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

/// Which key matches best, and how its share compares with that of the next one; nothing where two may be the
/// same but for rounding.
std::string best_shares(const attn::Event& weights) {
  const auto& tensor = *weights.tensor;
  const auto keys = tensor.shape[0];
  if (keys < 2) return "The only key gets everything.";
  std::vector<std::size_t> order(keys);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + 2, order.end(),
                    [&](std::size_t a, std::size_t b) { return tensor.at(a) > tensor.at(b); });
  const auto best = order[0], next = order[1];
  const double ratio = tensor.at(best) / tensor.at(next);
  const auto rule = std::string(
      "The name temperature=1/weights means the weights at T = 1. There, a key that scores x more than "
      "another gets exp(x) times its share");
  if (!(ratio > 1.05) || !std::isfinite(ratio)) return rule + ".";
  return fmt::format("{}: \"{}\" scores {:.3f} more than \"{}\", and exp({:.3f}) ≈ {:.3g}.", rule,
                     name_along(weights, 0, best), std::log(ratio), name_along(weights, 0, next),
                     std::log(ratio), ratio);
}

/// Colours on a wheel. A key is the direction of its hue, red to the right and the others every 60 degrees; a
/// value is what the colour has of red, green and blue. The query is four long and points between red and
/// yellow.
attn::Model colours() {
  return {.task = "colours",
          .configuration = {},
          .vocabularies = {{"words", {"red", "yellow", "green", "cyan", "blue", "magenta"}}},
          .scores = {},
          .command = "",
          .tensors = {{"query", {2}, {3.7, 1.5}},
                      {"keys", {6, 2}, {1, 0, 0.5, 0.87, -0.5, 0.87, -1, 0, -0.5, -0.87, 0.5, -0.87}},
                      {"values", {6, 3}, {1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1}}},
          .training = {}};
}

void give_colours(ModelInputs& inputs) {
  if (inputs.sentence().size() != 1) return;  // is refused later
  inputs.give("query", inputs.vector("query"));
  for (const std::string id : {"keys", "values"})
    inputs.give_rows(id, inputs.rows(id, "words", inputs.sentence()));
}

bool has_own_query(const Options& options) {
  return !options.set.empty();
}

/// What the numbers mean.
std::string about_numbers(const Workbench& bench) {
  if (!bench.options.model) return "Numbers are random, words only name the entries.";
  return std::string(
             "Here the entries are colours. A key is a colour's direction on the colour wheel and has length "
             "1. A value is its red, green and blue. ") +
         (has_own_query(bench.options)
              ? "The query is the one that was set."
              : "The query points between red and yellow; its length, 4, makes the shares differ clearly.");
}

/// What the answer is, where it means something.
std::string about_answer(const attn::Event&) {
  return "This is red and yellow, mixed: an orange that no entry holds. One more colour adds a row to keys "
         "and values. Old scores stay, old shares shrink.";
}

std::vector<std::string> lookup_flow(Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto query = fmt::format("query [{}]", bench.d_k()),
             keys = fmt::format("keys [{}×{}]", n, bench.d_k()),
             values = fmt::format("values [{}×{}]", n, bench.d_v());
  const auto left = std::max({query.size(), attn::display_width(keys), attn::display_width(values)}) + 1;
  const auto middle = fmt::format("┴ scores [{0}] → / T → softmax → weights [{0}] ", n);
  std::string line;
  for (auto i = attn::display_width(values) + 1; i < left + attn::display_width(middle); ++i) line += "─";
  return {attn::pad_right(query, left) + "┐", attn::pad_right(keys, left) + middle + "┐",
          fmt::format("{} {}┴ output [{}]", values, line, bench.d_v())};
}

std::vector<std::string> lookup_code() {
  auto lines = softmax_code();
  lines.insert(lines.end(), {"scores = keys @ query", "temperature_1_weights = softmax(scores / 1)  # T = 1",
                             "temperature_1_output  = temperature_1_weights @ values"});
  return lines;
}

std::vector<std::string> colder_code(double temperature) {
  const auto group = attn::python_name(fmt::format("temperature={:g}", temperature));
  return {fmt::format("{}_weights = softmax(scores / {:g})", group, temperature),
          fmt::format("{0}_output  = {0}_weights @ values", group)};
}

SoftLookup look_up(attn::Trace& trace, const Temperature& temperature, const Tensor<1>& scores,
                   const Tensor<2>& values) {
  const auto weights_id = fmt::format("temperature={:g}/weights", temperature.value);
  auto weights =
      trace.step({.id = weights_id,
                  .title = temperature.weights_title,
                  .formula = fmt::format("softmax(scores / {:g})", temperature.value),
                  .from = {"scores"},
                  .axes = {"key"},
                  .note = temperature.weights_note,
                  .distribution = true,
                  .worked = attn::worked_softmax(attn::Known{"scores", scores}, temperature.value)},
                 attn::softmax(attn::divide(scores, temperature.value)));
  auto output = trace.step(
      {.id = fmt::format("temperature={:g}/output", temperature.value),
       .title = temperature.output_title,
       .formula = "weights · values",
       .from = {weights_id, "values"},
       .axes = {"d_v"},
       .note = temperature.output_note,
       .worked = attn::worked_matmul(attn::Known{weights_id, weights}, attn::Known{"values", values})},
      attn::matmul(weights, values));
  return {std::move(weights), std::move(output)};
}

void run_lookup(Workbench& bench) {
  auto& trace = bench.trace;
  bench.label({"key"}, bench.plan.sentence);
  trace.page({{"query"},
              {"keys"},
              {"values"},
              {"scores"},
              {"temperature=1/weights", best_shares},
              bench.options.model && bench.options.sentence == bench.plan.lesson->defaults.sentence &&
                      !has_own_query(bench.options)
                  ? attn::OnPage{"temperature=1/output", about_answer}
                  : attn::OnPage{"temperature=1/output"},
              {"hard-and-soft"}});
  bench.idea(
      "An ordinary dictionary holds keys and their values. Ask for a key that it has and you get its value; "
      "ask for any other and you get nothing.\nAttention always answers. It compares what you ask for, the "
      "query, with every key. It returns a mixture of all values. Better matches count more.\n" +
          about_numbers(bench) +
          " Printed numbers are rounded, so a sum by hand may differ in the last digit.",
      "scores = keys · query,   weights = softmax(scores / T),   T: temperature\n"
      "softmax(x)ⱼ = exp(xⱼ) / Σᵢ exp(xᵢ),   output = Σⱼ weightsⱼ · valuesⱼ");
  bench.flow(lookup_flow(bench));
  bench.code(lookup_code());

  const auto query =
      bench.input<1>({.id = "query", .title = "What we ask for: d_k numbers, as many as in a key"});
  const auto keys = bench.input<2>({.id = "keys", .title = "What each entry can be found by"});
  const auto values = bench.input<2>({.id = "values", .title = "What each entry holds: d_v numbers"});

  const auto scores = trace.step(
      {.id = "scores",
       .title = "How well does the query match each key?",
       .formula = "keys · query",
       .from = {"keys", "query"},
       .axes = {"key"},
       .note = "Think of arrows: a dot product is the length of the query's arrow times the length of the "
               "key's arrow times the cosine of the angle between them.",
       .worked = attn::worked_matmul(attn::Known{"keys", keys}, attn::Known{"query", query})},
      attn::matmul(keys, query));

  std::vector<SoftLookup> lookups;
  for (const auto& temperature : temperatures) {
    lookups.push_back(look_up(trace, temperature, scores, values));
    if (temperature.value != 1.0)
      trace.within(fmt::format("temperature={:g}", temperature.value),
                   [&] { bench.code(colder_code(temperature.value)); });
  }
  const auto hard = attn::hard_lookup(scores, values);
  explain_hard_lookup(bench, scores, values, lookups, hard);

  claim_shares(bench, lookups, scores, hard);
  claim_hard_limit(bench, scores, values, hard);
  const auto& tokens = bench.plan.sentence.tokens[0];
  bench.try_next(
      {bench.options.model ? Proposal{"lookup --sentence \"blue green yellow\"", "without red, who answers?"}
                           : Proposal{"lookup --seed 2", "another query: does a key win as clearly?"},
       {fmt::format("lookup --explain 'temperature=0.1/weights[{}]'",
                    bench.options.model ? tokens[hard.keys[0]] : "red"),
        "worked at T = 0.1"},
       {"scoring", "other ways to score how well a query matches a key"}},
      {bench.options.model
           ? Proposal{"lookup --sentence \"cyan blue magenta\"", "all are far from the query: who answers?"}
           : Proposal{"lookup --seed 3", "another query: does a key win as clearly?"}});
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
    .options = {"sentence", "d-k", "d-v", "seed", "rng", "draws", "model", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"blue green yellow red"}, .d_k = 4, .d_v = 4},
    .examples = {"lookup --sentence \"the cat sat\" --d-k 4 --d-v 3", "lookup --seed 2"},
    .inputs = lookup_inputs,
    .trained =
        Trained{.task = "colours", .give = give_colours, .hand_made = colours, .replaceable = {"query"}},
    .worksheet = Worksheet{{.sentence = {"red green blue"}, .d_k = 2, .d_v = 2}},
    .run = run_lookup,
};

}  // namespace lessons
