/// What is claimed of a training, and of the gradient of its first step.

#include "lessons/workbench/claims.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "attn/ops/measure.hpp"
#include "lessons/backward/unit_roundoff.hpp"
#include "lessons/training.hpp"
#include "lessons/training/learning.hpp"

namespace lessons {

namespace {

/// The last loss is the mean over so many batches, which are all the sequences once.
constexpr std::size_t last_batches = training_sequences / sequences_of_batch;

double last_loss(const Tensor<1>& loss) {
  double sum = 0.0;
  for (std::size_t i = training_steps - last_batches; i < training_steps; ++i) sum += loss(i);
  return sum / static_cast<double>(last_batches);
}

/// The share that goes to the mirror image of a query, on average: a model that is right on nearly all
/// sequences may be wrong at a place of the one that is shown.
double share_of_mirror(const Tensor<3>& weights) {
  double sum = 0.0;
  for (std::size_t query = 0; query < positions_of_sequence; ++query)
    sum += weights(0, query, positions_of_sequence - 1 - query);
  return sum / static_cast<double>(positions_of_sequence);
}

/// Whether the training starts from the numbers that are drawn, given or not.
bool starts_from_drawn(const Workbench& bench, const LearningInputs& in) {
  if (bench.plan.given.empty()) return true;
  auto trace = bench.trace.mute();
  Workbench again(bench.plan, trace);
  const auto drawn = draw_task(again);
  return in.examples == drawn.examples && in.fresh == drawn.fresh &&
         as_one_row(in.start) == as_one_row(drawn.start);
}

/// Every seed that was tried learns with such settings.
bool learns_with_any_seed(const Options& options) {
  return *options.d_model >= 16 && *options.d_model <= 128 && *options.warmup >= 20 &&
         *options.warmup <= 50 && *options.max_norm >= 0.1;
}

/// Of a symbol of a batch.
double largest_loss(const Workbench& bench, const Parameters& parameters, const Integers<2>& batch) {
  auto mute = bench.mute_training(0.0);
  const auto reading = read_symbols(mute, parameters, batch);
  return attn::max_abs(cross_entropy(mute, reading.probabilities, said_backwards(batch)));
}

void claim_first_gradient(Workbench& bench, const LearningInputs& in, const Parameters& gradient) {
  auto& trace = bench.trace;
  const auto refuse = [&](const std::string& why) {
    trace.note("first-gradient", "The first gradient is not checked", why);
  };
  if (norm_of(as_one_row(gradient)) == 0.0)
    return refuse("With these parameters it is 0: there is nothing to check, and nothing to learn from.");
  const auto batch = batch_of_step(in.examples, 1);
  const double smallest_with_all_digits = smallest_normal(attn::Dtype::float64);
  if (!(largest_loss(bench, in.start, batch) < -std::log(smallest_with_all_digits)))
    return refuse(
        "With parameters as large as these the probability of a right symbol is 0 in float64, or so small "
        "that digits are lost, or no number at all: its −log says little.");
  const auto check = check_gradient(bench, in.start, gradient, batch);
  const double norm = norm_of(as_one_row(gradient));
  double deviation = 0.0, allowed = 0.0;
  for (const auto& one : check.deviations) {
    deviation = attn::maximum({deviation, one.deviation / norm});
    allowed = attn::maximum({allowed, one.allowed / norm});
  }
  if (allowed > 0.01)
    return refuse(
        fmt::format("A difference of L may be off by {}, relative to the gradient: whether the two "
                    "agree would say nothing.",
                    roughly_at_most(allowed).bound));
  trace.claim({.id = "first-gradient",
               .claim = "the first gradient agrees with central differences",
               .formula = "max |(L(W + h·s) − L(W − h·s)) / 2h − Σ d_W·s| / ‖gradient‖, s = ±1, for each W",
               .value = deviation,
               .limit = roughly_at_most(allowed)});
}

}  // namespace

void claim_learning(Workbench& bench, const LearningInputs& in, const Parameters& first_gradient,
                    const ShownLearning& shown) {
  auto& trace = bench.trace;
  const auto& options = bench.options;
  claim_first_gradient(bench, in, first_gradient);
  double longest = 0.0;
  for (std::size_t step = 0; step < training_steps; ++step)
    longest = attn::maximum({longest, shown.gradient_norm(1, step)});
  trace.claim({.id = "never-longer-than-max-norm",
               .claim = "no clipped gradient is longer than max_norm",
               .formula = "max over the steps of gradient_norm[clipped] / max_norm − 1, or 0",
               .value = attn::maximum({0.0, longest / *options.max_norm - 1.0}),
               .limit = rounding(trace)});
  if (!learns_with_any_seed(options) || !starts_from_drawn(bench, in))
    return trace.note("no-promise", "Whether it learns",
                      "With the settings of the lesson the model learns its task from any numbers that are "
                      "drawn, and that is claimed. With yours it may or may not: the curves tell.");
  trace.claim({.id = "learns",
               .claim = fmt::format("the mean of the last {} losses over that of guessing", last_batches),
               .formula = fmt::format("mean of the last {} of loss / log {}", last_batches, symbol_count),
               .value = last_loss(shown.loss) / loss_of_guessing(),
               .limit = attn::at_most(0.1)});
  trace.claim({.id = "right-on-fresh",
               .claim = "fresh sequences: the share of right symbols",
               .formula = "right[main]",
               .value = shown.right(0),
               .limit = attn::at_least(0.95)});
  trace.claim({.id = "looks-at-the-mirror",
               .claim = "the mean share of a mirror image",
               .formula = "mean over i of after/weights[i, 5 − i]",
               .value = share_of_mirror(shown.weights_after),
               .limit = attn::at_least(0.5)});
}

}  // namespace lessons
