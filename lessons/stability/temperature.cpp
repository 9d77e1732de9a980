/// One row of scores at five temperatures: from all attention on one key to equal shares.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/patterns.hpp"
#include "lessons/stability.hpp"
#include "lessons/worked.hpp"

namespace lessons {

namespace {

constexpr std::array temperatures = {0.01, 0.1, 1.0, 10.0, 100.0};

/// softmax(scores / T) for each T: [temperature×key]. Subtracting the largest score first changes no weight,
/// and a division by a small T cannot overflow then.
Tensor<2> weights_at_temperatures(const Tensor<1>& scores) {
  const auto below_0 = attn::shift(scores, -*std::max_element(scores.begin(), scores.end()));
  auto all = Tensor<2>::from_shape({temperatures.size(), scores.size()});
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    const auto weights = attn::softmax(attn::divide(below_0, temperatures[i]));
    std::copy(weights.begin(), weights.end(), &all(i, 0));
  }
  return all;
}

/// measure(row, T) of the weights at each T: [temperature].
template <class Measure>
Tensor<1> at_each_temperature(const Tensor<2>& weights, Measure measure) {
  auto values = Tensor<1>::from_shape({temperatures.size()});
  for (std::size_t i = 0; i < temperatures.size(); ++i)
    values(i) = measure(attn::rows(weights, i, i + 1), temperatures[i]);
  return values;
}

/// For each temperature the entropy, the keys in use, and what the limits of the lesson patterns make of it.
std::string verdicts(const Tensor<1>& entropy, std::size_t keys) {
  const double largest = std::log(static_cast<double>(keys));
  auto lines = fmt::format("{:<10}{:>9}{:>14}", "", "entropy", "keys in use");
  for (std::size_t i = 0; i < temperatures.size(); ++i)
    lines += fmt::format("\n{:<10}{:>9.4f}{:>14.2f}   {}", fmt::format("T = {:g}", temperatures[i]),
                         entropy(i), std::exp(entropy(i)), word_for(spread_of(entropy(i), largest)));
  return lines;
}

}  // namespace

Tensor<1> show_temperatures(Workbench& bench, const Tensor<1>& scores) {
  std::vector<std::string> names;
  for (const double temperature : temperatures) names.push_back(fmt::format("T = {:g}", temperature));
  bench.trace.label("temperature", {{names}});
  const auto weights =
      bench.trace.step({.id = "temperature/weights",
                        .title = "The first row of scores at five temperatures",
                        .formula = "softmax(scores[0] / T)",
                        .from = {"scores"},
                        .axes = {"temperature", "key"},
                        .distribution = true,
                        .worked =
                            [&](const attn::Index& at) {
                              const auto first_row = [&](const attn::Index& key) {
                                return attn::Worked({"scores", {0, key[1]}}, scores(key[1]));
                              };
                              return attn::worked_softmax(first_row, scores.size(), temperatures[at[0]])(at);
                            },
                        .worked_at = attn::Index{3, 0}},
                       weights_at_temperatures(scores));
  const auto row_of = [&](std::size_t temperature) {
    std::vector<attn::Worked> row;
    for (std::size_t j = 0; j < weights.shape(1); ++j)
      row.push_back(attn::Known<2>{"temperature/weights", weights}({temperature, j}));
    return row;
  };
  const auto entropy = bench.trace.step(
      {.id = "temperature/entropy",
       .title = "From one key to all of them",
       .formula = "−Σⱼ wⱼ ln wⱼ",
       .from = {"temperature/weights"},
       .axes = {"temperature"},
       .note = fmt::format("From 0, everything on one key, to ln {} = {:.4f}, equal shares.", scores.size(),
                           std::log(static_cast<double>(scores.size()))),
       .worked = [&](const attn::Index& at) { return attn::worked_entropy(row_of(at[0])); }},
      at_each_temperature(weights, [](const Tensor<2>& row, double) { return attn::mean_entropy(row); }));
  bench.trace.step({.id = "temperature/jacobian",
                    .title = "How much gradient gets through to the scores",
                    .formula = "‖diag(w) − w wᵀ‖ / T",
                    .from = {"temperature/weights"},
                    .axes = {"temperature"},
                    .note = "Little at either end: at a low temperature softmax itself is flat, at a high "
                            "one the division by T makes the gradient small.",
                    .worked = worked_of(2 * scores.size() * scores.size(),
                                        [&](const attn::Index& at) {
                                          return attn::worked_jacobian_norm(row_of(at[0])) /
                                                 attn::Worked(temperatures[at[0]]);
                                        })},
                   at_each_temperature(weights, [](const Tensor<2>& row, double T) {
                     return attn::mean_jacobian_norm(row) / T;
                   }));
  bench.trace.note(
      "temperature-verdict", "From one key to all of them",
      fmt::format(
          "The entropy runs from 0, everything on one key, to ln {} = {:.4f}, equal shares. The lesson "
          "patterns explains the words on the right.",
          scores.size(), std::log(static_cast<double>(scores.size()))),
      verdicts(entropy, scores.size()));
  return entropy;
}

}  // namespace lessons
