/// What the page shows of a training: the task, one step worked out, the loss, the attention before, midway
/// and after, and what clipping, warm-up and dropout change.

#include "lessons/training/learning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "corpora/reverse.hpp"
#include "corpora/symbols.hpp"
#include "lessons/training.hpp"
#include "lessons/training/adam.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The sequence whose attention is shown, by its symbols: e c a g b d.
constexpr std::array<std::int64_t, positions_of_sequence> usual_sequence = {4, 2, 0, 6, 1, 3};

Integers<2> draw_sequences(attn::Random& random, std::size_t count) {
  auto sequences = Integers<2>::from_shape({count, positions_of_sequence});
  for (std::size_t s = 0; s < count; ++s) {
    const auto drawn = corpora::draw_reverse_of_length(random, positions_of_sequence, symbol_count).source;
    std::copy(drawn.begin(), drawn.end(), &sequences(s, 0));
  }
  return sequences;
}

void require_symbols(const attn::Trace& trace, const std::string& id, const Integers<2>& symbols) {
  for (const auto symbol : symbols)
    if (symbol < 0 || symbol >= static_cast<std::int64_t>(symbol_count))
      throw attn::Error(fmt::format("{} has the symbol {}; valid: 0 to {}", trace.given_name(id), symbol,
                                    symbol_count - 1));
}

Integers<2> input_sequences(Workbench& bench, const std::string& id, const std::string& title,
                            std::size_t count) {
  auto sequences = bench.trace.input({.id = id,
                                      .title = title,
                                      .axes = {"sequence", "position"},
                                      .note = "A symbol is a number from 0, for a, to 6, for g."},
                                     draw_sequences(bench.random(id), count));
  require_symbols(bench.trace, id, sequences);
  return sequences;
}

Integers<2> input_shown(Workbench& bench) {
  auto usual = Integers<1>::from_shape({positions_of_sequence});
  std::copy(usual_sequence.begin(), usual_sequence.end(), usual.begin());
  const auto shown = bench.trace.input(
      {.id = "shown", .title = "The sequence whose attention is shown", .axes = {"position"}}, usual);
  auto sequence = Integers<2>::from_shape({1, positions_of_sequence});
  std::copy(shown.begin(), shown.end(), sequence.begin());
  require_symbols(bench.trace, "shown", sequence);
  return sequence;
}

Parameters draw_parameters(Workbench& bench) {
  const auto d_model = bench.d_model();
  const auto weight = [&](const std::string& id, const std::string& title, std::size_t rows,
                          std::size_t columns) {
    return bench.input<2>({.id = id, .title = title}, {rows, columns});
  };
  Parameters start;
  start.E = weight("E", "A vector for each symbol", symbol_count, d_model);
  start.P = weight("P", "A vector for each position", positions_of_sequence, d_model);
  start.attention.W_Q = weight("W_Q", "Makes queries", d_model, d_k_of_model);
  start.attention.W_K = weight("W_K", "Makes keys", d_model, d_k_of_model);
  start.attention.W_V = weight("W_V", "Makes values", d_model, d_v_of_model);
  start.W_out = weight("W_out", "Makes a score for each symbol", d_v_of_model, symbol_count);
  return start;
}

std::vector<std::string> names_of(const Integers<2>& sequence) {
  const auto all = corpora::symbol_labels(symbol_count);
  std::vector<std::string> names;
  for (const auto symbol : sequence) names.push_back(all[static_cast<std::size_t>(symbol)]);
  return names;
}

std::vector<std::string> numbers_from_1(std::size_t count) {
  std::vector<std::string> numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers.push_back(fmt::format("{}", i));
  return numbers;
}

void show_parameters(attn::Trace& trace, const Parameters& parameters) {
  const auto line = [](const char* names, const Tensor<2>& x, const char* what) {
    return fmt::format("{:<15}{:<7}{}", names, fmt::format("{}×{}", x.shape(0), x.shape(1)), what);
  };
  const auto table =
      fmt::format("{}\n{}\n{}\n{}", line("E", parameters.E, "a vector for each symbol, a to g"),
                  line("P", parameters.P, "a vector for each of the six positions"),
                  line("W_Q, W_K, W_V", parameters.attention.W_Q, "each: make queries, keys, values"),
                  line("W_out", parameters.W_out, "makes a score for each symbol"));
  trace.note("parameters", fmt::format("What it learns: {} numbers", count_of(parameters)), "", table);
}

void show_flow(const Workbench& bench, const Parameters& parameters) {
  const auto count = count_of(parameters);
  const auto d_model = parameters.d_model();
  bench.flow(
      {fmt::format("symbols [6] → E + P → X [6×{}] → Q, K, V → weights [6×6] → output [6×8]", d_model),
       "  → W_out → probabilities [6×7] → loss: how wrong they are",
       fmt::format("  → backward → gradient [{0}] → clipping → Adam → {0} new numbers", count),
       fmt::format("E [7×{0}]: a vector for each symbol   P [6×{0}]: a vector for each place", d_model),
       fmt::format("W_Q, W_K, W_V [{0}×8], W_out [8×7]    all together: {1} parameters", d_model, count)});
}

void show_training_code(const Workbench& bench) {
  const auto& options = bench.options;
  bench.trace.within("model", [&] {
    auto lines = code_of_model();
    lines.insert(lines.end(),
                 {"", "row = np.concatenate([a.ravel() for a in (E, P, W_Q, W_K, W_V, W_out)])"});
    bench.code(lines);
  });
  bench.code({"# row: all parameters, one after another; loss_and_gradient(): see --all",
              "m, v, history = 0.0, 0.0, []", fmt::format("for step in range(1, {}):", training_steps + 1),
              fmt::format("    first = {} * (step - 1) % {}", sequences_of_batch, training_sequences),
              fmt::format("    x = examples[first:first + {}]", sequences_of_batch),
              "    loss, g = loss_and_gradient(row, x, x[:, ::-1])   # answer: x backwards",
              "    norm = np.sqrt(np.sum(g ** 2))", "    history.append((loss, norm, row))",
              fmt::format("    {:<48}  # clipping",
                          fmt::format("g = g * min(1, {} / (norm + 1e-6))", *options.max_norm)),
              "    m = 0.9 * m + 0.1 * g                             # mean of gradients",
              "    v = 0.98 * v + 0.02 * g ** 2                      # mean of squares",
              "    m_now = m / (1 - 0.9 ** step)                     # correction",
              "    v_now = v / (1 - 0.98 ** step)",
              fmt::format("    rate = {} ** -0.5 * min(step ** -0.5, step * {} ** -1.5)  # warmup: {}",
                          *options.d_model, *options.warmup, *options.warmup),
              "    row = row - rate * m_now / (np.sqrt(v_now) + 1e-9)"});
}

/// What the script reads off the training. In float16 most squares of the gradient are 0, which decides how
/// far Adam goes.
void show_code_of_results(const Workbench& bench) {
  const std::string rounded = bench.options.dtype == "float16" ? ".astype(np.float16).astype(float)" : "";
  bench.trace.within("results", [&] {
    bench.code(
        {"start, after, x = history[0][2], row, shown[None]",
         "loss = np.array([h[0] for h in history])",
         "norms = np.array([h[1] for h in history])",
         fmt::format("gradient_norm = np.array([norms, norms * np.minimum(1, {} / (norms + 1e-6))])",
                     *bench.options.max_norm),
         fmt::format("below = np.flatnonzero(loss < np.log({}) / 2)", symbol_count),
         "midway = history[below[0] if len(below) else -1][2]",
         "maps = [forward(each, x)[4][0] for each in (start, midway, after)]",
         "before_weights, midway_weights, after_weights = maps",
         "before_losses = losses_of(forward(start, x)[6], x[:, ::-1])[0]",
         "after_losses = losses_of(forward(after, x)[6], x[:, ::-1])[0]",
         "first_step_norm = history[0][1]",
         fmt::format("first_step_factor = min(1, {} / (first_step_norm + 1e-6))", *bench.options.max_norm),
         fmt::format("first = examples[:{}]", sequences_of_batch),
         "g = first_step_factor * loss_and_gradient(start, first, first[:, ::-1])[1]",
         "first_step_clipped = as_parameters(g)[-1]" + rounded,
         "first_step_m = 0.1 * first_step_clipped",
         "first_step_v = (0.02 * first_step_clipped ** 2)" + rounded,
         fmt::format("first_step_rate = {} ** -0.5 * min(1, {} ** -1.5)", *bench.options.d_model,
                     *bench.options.warmup),
         "m_now, v_now = first_step_m / (1 - 0.9), first_step_v / (1 - 0.98)",
         "first_step_updated = (W_out - first_step_rate * m_now / (np.sqrt(v_now) + 1e-9))" + rounded});
  });
}

/// What the model makes of the shown sequence; its parameters are those of the trace. Nothing is dropped out
/// where a model is used. Returns the weights of its attention.
Tensor<3> show_reading(const Workbench& bench, const Parameters& parameters, const Integers<2>& shown) {
  Plan plan = bench.plan;
  plan.options.dropout = 0.0;
  plan.options.model = "reverse";  // whose worked entries are those where a query looks
  Workbench in_use(plan, bench.trace);
  const auto reading = read_symbols(in_use, parameters, shown);
  const auto to_say = said_backwards(shown);
  bench.trace.label("query", {{names_of(to_say)}});
  mean_loss(in_use, cross_entropy(in_use, reading.probabilities, to_say));
  bench.trace.label("query", {{names_of(shown)}});
  return reading.attention.weights;
}

/// The same after some steps, whose parameters are new.
Tensor<3> show_later_reading(Workbench& bench, const std::string& group, const std::string& when,
                             const Parameters& parameters, const Integers<2>& shown) {
  const std::vector<std::vector<std::string>> axes = {{"symbol", "d_model"}, {"position", "d_model"},
                                                      {"d_model", "d_k"},    {"d_model", "d_k"},
                                                      {"d_model", "d_v"},    {"d_v", "symbol"}};
  auto& trace = bench.trace;
  return trace.within(group, [&] {
    auto now = parameters;
    for (std::size_t i = 0; i < axes.size(); ++i)
      *now.all()[i] = trace.step({.id = names_of_parameters()[i],
                                  .title = names_of_parameters()[i] + " " + when,
                                  .from = {names_of_parameters()[i], "examples"},
                                  .axes = axes[i]},
                                 *parameters.all()[i]);
    return show_reading(bench, now, shown);
  });
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100.0 * share);
}

std::size_t step_of_maximum(const Tensor<1>& curve) {
  return attn::argmax(curve.data(), curve.size()) + 1;
}

double maximum_of(const Tensor<1>& curve) {
  return *std::max_element(curve.begin(), curve.end());
}

bool is_half_learned(const Training& training) {
  return training.loss(training.halfway - 1) < 0.5 * loss_of_guessing();
}

/// "below half of guessing in step 27", or that it never is.
std::string when_half_learned(const Training& training) {
  return is_half_learned(training) ? fmt::format("below half of guessing in step {}", training.halfway)
                                   : std::string("never below half of guessing");
}

std::string note_of_loss(const Training& main) {
  return fmt::format("The mean loss of a batch: {:.4f} in step 1, {:.1e} in step {}.", main.loss(0),
                     main.loss(training_steps - 1), training_steps);
}

Tensor<1> show_loss_curve(attn::Trace& trace, const Training& main) {
  return trace.step(
      {.id = "loss",
       .title = "How wrong the model is, step by step",
       .formula = fmt::format("mean of −log(p of the right symbol), {} sequences", sequences_of_batch),
       .from = {"examples"},
       .axes = {"step"},
       .note = note_of_loss(main),
       .curve = true,
       .linear = true},
      main.loss);
}

Tensor<2> as_rows(const std::vector<Tensor<1>>& curves) {
  auto rows = Tensor<2>::from_shape({curves.size(), curves.front().size()});
  for (std::size_t i = 0; i < curves.size(); ++i) std::copy(curves[i].begin(), curves[i].end(), &rows(i, 0));
  return rows;
}

Tensor<2> show_norms(attn::Trace& trace, const Trainings& trainings) {
  const auto& main = trainings.front().training;
  const double max_norm = trainings.front().settings.max_norm;
  const auto longer = std::count_if(main.gradient_norm.begin(), main.gradient_norm.end(),
                                    [max_norm](double norm) { return norm > max_norm; });
  trace.label("gradient", {{{"as found", "clipped"}}});
  return trace.step({.id = "gradient_norm",
                     .title = "How long the gradient is, as found and as used",
                     .formula = "√(Σ g²), as found and clipped",
                     .from = {"examples"},
                     .axes = {"gradient", "step"},
                     .note = fmt::format("{} of {} gradients {} longer than {:g}{}; the longest, {:.4f}, "
                                         "came in step {}. Without clipping the longest is {:.4f}.",
                                         longer == 0 ? "None" : fmt::to_string(longer), training_steps,
                                         longer <= 1 ? "was" : "were", max_norm,
                                         longer == 0   ? ""
                                         : longer == 1 ? " and was cut to that"
                                                       : " and were cut to that",
                                         maximum_of(main.gradient_norm), step_of_maximum(main.gradient_norm),
                                         maximum_of(trainings[2].training.gradient_norm)),
                     .curve = true,
                     .linear = true},
                    as_rows({main.gradient_norm, main.clipped_norm}));
}

/// The largest difference of two curves up to a step.
double distance_until(std::size_t step, const Tensor<1>& a, const Tensor<1>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < step; ++i)
    if (a(i) != b(i)) largest = attn::maximum({largest, std::abs(a(i) - b(i))});
  return largest;
}

std::string note_of_losses(const Trainings& trainings) {
  const auto &main = trainings[0].training, &without_warmup = trainings[1].training;
  const auto d_model = static_cast<std::int64_t>(main.after.d_model());
  auto note = fmt::format(
      "All start alike; main has warm-up and clipping. “no clipping” is not drawn: up to step {} it is "
      "within {:.4f} of main. Main is {}, and ends at {:.1e}. Without warm-up step 1 moves each number by "
      "{}^−0.5 = {:.4f}: the loss goes to {:.4f}, and is {}.",
      main.halfway, distance_until(main.halfway, main.loss, trainings[2].training.loss),
      when_half_learned(main), main.loss(training_steps - 1), d_model, learning_rate(1, d_model, 1),
      without_warmup.loss(1), when_half_learned(without_warmup));
  if (const double p = trainings.back().settings.dropout; p > 0.0)
    note += fmt::format(
        " Dropout sets each attention weight to 0 with probability {0:g} in each step. Here each answer "
        "rests on one weight: where that is 0 the model guesses, and the loss stays near {0:g} · log {1} = "
        "{2:.4f}.",
        p, symbol_count, p * loss_of_guessing());
  return note;
}

/// The training whose gradients stay as long as they are.
const char* const without_clipping = "no clipping";

/// Clipping hardly changes this loss, and is left out of the picture.
void show_losses(attn::Trace& trace, const Trainings& trainings) {
  std::vector<std::string> names;
  std::vector<Tensor<1>> losses;
  for (const auto& one : trainings) {
    if (one.name == without_clipping) continue;
    names.push_back(one.name);
    losses.push_back(one.training.loss);
  }
  trace.label("loss", {{names}});
  trace.step({.id = "losses",
              .title = "The loss of three trainings",
              .formula = "mean of −log(p of the right symbol)",
              .from = {"examples"},
              .axes = {"loss", "step"},
              .note = note_of_losses(trainings),
              .curve = true,
              .linear = true},
             as_rows(losses));
}

Tensor<1> show_right(attn::Trace& trace, const Trainings& trainings) {
  auto right = Tensor<1>::from_shape({trainings.size()});
  for (std::size_t i = 0; i < right.size(); ++i) right(i) = trainings[i].right;
  constexpr auto tried = static_cast<double>(fresh_sequences * positions_of_sequence);
  return trace.step({.id = "right",
                     .title = "The share of symbols that are right in fresh sequences",
                     .formula = fmt::format("right / {:g}", tried),
                     .from = {"fresh"},
                     .axes = {"training"},
                     .worked =
                         [&](const attn::Index& at) {
                           return attn::Worked(std::round(right(at[0]) * tried)) / attn::Worked(tried);
                         }},
                    right);
}

/// The loss of each training at some steps, and how much each gets right.
std::vector<std::vector<std::string>> rows_of_trainings(const Trainings& trainings) {
  constexpr std::size_t shown[] = {1, 2, 5, 10, 20, 40, training_steps};
  std::vector<std::vector<std::string>> rows = {{"loss in step"}};
  for (const auto step : shown) rows[0].push_back(fmt::format("{}", step));
  rows[0].emplace_back("right");
  for (const auto& [name, settings, training, right] : trainings) {
    rows.push_back({name});
    for (const auto step : shown) rows.back().push_back(fmt::format("{:.2f}", training.loss(step - 1)));
    rows.back().push_back(percent(right));
  }
  return rows;
}

/// What is lost without warm-up.
std::string without_warmup(const Trainings& trainings) {
  const auto &main = trainings[0], &without = trainings[1];
  const auto d_model = static_cast<std::int64_t>(main.training.after.d_model());
  if (main.settings.warmup == 1) return "No warm-up: main has none in this run, either.";
  const bool recovers =
      without.training.loss(1) > without.training.loss(0) && is_half_learned(without.training);
  return fmt::format(
      "No warm-up: step 1 moves each parameter by {}^−0.5 = {:.4f}, not by {:.4f}. Then the loss is "
      "{:.2f}.{}",
      d_model, learning_rate(1, d_model, 1), learning_rate(1, d_model, main.settings.warmup),
      without.training.loss(1), recovers ? " This model recovers from that; a deep one may not." : "");
}

/// What clipping does to the gradients.
std::string with_clipping(const Trainings& trainings) {
  const auto& [name, settings, training, right] = trainings[0];
  const auto longer = std::count_if(training.gradient_norm.begin(), training.gradient_norm.end(),
                                    [limit = settings.max_norm](double norm) { return norm > limit; });
  return fmt::format(
      "No clipping: a gradient that is longer than the others outweighs them in m and v for many steps. Main "
      "cuts {} of {} gradients to the norm {:g}. Without clipping the last loss is {:.2f}.",
      longer == 0 ? "none" : fmt::to_string(longer), training_steps, settings.max_norm,
      trainings[2].training.loss(training_steps - 1));
}

/// What dropout does to the loss.
std::string with_dropout(double p) {
  return fmt::format(
      "Dropout: each attention weight is 0 with probability {0:g}, so that no answer relies on one weight. "
      "But here each answer needs one weight. Where it is 0 the model guesses, so the loss stays near {0:g} "
      "· log {1} = {2:.4f}.",
      p, symbol_count, p * loss_of_guessing());
}

/// What each method changed here, in numbers.
void compare_trainings(attn::Trace& trace, const Trainings& trainings) {
  auto text = fmt::format(
      "Main is the training above; the others change one thing each. The last column is the share of right "
      "symbols in {} new sequences, without dropout.\n{}\n{}",
      fresh_sequences, without_warmup(trainings), with_clipping(trainings));
  if (const double p = trainings.back().settings.dropout; p > 0.0) text += "\n" + with_dropout(p);
  trace.note("comparison", fmt::format("Warm-up, clipping, dropout: {} trainings", trainings.size()), text,
             in_columns(rows_of_trainings(trainings)));
}

}  // namespace

std::string look_of_chance(const attn::Event& weights) {
  const auto n = weights.tensor->shape.back();
  return fmt::format(
      "A row is a place, named by its symbol. Place {0} must say {1}, the last symbol but one, so it should "
      "look at {1}. It gives {1} {2:.4f}: nothing is learned yet.",
      name_along(weights, 0, 1), name_along(weights, 1, n - 2), weights.tensor->at(2 * n - 2));
}

std::string loss_beside_guessing(const attn::Event& losses) {
  double sum = 0.0;
  const auto count = losses.tensor->shape.back();
  for (std::size_t i = 0; i < count; ++i) sum += losses.tensor->at(i);
  const auto worked = attn::token_to_work_out(count);
  return fmt::format(
      "Each loss is named by the symbol to be said. Where {0} is right, the model gives {0} the probability "
      "{1:.4f}. The mean loss of this sequence is {2:.4f}. Guessing gives each of the {3} symbols 1/{3}, so "
      "its loss is log {3} = {4:.4f}.",
      name_along(losses, 0, worked), std::exp(-losses.tensor->at(worked)), sum / static_cast<double>(count),
      symbol_count, loss_of_guessing());
}

std::string size_of_first_step(const attn::Event&) {
  return "In step 1 m_now / √v_now is ±1, clipped or not: each parameter moves by the whole rate. Later it "
         "moves less where its gradients change their sign.";
}

namespace {

/// In each row of a table [query×key] the share of the key that is as far from the end as the query from the
/// beginning.
std::vector<double> mirror_shares(const attn::Event& weights) {
  const auto n = weights.tensor->shape.back();
  std::vector<double> shares;
  for (std::size_t i = 0; i < n; ++i) shares.push_back(weights.tensor->at(i * n + n - 1 - i));
  return shares;
}

}  // namespace

std::string look_at_mirror(const attn::Event& weights) {
  const auto shares = mirror_shares(weights);
  const double least = std::floor(1e4 * *std::min_element(shares.begin(), shares.end())) / 1e4;
  return fmt::format(
      "Each place must look at its mirror image: the first at the last, and so on. Each such weight is "
      "{:.4f} or more. A 7th place would need a 7th row of P.",
      least);
}

std::string note_of(const attn::Event& event) {
  return event.note;
}

LearningInputs draw_task(Workbench& bench) {
  auto& trace = bench.trace;
  trace.label("symbol", {{corpora::symbol_labels(symbol_count)}});
  LearningInputs in;
  in.examples = input_sequences(bench, "examples", "What the model learns from", training_sequences);
  in.fresh = input_sequences(bench, "fresh", "What it is tried on, and never trained on", fresh_sequences);
  in.shown = input_shown(bench);
  in.start = draw_parameters(bench);
  return in;
}

void show_model(Workbench& bench, const LearningInputs& in) {
  auto& trace = bench.trace;
  show_flow(bench, in.start);
  show_parameters(trace, in.start);
  show_training_code(bench);
  show_code_of_results(bench);
  trace.label("query", {{names_of(in.shown)}});
  trace.label("key", {{names_of(in.shown)}});
}

void show_before(Workbench& bench, const LearningInputs& in) {
  bench.trace.within("before", [&] { return show_reading(bench, in.start, in.shown); });
}

namespace {

/// `norm` and `factor` are those of `clip_by_norm`, in words of this page.
Tensor<2> clip_first_gradient(Workbench& bench, const Tensor<2>& gradient, double max_norm) {
  const attn::Words words = {
      {"norm",
       {.id = "norm",
        .title = "The length of the gradient of all parameters",
        .formula = "√(Σ g²)",
        .from = {"d_W_out"}}},
      {"factor",
       {.id = "factor",
        .title = "Clipping: one factor for all",
        .formula = "min(1, max_norm / (norm + 1e-6))",
        .from = {"norm"},
        .note =
            fmt::format("max_norm is {:g}. A gradient that is short enough has the factor 1.", max_norm)}}};
  return bench.trace.in_words(words, [&] { return clip_by_norm(bench, gradient, max_norm); });
}

/// What clipping and Adam do, at the number W_out[0, a]. The notes are outside of the group of the steps.
void explain_first_step(attn::Trace& trace, const Parameters& gradient, double clipped) {
  const double found = gradient.W_out(0, 0);
  const auto after_clipping = clipped == found ? std::string("It stays: the norm is below the limit.")
                                               : fmt::format("Clipped, it is {:.4f}.", clipped);
  trace.note(
      "one-number", "Step 1: the gradient, and clipping",
      fmt::format("The first {} sequences give a gradient, one number for each parameter (the "
                  "next lesson, backward, computes it). The norm is the length of this vector. If it is over "
                  "a limit, max_norm, then clipping multiplies all numbers by one factor. For W_out[0, a] "
                  "the gradient is {:.4f}. {}",
                  sequences_of_batch, found, after_clipping));
  trace.note("adam", "Step 1: Adam moves each parameter",
             "Adam is the rule by which each parameter moves. As it divides by √v_now, all move about "
             "equally far, however large their gradients are:",
             "m      a running mean of the gradients; a new one counts 0.1\n"
             "v      a running mean of their squares; a new one counts 0.02\n"
             "m_now  m / (1 − 0.9^step): m begins at 0 and is too small at first\n"
             "v_now  v / (1 − 0.98^step), for the same reason\n"
             "rate   it grows during warm-up, then it falls as 1/√step\n"
             "move   rate · m_now / √v_now, against the gradient");
}

}  // namespace

Parameters show_first_step(Workbench& bench, const LearningInputs& in) {
  auto& trace = bench.trace;
  const auto d_model = static_cast<std::int64_t>(bench.d_model());
  const auto warmup = static_cast<std::int64_t>(*bench.options.warmup);
  const auto batch = batch_of_step(in.examples, 1);
  auto mute = bench.mute_training(0.0);
  auto gradient = loss_and_gradient(mute, in.start, batch, said_backwards(batch)).gradient;
  double clipped_number = 0.0;
  trace.within("first_step", [&] {
    gradient.W_out = trace.step({.id = "d_W_out",
                                 .title = "The gradient of W_out",
                                 .formula = "∂loss/∂W_out",
                                 .from = {"examples", "W_out"},
                                 .axes = {"d_v", "symbol"}},
                                gradient.W_out);
    const auto clipped_row = clip_first_gradient(bench, as_one_row(gradient), *bench.options.max_norm);
    const auto clipped = trace.step({.id = "clipped",
                                     .title = "The gradient of W_out that is used",
                                     .formula = "factor · d_W_out",
                                     .from = {"factor", "d_W_out"},
                                     .axes = {"d_v", "symbol"}},
                                    as_parameters(clipped_row, in.start).W_out);
    const double rate = trace.step({.id = "rate",
                                    .title = "Warm-up: the learning rate of step 1",
                                    .formula = fmt::format("{}^−0.5 · min(1, {}^−1.5)", d_model, warmup),
                                    .worked =
                                        [&](const attn::Index&) {
                                          const auto power = [](std::int64_t base, double exponent) {
                                            return pow(attn::Worked(static_cast<double>(base)), exponent);
                                          };
                                          const auto lower = min(1.0, power(warmup, -1.5));
                                          return attn::Worked::product({power(d_model, -0.5), lower});
                                        }},
                                   learning_rate(1, d_model, warmup));
    auto moments = no_moments(in.start.W_out);
    adam(bench, {{"W_out", in.start.W_out}, {"clipped", clipped}, {"d_v", "symbol"}, 1, rate}, moments);
    clipped_number = clipped(0, 0);
  });
  explain_first_step(trace, gradient, clipped_number);
  return gradient;
}

Trainings train_all(const Workbench& bench, const LearningInputs& in) {
  const auto& options = bench.options;
  const auto warmup = static_cast<std::int64_t>(*options.warmup);
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  std::vector<std::pair<std::string, TrainingSettings>> all = {{"main", {warmup, *options.max_norm, 0.0}},
                                                               {"no warm-up", {1, *options.max_norm, 0.0}},
                                                               {without_clipping, {warmup, unlimited, 0.0}}};
  if (options.dropout > 0.0) all.push_back({"dropout", {warmup, *options.max_norm, options.dropout}});
  Trainings trainings;
  for (const auto& [name, settings] : all) {
    auto training = train(bench, in.examples, in.start, settings);
    const double right = share_right(bench, training.after, in.fresh);
    trainings.push_back({name, settings, std::move(training), right});
  }
  return trainings;
}

ShownLearning show_trainings(Workbench& bench, const LearningInputs& in, const Trainings& trainings) {
  auto& trace = bench.trace;
  const auto& main = trainings.front().training;
  ShownLearning shown;
  trace.label("step", {{numbers_from_1(training_steps)}});
  shown.loss = show_loss_curve(trace, main);
  show_losses(trace, trainings);
  show_later_reading(bench, "midway", fmt::format("before step {}", main.halfway), main.midway, in.shown);
  shown.weights_after =
      show_later_reading(bench, "after", fmt::format("after step {}", training_steps), main.after, in.shown);
  shown.gradient_norm = show_norms(trace, trainings);
  shown.right = show_right(trace, trainings);
  compare_trainings(trace, trainings);
  for (const auto* axis : {"query", "key", "step"}) trace.label(axis, {});
  return shown;
}

}  // namespace lessons
