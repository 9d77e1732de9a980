#include "lessons/multihead/mistakes.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/self_attention/mistakes.hpp"

namespace lessons {

namespace {

/// Σ over the heads: [batch×head×query×d_v] → [batch×query×d_v].
Tensor<3> sum_of_heads(const Tensor<4>& heads) {
  auto sum = attn::head(heads, 0);
  for (std::size_t h = 1; h < heads.shape(1); ++h) sum = attn::add(sum, attn::head(heads, h));
  return sum;
}

/// The same numbers in the same order under another shape.
template <std::size_t N, std::size_t M>
Tensor<M> in_shape(const Tensor<N>& x, const std::array<std::size_t, M>& shape) {
  auto result = Tensor<M>::from_shape(shape);
  std::copy(x.begin(), x.end(), result.begin());
  return result;
}

}  // namespace

Tensor<4> split_by_reshape_alone(const Tensor<3>& x, std::size_t heads) {
  return in_shape<3, 4>(x, {x.shape(0), heads, x.shape(1), x.shape(2) / heads});
}

Tensor<3> merged_by_reshape_alone(const Tensor<4>& heads) {
  return in_shape<4, 3>(heads, {heads.shape(0), heads.shape(2), heads.shape(1) * heads.shape(3)});
}

attn::Mistakes mistakes_of_split(const Tensor<3>& x, std::size_t heads) {
  return {{"heads-reshape-only", [&x, heads] { return split_by_reshape_alone(x, heads); }}};
}

attn::Mistakes mistakes_of_query_heads(const Tensor<3>& Q, std::size_t heads, double divisor) {
  auto mistakes = mistakes_of_key_heads(Q, heads, divisor);
  const auto scaled = [&Q, heads, divisor] { return attn::divide(attn::split_heads(Q, heads), divisor); };
  mistakes.emplace_back("scale-in-weights:heads", scaled);
  mistakes.emplace_back("scale-twice:heads", scaled);
  return mistakes;
}

attn::Mistakes mistakes_of_key_heads(const Tensor<3>& K, std::size_t heads, double divisor) {
  auto mistakes = mistakes_of_split(K, heads);
  const auto scaled = [&K, heads, divisor] {
    return attn::divide(attn::split_heads(K, heads), std::sqrt(divisor));
  };
  mistakes.emplace_back("scale-in-weights:split-heads", scaled);
  mistakes.emplace_back("scale-twice:split-heads", scaled);
  return mistakes;
}

attn::Mistakes mistakes_of_concat(const Tensor<4>& heads) {
  const auto mean = [&heads] {
    return attn::divide(sum_of_heads(heads), static_cast<double>(heads.shape(1)));
  };
  const auto feature_first = [&heads] {
    const auto h = heads.shape(1), d_v = heads.shape(3);
    auto merged = Tensor<3>::from_shape({heads.shape(0), heads.shape(2), h * d_v});
    for (std::size_t b = 0; b < heads.shape(0); ++b)
      for (std::size_t head = 0; head < h; ++head)
        for (std::size_t i = 0; i < heads.shape(2); ++i)
          for (std::size_t k = 0; k < d_v; ++k) merged(b, i, k * h + head) = heads(b, head, i, k);
    return merged;
  };
  return {{"merge-reshape-only", [&heads] { return merged_by_reshape_alone(heads); }},
          {"heads-summed", [&heads] { return sum_of_heads(heads); }},
          {"heads-averaged", mean},
          {"merge-feature-first", feature_first}};
}

attn::Mistakes mistakes_of_head_output(const Tensor<4>& heads, const Tensor<3>& concat,
                                       const LinearMap& map) {
  const auto h = static_cast<double>(heads.shape(1));
  const auto through_first_rows = [&heads, map](double divisor) {
    const auto W = attn::rows(map.W, 0, heads.shape(3));
    return LinearMap{W, map.b}(attn::divide(sum_of_heads(heads), divisor));
  };
  const auto with_transposed = [&concat, map] { return LinearMap{read_as_transposed(map.W), map.b}(concat); };
  auto mistakes = mistakes_of_bias(concat, "O", map);
  const attn::Mistakes others = {
      {"no-output-projection", [&concat] { return concat; }},
      {"weight-transposed", with_transposed},
      {"weight-transposed:output", with_transposed},
      {"heads-summed", [&heads] { return sum_of_heads(heads); }},
      {"heads-summed:projected", [=] { return through_first_rows(1.0); }},
      {"heads-averaged", [&heads, h] { return attn::divide(sum_of_heads(heads), h); }},
      {"heads-averaged:projected", [=] { return through_first_rows(h); }},
      {"dropout-on-output",
       [&concat, map](const Tensor<3>& theirs) { return with_dropout_of(theirs, map(concat)); }},
  };
  mistakes.insert(mistakes.end(), others.begin(), others.end());
  return mistakes;
}

}  // namespace lessons
