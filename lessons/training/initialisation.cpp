/// How large numbers are after many freshly drawn layers. Sources: Glorot and Bengio 2010, "Understanding the
/// difficulty of training deep feedforward neural networks"; He et al. 2015, "Delving Deep into Rectifiers".
/// Products are summed in order here, so that all digits are the same on every machine.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/training.hpp"
#include "lessons/workbench/weight_scale.hpp"

namespace lessons {

namespace {

/// The largest standard error of a ratio of variances for which chance is near enough to normal.
constexpr double largest_error = 0.07;

/// s times layer `index` of Z.
Tensor<2> weight_of_layer(const Tensor<3>& Z, std::size_t index, double s) {
  auto W = Tensor<2>::from_shape({Z.shape(1), Z.shape(2)});
  std::transform(&Z(index, 0, 0), &Z(index, 0, 0) + W.size(), W.begin(), [s](double z) { return s * z; });
  return W;
}

Tensor<2> relu(Tensor<2> x) {
  for (double& element : x) element = std::max(element, 0.0);
  return x;
}

double mean_square(const Tensor<2>& x) {
  return attn::sum_of_products(x, x) / static_cast<double>(x.size());
}

/// √(2/d · tr(A²)/tr(A)²), A = xᵀx; 0 where x has vanished.
double relative_error_of_next(const Tensor<2>& x) {
  const auto A = attn::matmul_in_order(attn::transpose(x), x);
  const double trace = attn::sum_of_products(x, x), trace_of_square = attn::sum_of_products(A, A);
  if (trace == 0.0) return 0.0;
  return std::sqrt(2.0 / static_cast<double>(x.shape(1)) * trace_of_square) / trace;
}

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

VarianceThroughLayers show_variance(Workbench& bench, const Tensor<2>& x, const Tensor<3>& Z,
                                    const Initialisation& initialisation, Between between,
                                    const std::string& title, const std::string& note) {
  const double s = initialisation.standard_deviation;
  const double factor = static_cast<double>(x.shape(1)) * s * s * (between == Between::relu ? 0.5 : 1.0);
  auto followed = variance_through_layers(x, Z, s, between);
  const std::string id = (between == Between::relu ? "relu/" : "") + initialisation.name + "/variance";
  followed.variance =
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
  const auto Q = attn::divide(attn::matmul_in_order(x, Z_Q), 1.0 / s),
             K = attn::divide(attn::matmul_in_order(x, Z_K), 1.0 / s);
  const auto scaled = attn::divide(attn::matmul_in_order(Q, attn::transpose(K)), root_d);
  const double mean_square = attn::sum_of_products(scaled, scaled) / static_cast<double>(scaled.size());
  return {std::sqrt(mean_square), attn::mean_entropy(attn::softmax(scaled))};
}

/// The size of the scores of the first vectors before training, and the entropy of their attention.
struct AttendingOfAll {
  Tensor<1> score_std, entropy;  ///< [initialisation]
};

/// d · s² of each: by what a layer multiplies the variance.
void show_factors(Workbench& bench) {
  const auto d = bench.d_model();
  const auto all = initialisations(d);
  auto factors = Tensor<1>::from_shape({all.size()});
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double s = all[i].standard_deviation;
    factors(i) = static_cast<double>(d) * s * s;
    names.push_back(all[i].name);
  }
  bench.trace.label("initialisation", {{names}});
  bench.code({fmt::format("d = {}", d), "s = np.array([np.sqrt(2 / (d + d)), np.sqrt(2 / d), 0.02])",
              "initialisation_factors = d * s ** 2"});
  bench.trace.step({.id = "factors",
                    .title = "A layer's factor",
                    .formula = "d · s²",
                    .axes = {"initialisation"},
                    .note = "In theory. With ReLU between the layers it is half.",
                    .worked =
                        [&](const attn::Index& at) {
                          return attn::Worked::product(
                              {static_cast<double>(d), square(attn::Worked(all[at[0]].standard_deviation))});
                        }},
                   factors);
}

AttendingOfAll show_attending(Workbench& bench, const Tensor<2>& x) {
  const auto d = x.shape(1);
  auto first = Tensor<2>::from_shape({attending, d});
  std::copy_n(x.begin(), first.size(), first.begin());
  const auto Z_Q = bench.normal<2>("Z_Q", {d, d});
  const auto Z_K = bench.normal<2>("Z_K", {d, d});
  const auto all = initialisations(d);
  auto score_std = Tensor<1>::from_shape({all.size()}), entropy = score_std;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto measured = attend(first, Z_Q, Z_K, all[i].standard_deviation);
    score_std(i) = measured.score_std;
    entropy(i) = measured.entropy;
  }
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
  return {score_std, entropy};
}

/// A row for an initialisation: s, the factor in theory, and the variance in some of the layers.
std::string row_of_variances(const std::string& name, const Initialisation& initialisation, double factor,
                             const Tensor<1>& variance) {
  const auto last = variance.size() - 1;
  return fmt::format("\n{:<16} {:>8.4f} {:>8.4g} {:>9.4g} {:>9.4g} {:>9.4g}", name,
                     initialisation.standard_deviation, factor, variance(0),
                     variance(std::min<std::size_t>(1, last)), variance(last));
}

/// The number of layers, from the first on, whose chance error is small enough for a claim.
std::size_t layers_to_claim(const VarianceThroughLayers& xavier) {
  std::size_t layers = 0;
  while (layers + 1 < xavier.variance.size() && xavier.variance(layers) > 0.0 &&
         xavier.standard_error(layers + 1) <= largest_error)
    ++layers;
  return layers;
}

}  // namespace

VarianceThroughLayers variance_through_layers(const Tensor<2>& x, const Tensor<3>& Z, double s,
                                              Between between) {
  const auto d = x.shape(1);
  if (Z.shape(1) != d || Z.shape(2) != d)
    throw attn::shape_mismatch("variance_through_layers", "x", x, "Z", Z,
                               "each layer must be as wide as x is");
  const auto layers = Z.shape(0);
  VarianceThroughLayers followed = {xt::zeros<double>({layers + 1}), xt::zeros<double>({layers + 1})};
  Tensor<2> y = x;
  followed.variance(0) = mean_square(x);
  const double expected_ratio = static_cast<double>(d) * s * s;
  for (std::size_t l = 0; l < layers; ++l) {
    if (between == Between::nothing)
      followed.standard_error(l + 1) = expected_ratio * relative_error_of_next(y);
    else if (l > 0)
      y = relu(std::move(y));
    y = attn::matmul_in_order(y, weight_of_layer(Z, l, s));
    followed.variance(l + 1) = mean_square(y);
  }
  return followed;
}

double error_of_ratios(const VarianceThroughLayers& followed, std::size_t layers, attn::Dtype dtype) {
  double largest = 0.0;
  for (std::size_t l = 1; l <= layers; ++l) {
    const double ratio = followed.variance(l) / followed.variance(l - 1);
    const double rounding_error = 4.0 * attn::largest_rounding_error(dtype, 1.0);
    const double error = attn::maximum({0.0, std::abs(ratio - 1.0) - rounding_error});
    largest = attn::maximum({largest, error / followed.standard_error(l)});
  }
  return largest;
}

VarianceThroughLayers show_initialisations(Workbench& bench) {
  const auto d = bench.d_model(), layers = *bench.options.layers;
  const auto x = bench.normal<2>("x", {vectors, d});
  const auto Z = bench.normal<3>("Z", {layers, d, d});
  const auto all = initialisations(d);
  const auto &xavier = all[0], &he = all[1], &fixed = all[2];
  bench.trace.label("layer", {{numbers_below(layers + 1)}});
  auto table = fmt::format("{:<16} {:>8} {:>8} {:>9} {:>9} {:>9}", "", "s", "factor", "input", "layer 1",
                           fmt::format("layer {}", layers));
  const auto show = [&](const Initialisation& initialisation, Between between, const std::string& title,
                        const std::string& note) {
    auto followed = show_variance(bench, x, Z, initialisation, between, title, note);
    const double s = initialisation.standard_deviation;
    const bool has_relu = between == Between::relu;
    table += row_of_variances(initialisation.name + (has_relu ? ", ReLU" : ""), initialisation,
                              static_cast<double>(d) * s * s * (has_relu ? 0.5 : 1.0), followed.variance);
    return followed;
  };
  show_factors(bench);
  auto kept =
      show(xavier, Between::nothing, "Xavier: the variance stays",
           fmt::format("s = √(2 / (fan_in + fan_out)) = 1/√{} here, where both are {}. Layer 0 is the input.",
                       d, d));
  kept.standard_error = bench.trace.step(
      {.id = "xavier/standard_error",
       .title = "The standard error of the variance in one layer",
       .formula = "√(2/d · tr(A²)) / tr(A)\nA = xᵀx,  x the layer before",
       .axes = {"layer"},
       .note =
           "One standard error of the ratio of a layer's variance to the one before. It shrinks as d grows."},
      kept.standard_error);
  show(he, Between::nothing, "He: the variance doubles in every layer",
       "s = √(2 / fan_in). With ReLU in between that is right, see below; without, as in W_Q, W_K and W_V, "
       "it is not.");
  show(
      fixed, Between::nothing,
      fmt::format("0.02: the variance times d · s² = {:.4g} in every layer", 0.0004 * static_cast<double>(d)),
      "One number for every width is right for one width: d = 1 / 0.02² = 2500. In small models it makes "
      "the numbers too small; large ones are not, and residuals and layer norm make up for the rest.");
  show(xavier, Between::relu, "Xavier with ReLU in between: the variance halves",
       "ReLU sets half of the numbers to 0, and half of the mean of y² goes with them.");
  show(he, Between::relu, "He with ReLU in between: the variance stays",
       "The 2 in √(2 / fan_in) is there for this half. (The first layer doubles: its input has not been "
       "through ReLU.)");
  show_attending(bench, x);
  bench.trace.note("comparison", "Measured: the mean of y² after some layers",
                   fmt::format("{} random vectors go through {} layer{}. Where it says ReLU, each but the "
                               "first reads ReLU of the one before. Layer 1 has the factor without.",
                               vectors, layers, layers == 1 ? "" : "s"),
                   table);
  return kept;
}

void claim_initialisation(Workbench& bench, const VarianceThroughLayers& xavier) {
  auto& trace = bench.trace;
  const auto layers = layers_to_claim(xavier);
  const auto all_layers = xavier.variance.size() - 1;
  if (layers < all_layers)
    trace.note("too-narrow", "Too narrow to be sure",
               fmt::format("The narrower and the deeper, the more chance has to say. That Xavier keeps the "
                           "variance is claimed of {} of the {} layers, as far as one standard error stays "
                           "below {:g}; from about --d-model 24 on it does in the first.",
                           layers == 0   ? "none"
                           : layers == 1 ? "the first"
                                         : fmt::format("the first {}", layers),
                           all_layers, largest_error));
  if (layers == 0) return;
  trace.claim({.id = "xavier-keeps-the-variance",
               .claim = "Xavier keeps the mean of y² (in standard errors)",
               .formula = "max |variance / variance before − 1| / standard_error",
               .value = error_of_ratios(xavier, layers, trace.dtype()),
               .limit = attn::at_most(standard_errors),
               .note = "For square W drawn independently of x, with nothing but W between the layers."});
}

}  // namespace lessons
