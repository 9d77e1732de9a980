#include "lessons/training/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/softmax.hpp"
#include "attn/train/schedule.hpp"

namespace lessons {

namespace {

Tensor<1> squared_times(const Tensor<1>& x, double factor) {
  Tensor<1> result(x.shape());
  std::transform(x.begin(), x.end(), result.begin(), [factor](double element) {
    return static_cast<double>(static_cast<double>(element) * static_cast<double>(element) * factor);
  });
  return result;
}

/// Quarters of the warm-up up to four times its length, each step once.
std::vector<std::int64_t> steps_to_show(std::int64_t warmup) {
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i <= 16; ++i) steps.push_back((i * warmup + 2) / 4);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace

ShownDropout show_dropout_masks(Workbench& bench) {
  const double p = bench.options.dropout;
  const auto samples = *bench.options.samples;
  auto& trace = bench.trace;
  const auto scores = bench.normal({.id = "scores", .title = "Scores of one query", .axes = {"key"}},
                                   std::array{dropout_keys});
  const auto weights = trace.step({.id = "weights",
                                   .title = "Its attention",
                                   .formula = "softmax(dropout/scores)",
                                   .from = {"scores"},
                                   .axes = {"key"},
                                   .distribution = true},
                                  attn::softmax(scores));
  auto moments = attn::dropout_moments(bench.random, weights, p, samples);
  trace.settled_input({.id = "mask",
                       .title = fmt::format("The first of {} masks", samples),
                       .formula = fmt::format("binomial(1, 1 − p), p = {:g}", p),
                       .axes = {"key"}},
                      moments.mask);
  trace.step({.id = "dropped",
              .title = "What it leaves",
              .formula = fmt::format("weights · mask / (1 − p) = weights · mask / {:g}", 1.0 - p),
              .from = {"weights", "mask"},
              .axes = {"key"},
              .note = p == 0.0 ? "With p = 0 nothing is dropped."
                               : "What is left grows by 1 / (1 − p). The row need not sum to 1 any more."},
             moments.dropped);
  trace.step({.id = "mean",
              .title = "The mean over all masks: the weights again",
              .formula = fmt::format("mean of dropped over {} masks", samples),
              .from = {"weights"},
              .axes = {"key"},
              .note = "This is why the division is there: used without dropout later on, the model meets "
                      "what it met on average in training."},
             moments.mean);
  trace.step({.id = "variance",
              .title = "The variance over all masks",
              .formula = fmt::format("variance of dropped over {} masks", samples),
              .from = {"weights"},
              .axes = {"key"},
              .note = "Tutorials say that dropout reduces the variance of attention weights. It is the other "
                      "way round: without dropout there is none."},
             moments.variance);
  trace.step({.id = "variance_theory",
              .title = "What it should be",
              .formula = fmt::format("weights² · p / (1 − p) = weights² · {:.3g}", p / (1.0 - p)),
              .from = {"weights"},
              .axes = {"key"}},
             squared_times(weights, p / (1.0 - p)));
  return {weights, std::move(moments)};
}

ShownSchedule show_schedule(Workbench& bench) {
  const auto d_model = static_cast<std::int64_t>(bench.d_model());
  const auto warmup = static_cast<std::int64_t>(*bench.options.warmup);
  const auto steps = steps_to_show(warmup);
  ShownSchedule shown;
  shown.steps = Integers<1>::from_shape({steps.size()});
  std::copy(steps.begin(), steps.end(), shown.steps.begin());
  Tensor<1> rising(shown.steps.shape()), falling(shown.steps.shape());
  shown.rate = Tensor<1>(shown.steps.shape());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto schedule = attn::warmup_schedule(steps[i], d_model, warmup);
    rising(i) = static_cast<double>(schedule.rising);
    falling(i) = static_cast<double>(schedule.falling);
    shown.rate(i) = static_cast<double>(schedule.rate);
    names.push_back(fmt::format("{}", steps[i]));
  }
  auto& trace = bench.trace;
  trace.settled_input({.id = "step", .title = "Some steps of training", .axes = {"step"}}, shown.steps);
  trace.label("step", {{names}});
  trace.step({.id = "rising",
              .title = "A straight line up",
              .formula = fmt::format("step · warmup^−1.5 = step · {}^−1.5", warmup),
              .from = {"step"},
              .axes = {"step"}},
             rising);
  trace.step(
      {.id = "falling",
       .title = "A slow way down",
       .formula = "step^−0.5",
       .from = {"step"},
       .axes = {"step"},
       .note =
           "For step 0 it is infinite, and in Python 0 ** -0.5 is a ZeroDivisionError: the formula as it is "
           "usually copied cannot start counting at 0. The minimum with the line, 0, is what is meant."},
      falling);
  trace.step({.id = "rate",
              .title = "The learning rate is the lower of the two, times d_model^−0.5",
              .formula = fmt::format("{}^−0.5 · min(falling, rising)", d_model),
              .from = {"rising", "falling"},
              .axes = {"step"},
              .note = fmt::format("They meet at step {}, where the rate is (d_model · warmup)^−0.5 = {:.4g}.",
                                  warmup, attn::warmup_schedule(warmup, d_model, warmup).rate),
              .curve = true},
             shown.rate);
  return shown;
}

std::pair<Tensor<2>, attn::Clipped> show_clipping(Workbench& bench) {
  const double max_norm = *bench.options.max_norm;
  auto& trace = bench.trace;
  trace.label("layer", {});
  const auto gradients = bench.normal({.id = "gradients",
                                       .title = "A gradient for each layer",
                                       .axes = {"layer", "feature"},
                                       .note = "Four numbers a layer stand for the thousands of a real one."},
                                      std::array{*bench.options.layers, std::size_t{4}});
  auto clipped = attn::clip_by_norm(gradients, max_norm);
  trace.step({.id = "layer_norms",
              .title = "The length of each",
              .formula = "√(Σ g²) of each layer",
              .from = {"gradients"},
              .axes = {"layer"}},
             clipped.row_norms);
  trace.step({.id = "norm",
              .title = "The length of all of them as one vector",
              .formula = "√(Σ layer_norms²)",
              .from = {"layer_norms"}},
             static_cast<double>(clipped.norm));
  trace.step(
      {.id = "factor",
       .title = "One factor for all",
       .formula = fmt::format("min(1, max_norm / (norm + 1e-6)) = min(1, {:g} / (norm + 1e-6))", max_norm),
       .from = {"norm"},
       .note = "As torch.nn.utils.clip_grad_norm_ has it. 1 where the gradient is short enough."},
      static_cast<double>(clipped.factor));
  trace.step({.id = "clipped",
              .title = "A shorter step in the same direction",
              .formula = "factor · gradients",
              .from = {"factor", "gradients"},
              .axes = {"layer", "feature"}},
             clipped.gradients);
  const auto by_value = trace.step({.id = "by_value",
                                    .title = "Not to be confused with: each number cut off by itself",
                                    .formula = fmt::format("g limited to ±{:g}", max_norm),
                                    .from = {"gradients"},
                                    .axes = {"layer", "feature"}},
                                   attn::clip_by_value(gradients, max_norm));
  trace.step({.id = "cosine_by_value",
              .title = "That points somewhere else",
              .formula = "cosine of the angle between gradients and by_value",
              .from = {"gradients", "by_value"},
              .note = "1 is the same direction, as it is where nothing was cut off."},
             static_cast<double>(attn::cosine(gradients, by_value)));
  return {gradients, std::move(clipped)};
}


}  // namespace lessons
