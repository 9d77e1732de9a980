#pragma once

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// How large dot-product scores s = qᵀk are, and what softmax makes of them, for one d_k. What is said of
/// weights is averaged over rows of them, which are softmax(s) (raw) or softmax(s / √d_k) (scaled).
struct ScoreStatistics {
  double d_k = 0.0;
  double mean = 0.0, variance = 0.0, std = 0.0;
  double entropy_raw = 0.0, entropy_scaled = 0.0;
  double max_weight_raw = 0.0, max_weight_scaled = 0.0;
  double jacobian_raw = 0.0, jacobian_scaled = 0.0;
};

/// The dot products of `samples` random queries with as many random keys, all numbers normal(0, 1): all
/// queries are drawn before the first key. Products are summed in float64 and rounded once to T.
Tensor<1> random_scores(Random& random, std::size_t samples, std::size_t d_k);

/// The scores are taken as they are for the moments, and in rows of `keys` of them, as if each row were one
/// query's, for softmax; a rest that fills no row is left out there. Instantiated for float and double.
/// Throws std::invalid_argument where there are no scores.
ScoreStatistics score_statistics(const Tensor<1>& scores, std::size_t d_k, std::size_t keys);

/// What chance alone does to the mean of `samples` such scores: √(Var(s) / samples), and Var(s) = d_k.
double standard_error_of_mean(double d_k, double samples);

/// The same for their variance: √(Var(s²) / samples). For a given q the score is normal with variance |q|²,
/// so E[s⁴] = 3 E[|q|⁴] = 3 d_k² + 6 d_k, and Var(s²) = E[s⁴] − E[s²]² = 2 d_k² + 6 d_k.
double standard_error_of_variance(double d_k, double samples);

}  // namespace attn
