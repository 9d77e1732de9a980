#include "lessons/training/initialisation_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/workbench/weight_scale.hpp"

namespace lessons {

namespace {

using attn::Between;

/// The initialisations to compare: their names and standard deviations for a square weight matrix.
struct Initialisation {
  std::string name;
  double standard_deviation;
};

std::vector<Initialisation> initialisations(std::size_t d) {
  std::vector<Initialisation> all;
  for (const std::string name : {"xavier", "he", "0.02"})
    all.push_back({name, standard_deviation(name, d, d)});
  return all;
}

/// "0", "1", …, "count − 1".
std::vector<std::string> numbers_below(std::size_t count) {
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(fmt::format("{}", i));
  return numbers;
}

attn::VarianceThroughLayers show_variance(Workbench& bench, const Tensor<2>& x,
                                             const Tensor<3>& Z, const Initialisation& initialisation,
                                             Between between, const std::string& title,
                                             const std::string& note) {
  const double s = initialisation.standard_deviation;
  const double factor = static_cast<double>(x.shape(1)) * s * s * (between == Between::relu ? 0.5 : 1.0);
  auto followed = attn::variance_through_layers(x, Z, s, between);
  const std::string id = (between == Between::relu ? "relu/" : "") + initialisation.name + "/variance";
  bench.trace.step({.id = id,
                    .title = title,
                    .formula = fmt::format("mean of y² in each layer\ny = {},  W = normal(0, {:.3g})",
                                           between == Between::relu ? "relu(x) W" : "x W", s),
                    .axes = {"layer"},
                    .note = note,
                    .curve = std::abs(factor - 1.0) > 0.25},
                   followed.variance);
  return followed;
}

/// The standard deviation of scaled scores, and the mean entropy of the attention of the first vectors to
/// each other.
struct Attending {
  double score_std, entropy;
};

Attending attend(const Tensor<2>& x, const Tensor<2>& Z_Q, const Tensor<2>& Z_K, double s) {
  const double root_d = std::sqrt(static_cast<double>(x.shape(1)));
  const auto Q = attn::divide(attn::matmul(x, Z_Q), 1.0 / s), K = attn::divide(attn::matmul(x, Z_K), 1.0 / s);
  const auto scaled = attn::divide(attn::matmul(Q, attn::transpose(K)), root_d);
  const double mean_square = attn::sum_of_products(scaled, scaled) / static_cast<double>(scaled.size());
  return {std::sqrt(mean_square), attn::mean_entropy(attn::softmax(scaled))};
}

void show_attending(Workbench& bench, const Tensor<2>& x) {
  const auto d = x.shape(1);
  auto first = Tensor<2>::from_shape({attending, d});
  std::copy_n(x.begin(), first.size(), first.begin());
  const auto Z_Q = bench.random.normal<2>(0.0, 1.0, {d, d});
  const auto Z_K = bench.random.normal<2>(0.0, 1.0, {d, d});
  const auto all = initialisations(d);
  auto score_std = Tensor<1>::from_shape({all.size()}), entropy = score_std;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto measured = attend(first, Z_Q, Z_K, all[i].standard_deviation);
    score_std(i) = static_cast<double>(measured.score_std);
    entropy(i) = static_cast<double>(measured.entropy);
    names.push_back(all[i].name);
  }
  bench.trace.label("initialisation", {{names}});
  bench.trace.step(
      {.id = "score_std",
       .title = "How large scores are before training",
       .formula = "√(mean of scaled²)\nscaled = x W_Q (x W_K)ᵀ / √d",
       .axes = {"initialisation"},
       .note = fmt::format("The first {} vectors attend to each other. The scale 1/√d makes scores of size 1 "
                           "if queries and keys are of size 1; the initialisation sees to that, or not.",
                           attending)},
      score_std);
  bench.trace.step({.id = "entropy",
                    .title = "How widely attention spreads before training",
                    .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ\nw = softmax(scaled)",
                    .axes = {"initialisation"},
                    .note = fmt::format("ln {} = {:.4f} is an average of everything, whatever the query "
                                        "asks: attention collapse at the start (lesson patterns).",
                                        attending, std::log(static_cast<double>(attending)))},
                   entropy);
}

}  // namespace

attn::VarianceThroughLayers show_initialisations(Workbench& bench) {
  const auto d = bench.d_model(), layers = *bench.options.layers;
  const auto x = bench.random.normal<2>(0.0, 1.0, {vectors, d});
  const auto Z = bench.random.normal<3>(0.0, 1.0, {layers, d, d});
  const auto all = initialisations(d);
  const auto &xavier = all[0], &he = all[1], &fixed = all[2];
  bench.trace.label("layer", {{numbers_below(layers + 1)}});
  const auto show = [&](const Initialisation& initialisation, Between between, const std::string& title,
                        const std::string& note) {
    return show_variance(bench, x, Z, initialisation, between, title, note);
  };
  auto kept =
      show(xavier, Between::nothing, "Xavier: the variance stays",
           fmt::format("s = √(2 / (fan_in + fan_out)) = 1/√{} here, where both are {}. Layer 0 is the input.",
                       d, d));
  bench.trace.step(
      {.id = "xavier/standard_error",
       .title = "How far chance throws it in one layer",
       .formula = "√(2/d · tr(A²)) / tr(A)\nA = xᵀx,  x the layer before",
       .axes = {"layer"},
       .note =
           "One standard error of the ratio of a layer's variance to the one before. It shrinks as d grows."},
      kept.standard_error);
  show(he, Between::nothing, "He: it doubles in every layer",
       "s = √(2 / fan_in). With ReLU in between that is right, see below; without, as in W_Q, W_K and W_V, "
       "it is not. A much copied attention class draws with √(2 / d_model) and calls it Xavier. It is He.");
  show(fixed, Between::nothing,
       fmt::format("0.02: times d · s² = {:.4g} in every layer", 0.0004 * static_cast<double>(d)),
       "One number for every width is right for one width: d = 1 / 0.02² = 2500. Small models are starved by "
       "it; large ones are not, and residuals and layer norm make up for the rest.");
  show(xavier, Between::relu, "Xavier with ReLU in between: it halves",
       "ReLU sets half of the numbers to 0, and half of the mean of y² goes with them.");
  show(he, Between::relu, "He with ReLU in between: it stays",
       "The 2 in √(2 / fan_in) is there for this half. (The first layer doubles: its input has not been "
       "through ReLU.)");
  show_attending(bench, x);
  return kept;
}


}  // namespace lessons
