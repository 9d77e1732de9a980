#pragma once

#include <cstdint>
#include <utility>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How many keys dropout is shown on.
constexpr std::size_t dropout_keys = 6;

/// How many vectors are sent through freshly drawn layers, and how many of them attend to each other.
constexpr std::size_t vectors = 256, attending = 16;

/// Claims about chance allow for this many standard errors: beyond it lies one run in a million, if the
/// numbers are many enough for a normal distribution.
constexpr double standard_errors = 5.0;

/// What dropout does to attention weights on average, measured over many masks.
struct DropoutMoments {
  Integers<1> first_mask;    ///< [key]
  Tensor<1> mean, variance;  ///< [key], of weights · mask / (1 − p) over all masks
  Integers<1> kept;          ///< [key]: how many of the masks keep it
};

/// Draws `samples` masks one after another, binomial(1, 1 − p) for each key, as np.random.binomial(1, 1 - p,
/// (samples, keys)) does. Throws std::invalid_argument unless 0 <= p < 1 and there is a sample.
DropoutMoments dropout_moments(attn::Random& random, const Tensor<1>& weights, double p, std::size_t samples);

/// How far the mean is from the weights, in standard errors weight · √(p / (1 − p) / samples), what rounding
/// of the sums and to the format may explain left out: the largest over the keys; NaN where one is NaN.
double error_of_mean(const Tensor<1>& mean, const Tensor<1>& weights, double p, double samples,
                     attn::Dtype dtype);

/// The weights of one query, and their mean under dropout.
struct ShownDropout {
  Tensor<1> weights, mean;  ///< [key]
};

/// The group `dropout/`, and what it claims.
ShownDropout show_dropout(Workbench& bench);
void claim_dropout(Workbench& bench, const ShownDropout& shown);

/// What stands between two layers.
enum class Between { nothing, relu };

/// What a stack of freshly drawn layers does to the size of the numbers that go through it.
struct VarianceThroughLayers {
  /// [layer], entry 0 for the input: the mean of y² over all y of the layer, taken before ReLU. It is the
  /// variance where the mean of y is 0, as it is for weights drawn with mean 0.
  Tensor<1> variance;

  /// [layer]: one standard error of variance[l] / variance[l − 1] around d · s², with nothing between the
  /// layers; 0 for the input and where the layer before has vanished. For weights normal(0, s) and given x
  /// the ratio is a sum of chi-squares over the eigenvalues of A = xᵀx: its standard deviation is d · s² ·
  /// √(2/d · tr(A²)/tr(A)²).
  Tensor<1> standard_error;
};

/// Follows x [sample×d_model] through the layers y = x W with W = s · Z, where Z [layer×d_model×d_model] was
/// drawn normal(0, 1). Throws std::invalid_argument, with both shapes, where they do not match.
VarianceThroughLayers variance_through_layers(const Tensor<2>& x, const Tensor<3>& Z, double s,
                                              Between between);

/// How far the ratio of a layer's variance to the one before is from 1, in standard errors, what rounding to
/// the format may explain left out: the largest over the first `layers` layers; NaN where one is NaN.
double error_of_ratios(const VarianceThroughLayers& followed, std::size_t layers, attn::Dtype dtype);

/// The group `initialisation/`, and what it claims of Xavier's with nothing between the layers.
VarianceThroughLayers show_initialisations(Workbench& bench);
void claim_initialisation(Workbench& bench, const VarianceThroughLayers& xavier);

/// The learning rate of the first transformer (Vaswani et al. 2017, equation 3): it rises in a straight line
/// for `warmup` steps and falls with the root of the step from there on; 0 for step 0. Throws
/// std::invalid_argument where the step is negative or d_model or warmup is not positive.
double learning_rate(std::int64_t step, std::int64_t d_model, std::int64_t warmup);

/// Some steps of training and their learning rates.
struct Schedule {
  Integers<1> steps;  ///< [step]
  Tensor<1> rate;     ///< [step]
};

/// What a warm-up is for, the group `schedule/`, and what it claims.
void explain_schedule(attn::Trace& trace);
Schedule show_schedule(Workbench& bench);
void claim_schedule(attn::Trace& trace, const Schedule& shown, const Options& options);

/// The step [step] that has the largest rate [step], the first of several. Throws std::invalid_argument where
/// there are not as many rates as steps, or none.
std::int64_t step_of_largest(const Integers<1>& steps, const Tensor<1>& rates);

/// The gradients [layer×feature] shortened to `max_norm`, as torch.nn.utils.clip_grad_norm_ does it (Pascanu
/// et al. 2013), in the steps `layer_norms`, `norm`, `factor` and `clipped`. Throws std::invalid_argument
/// unless max_norm is positive.
Tensor<2> clip_by_norm(Workbench& bench, const Tensor<2>& gradients, double max_norm);

/// What clipping is for, the group `clipping/` with its gradients before and after, and what it claims.
void explain_clipping(attn::Trace& trace);
std::pair<Tensor<2>, Tensor<2>> show_clipping(Workbench& bench);
void claim_clipping(attn::Trace& trace, const Tensor<2>& gradients, const Tensor<2>& clipped,
                    double max_norm);

/// Each number by itself cut off at ±limit. Throws std::invalid_argument unless the limit is positive.
Tensor<2> clip_by_value(const Tensor<2>& gradients, double limit);

/// √(Σ x²), also where the squares are too large or too small to be numbers.
double norm_of(const Tensor<2>& x);

/// The cosine of the angle between two tensors of one shape: 1 where they point the same way. NaN where one
/// is 0. Throws std::invalid_argument, with both shapes, where these differ.
double cosine(const Tensor<2>& x, const Tensor<2>& y);

}  // namespace lessons
