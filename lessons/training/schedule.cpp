/// The learning rate that warms up. Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.3.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "lessons/training.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// step · warmup^−1.5.
double rising_rate(std::int64_t step, std::int64_t warmup) {
  return static_cast<double>(step) * std::pow(static_cast<double>(warmup), -1.5);
}

/// step^−0.5; infinite for step 0.
double falling_rate(std::int64_t step) {
  return std::pow(static_cast<double>(step), -0.5);
}

/// d_model^−0.5 · min(falling, rising).
double lower_rate(double rising, double falling, std::int64_t d_model) {
  return std::pow(static_cast<double>(d_model), -0.5) * std::min(falling, rising);
}

Tensor<1> lower_rate(const Tensor<1>& rising, const Tensor<1>& falling, std::int64_t d_model) {
  Tensor<1> rate(rising.shape());
  for (std::size_t i = 0; i < rate.size(); ++i) rate(i) = lower_rate(rising(i), falling(i), d_model);
  return rate;
}

template <class Function>
Tensor<1> of_each(const Integers<1>& steps, Function f) {
  Tensor<1> result(steps.shape());
  std::transform(steps.begin(), steps.end(), result.begin(), f);
  return result;
}

/// Quarters of the warm-up up to four times its length, each step once.
Integers<1> steps_to_show(std::int64_t warmup) {
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i <= 16; ++i) steps.push_back((i * warmup + 2) / 4);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto result = Integers<1>::from_shape({steps.size()});
  std::copy(steps.begin(), steps.end(), result.begin());
  return result;
}

}  // namespace

double learning_rate(std::int64_t step, std::int64_t d_model, std::int64_t warmup) {
  if (step < 0 || d_model < 1 || warmup < 1)
    throw std::invalid_argument(fmt::format(
        "[learning_rate] step is {}, d_model {}, warmup {}: a step is at least 0, the others are at least 1",
        step, d_model, warmup));
  return lower_rate(rising_rate(step, warmup), falling_rate(step), d_model);
}

std::int64_t step_of_largest(const Integers<1>& steps, const Tensor<1>& rates) {
  if (steps.size() != rates.size() || steps.size() == 0)
    throw std::invalid_argument(
        fmt::format("[step_of_largest] there are {} steps and {} rates: there must be as many "
                    "rates as steps, and at least one",
                    steps.size(), rates.size()));
  return *(steps.begin() + (std::max_element(rates.begin(), rates.end()) - rates.begin()));
}

void explain_schedule(attn::Trace& trace) {
  trace.note("schedule-idea", "Warm-up: small steps first",
             "At first gradients are large and point in changing directions. Adam, the usual way of making a "
             "step, divides it by the size of earlier gradients, and these are still few. So the learning "
             "rate rises from 0 and falls again later.",
             "rate = d_model^−0.5 · min(step^−0.5, step · warmup^−1.5)");
}

Schedule show_schedule(Workbench& bench) {
  const auto d_model = static_cast<std::int64_t>(bench.d_model());
  const auto warmup = static_cast<std::int64_t>(*bench.options.warmup);
  const auto steps = steps_to_show(warmup);
  const auto peak = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), warmup) - steps.begin());
  std::vector<std::string> names;
  for (const auto step : steps) names.push_back(fmt::format("{}", step));
  auto& trace = bench.trace;
  trace.settled_input({.id = "step", .title = "Some steps of training", .axes = {"step"}}, steps);
  trace.label("step", {{names}});
  bench.code(
      {fmt::format("d_model, warmup = {}, {}", d_model, warmup),
       "with np.errstate(divide=\"ignore\"):    # inf at step 0, where rising is 0",
       "    schedule_falling = schedule_step ** -0.5", "schedule_rising = schedule_step * warmup ** -1.5",
       "lower = np.minimum(schedule_falling, schedule_rising)", "schedule_rate = d_model ** -0.5 * lower"});
  const auto rising =
      trace.step({.id = "rising",
                  .title = "The rising part of the learning rate: a straight line",
                  .formula = fmt::format("step · warmup^−1.5 = step · {}^−1.5", warmup),
                  .from = {"step"},
                  .axes = {"step"},
                  .worked =
                      [&](const attn::Index& at) {
                        return attn::Worked::product(
                            {attn::whole_entry("step", steps, at), pow(static_cast<double>(warmup), -1.5)});
                      }},
                 of_each(steps, [&](std::int64_t step) { return rising_rate(step, warmup); }));
  const auto falling = trace.step(
      {.id = "falling",
       .title = "The falling part of the learning rate",
       .formula = "step^−0.5",
       .from = {"step"},
       .axes = {"step"},
       .note = "For step 0 it is infinite, and in Python 0 ** -0.5 is a ZeroDivisionError: code that "
               "computes the formula has to count from 1, or to take the minimum with the line, which is 0.",
       .worked = [&](const attn::Index& at) { return pow(attn::whole_entry("step", steps, at), -0.5); }},
      of_each(steps, falling_rate));
  const auto rate =
      trace.step({.id = "rate",
                  .title = "The learning rate",
                  .formula = fmt::format("{}^−0.5 · min(falling, rising)", d_model),
                  .from = {"rising", "falling"},
                  .axes = {"step"},
                  .note = fmt::format("#{} is step {}, the peak: (d_model · warmup)^−0.5 = {:.6f}.", peak,
                                      warmup, learning_rate(warmup, d_model, warmup)),
                  .curve = true,
                  .worked =
                      [&](const attn::Index& at) {
                        const attn::Known<1> up = {"rising", rising}, down = {"falling", falling};
                        const auto lower = std::isfinite(falling(at[0])) ? min(down(at), up(at)) : up(at);
                        return attn::Worked::product({pow(static_cast<double>(d_model), -0.5), lower});
                      },
                  .worked_at = attn::Index{peak}},
                 lower_rate(rising, falling, d_model));
  return {steps, rate};
}

void claim_schedule(attn::Trace& trace, const Schedule& shown, const Options& options) {
  const auto warmup = static_cast<std::int64_t>(*options.warmup),
             d_model = static_cast<std::int64_t>(*options.d_model);
  trace.claim({.id = "schedule-peaks-at-warmup",
               .claim = "the rate is highest at the end of the warm-up",
               .formula = "step of the largest schedule/rate − warmup",
               .value = static_cast<double>(step_of_largest(shown.steps, shown.rate) - warmup),
               .limit = attn::exactly(0.0)});
  const auto rate = [&](std::int64_t step) { return learning_rate(step, d_model, warmup); };
  trace.claim({.id = "lower-beside-the-peak",
               .claim = "one step earlier and one step later it is lower",
               .formula = "max(rate(warmup − 1), rate(warmup + 1)) / rate(warmup)",
               .value = std::max(rate(warmup - 1), rate(warmup + 1)) / rate(warmup),
               .limit = attn::at_most(1.0)});
}

}  // namespace lessons
