#include "lessons/efficient/mistakes.hpp"

#include <algorithm>
#include <limits>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/feature_maps.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

namespace {

CostCounter uncounted() {
  return CostCounter(attn::Dtype::float64);
}

Tensor<2> weights_by(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys) {
  auto counter = uncounted();
  return weights_of_pairs(Q, K, keys, counter);
}

/// The scores where a pair is listed, −∞ elsewhere, normalised down the columns.
Tensor<2> softmax_over_queries(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys) {
  auto scores = attn::divide(attn::matmul(Q, attn::transpose(K)), std::sqrt(static_cast<double>(K.shape(1))));
  const auto mask = attn::mask_of(keys, K.shape(0));
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!mask.data()[i]) scores.data()[i] = -std::numeric_limits<double>::infinity();
  return attn::transpose(attn::softmax(attn::transpose(scores)));
}

Tensor<2> where_listed(Tensor<2> weights, const KeyLists& keys) {
  const auto mask = attn::mask_of(keys, weights.shape(1));
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!mask.data()[i]) weights.data()[i] = 0.0;
  return weights;
}

/// φ(qᵢ)ᵀφ(kⱼ) where the mask is true, 0 elsewhere, not normalised.
Tensor<2> similarities(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const attn::Mask<2>& mask) {
  auto products = attn::matmul(phi_Q, attn::transpose(phi_K));
  for (std::size_t i = 0; i < products.size(); ++i)
    if (!mask.data()[i]) products.data()[i] = 0.0;
  return products;
}

constexpr double usual_epsilon_of_sums = 1e-6;

/// Each row divided by its number and an epsilon.
Tensor<2> divided_with_epsilon(Tensor<2> rows, const attn::Tensor<1>& divisors) {
  const auto width = rows.shape(1);
  for (std::size_t i = 0; i < rows.size(); ++i) rows.data()[i] /= divisors(i / width) + usual_epsilon_of_sums;
  return rows;
}

}  // namespace

attn::Mistakes mistakes_of_pair_weights(const Tensor<2>& Q, const Tensor<2>& K, const KeyLists& keys,
                                        const OtherKeys& other_keys) {
  auto mistakes = mistakes_of_scale(
      K.shape(1), [&](double factor) { return weights_by(attn::divide(Q, 1.0 / factor), K, keys); });
  mistakes.emplace_back("scale-keys", [&] {
    const double root = std::sqrt(static_cast<double>(K.shape(1)) / static_cast<double>(K.shape(0)));
    return weights_by(attn::divide(Q, 1.0 / root), K, keys);
  });
  mistakes.emplace_back("softmax-axis", [&] { return softmax_over_queries(Q, K, keys); });
  if (Q.shape(0) == K.shape(0)) mistakes.emplace_back("qk-swapped", [&] { return weights_by(K, Q, keys); });
  if (attn::pair_count(keys) < Q.shape(0) * K.shape(0))
    mistakes.emplace_back("mask-after-softmax", [&] {
      return where_listed(weights_by(Q, K, attn::all_keys(Q.shape(0), K.shape(0))), keys);
    });
  for (const auto& other : other_keys)
    mistakes.emplace_back(other.first, [&] { return weights_by(Q, K, other.second); });
  return mistakes;
}

attn::Mistakes mistakes_of_pairs(const OtherKeys& other_keys, std::size_t n) {
  attn::Mistakes mistakes;
  for (const auto& other : other_keys)
    mistakes.emplace_back(other.first, [&, n] { return attn::mask_of(other.second, n); });
  return mistakes;
}

attn::Mistakes mistakes_of_linear_features(const Tensor<2>& x) {
  return {{"features-negative", [&x] { return attn::shift(attn::elu_plus_one(x), -1.0); }}};
}

attn::Mistakes mistakes_of_random_features(const Tensor<2>& x, const Tensor<2>& omega, const Tensor<2>& phi) {
  const double root = std::sqrt(static_cast<double>(x.shape(1)));
  return {{"no-scale",
           [&, root] {
             auto counter = uncounted();
             return attn::positive_random_features(attn::divide(x, 1.0 / std::sqrt(root)), omega, counter);
           }},
          {"features-norm-missing", [&, root] {
             auto features = phi;
             for (std::size_t i = 0; i < phi.shape(0); ++i) {
               double squares = 0.0;
               for (std::size_t k = 0; k < x.shape(1); ++k) squares += x(i, k) * x(i, k);
               for (std::size_t m = 0; m < phi.shape(1); ++m)
                 features(i, m) *= std::exp(squares / (2.0 * root));
             }
             return features;
           }}};
}

attn::Mistakes mistakes_of_implied_weights(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                           const attn::Mask<2>& mask) {
  return {{"linear-normaliser", [&, mask] { return similarities(phi_Q, phi_K, mask); }}};
}

attn::Mistakes mistakes_of_read(const Tensor<2>& phi_Q, const Tensor<2>& S, const attn::Tensor<1>& z) {
  return {{"linear-normaliser", [&] { return attn::matmul(phi_Q, S); }},
          {"normaliser-epsilon",
           [&] { return divided_with_epsilon(attn::matmul(phi_Q, S), attn::matmul(phi_Q, z)); }}};
}

attn::Mistakes mistakes_of_causal_read(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V) {
  const auto n = phi_Q.shape(0);
  return {{"linear-normaliser",
           [&, n] { return attn::matmul(similarities(phi_Q, phi_K, attn::causal_mask(n, n)), V); }},
          {"mask-missing",
           [&, n] {
             return attn::matmul(implied_weights(phi_Q, phi_K, attn::Mask<2>({n, n}, true)), V);
           }},
          {"mask-diagonal", [&, n] {
             auto mask = attn::causal_mask(n, n);
             for (std::size_t i = 0; i < n; ++i) mask(i, i) = false;
             return attn::matmul(implied_weights(phi_Q, phi_K, mask), V);
           }}};
}

attn::Mistakes mistakes_of_chunks(const Tensor<2>& output, std::size_t chunk) {
  return {{"chunk-last-missing", [&output, chunk] {
             auto missing = output;
             const auto whole = output.shape(0) / chunk * chunk;
             std::fill(missing.data() + whole * output.shape(1), missing.data() + missing.size(), 0.0);
             return missing;
           }}};
}

attn::Mistakes mistakes_of_rescaling(const Tensor<2>& rescaling) {
  const auto after_first = [&rescaling](auto change) {
    auto wrong = rescaling;
    std::transform(wrong.data() + wrong.shape(1), wrong.data() + wrong.size(), wrong.data() + wrong.shape(1),
                   change);
    return wrong;
  };
  return {{"online-softmax-sign", [=] { return after_first([](double c) { return 1.0 / c; }); }},
          {"online-softmax-not-rescaled", [=] { return after_first([](double) { return 1.0; }); }}};
}

attn::Mistakes mistakes_of_flash_output(const Tensor<2>& output, const Tensor<2>& sum) {
  return {{"online-softmax-not-divided", [&] {
             auto undivided = output;
             const auto last = sum.shape(0) - 1;
             for (std::size_t i = 0; i < output.shape(0); ++i)
               for (std::size_t c = 0; c < output.shape(1); ++c) undivided(i, c) *= sum(last, i);
             return undivided;
           }}};
}

}  // namespace lessons
