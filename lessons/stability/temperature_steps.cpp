#include "lessons/stability/temperature_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/patterns.hpp"
#include "attn/ops/softmax.hpp"

namespace lessons {

namespace {

constexpr std::array temperatures = {0.01, 0.1, 1.0, 10.0, 100.0};

/// The same row of scores at each temperature.
struct Sweep {
  Tensor<2> weights;            ///< [temperature×key]
  Tensor<1> entropy, jacobian;  ///< [temperature]
};

Sweep sweep(const Tensor<1>& scores) {
  Sweep at;
  at.weights = Tensor<2>::from_shape({temperatures.size(), scores.size()});
  at.entropy = at.jacobian = Tensor<1>::from_shape({temperatures.size()});
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    const auto weights = attn::softmax(attn::divide(scores, temperatures[i]));
    std::copy(weights.begin(), weights.end(), &at.weights(i, 0));
    at.entropy(i) = static_cast<double>(attn::mean_entropy(weights));
    at.jacobian(i) = static_cast<double>(attn::mean_jacobian_norm(weights) / temperatures[i]);
  }
  return at;
}

/// "T = 0.01  over-sparse": what the limits of the lesson patterns make of each temperature.
std::string verdicts(const Tensor<1>& entropy, std::size_t keys) {
  const double largest = std::log(static_cast<double>(keys));
  std::string lines;
  for (std::size_t i = 0; i < temperatures.size(); ++i)
    lines += fmt::format("{}T = {:<7g}{}", i == 0 ? "" : "\n", temperatures[i],
                         attn::name_of(attn::spread_of(static_cast<double>(entropy(i)), largest)));
  return lines;
}

}  // namespace

Tensor<1> show_temperatures(Workbench& bench, const Tensor<1>& scores) {
  const auto at = sweep(scores);
  std::vector<std::string> names;
  for (const double temperature : temperatures) names.push_back(fmt::format("{:g}", temperature));
  bench.trace.label("temperature", {{names}});
  bench.trace.step({.id = "temperature/weights",
                    .title = "One row of scores at five temperatures",
                    .formula = "softmax(scores / T), scores of size 1",
                    .from = {"scores"},
                    .axes = {"temperature", "key"},
                    .distribution = true},
                   at.weights);
  bench.trace.step({.id = "temperature/entropy",
                    .title = "From one key to all of them",
                    .formula = "−Σⱼ wⱼ ln wⱼ",
                    .from = {"temperature/weights"},
                    .axes = {"temperature"},
                    .note = fmt::format("From 0, everything on one key, to ln {} = {:.4f}, equal shares.",
                                        scores.size(), std::log(static_cast<double>(scores.size())))},
                   at.entropy);
  bench.trace.step({.id = "temperature/jacobian",
                    .title = "How much gradient gets through to the scores",
                    .formula = "‖diag(w) − w wᵀ‖ / T",
                    .from = {"temperature/weights"},
                    .axes = {"temperature"},
                    .note = "Little at either end: at a low temperature softmax itself is flat, at a high "
                            "one the division by T makes the gradient small."},
                   at.jacobian);
  bench.trace.note(
      "temperature-verdict", "Collapsed, selective, over-sparse",
      "What the lesson patterns, with its limits, says of each row:", verdicts(at.entropy, scores.size()));
  return at.entropy;
}


}  // namespace lessons
