#include "fast/fastest_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attn/efficient/attend.hpp"
#include "fast/exact/kernels.hpp"
#include "attn/efficient/fused_attention.hpp"
#include "fast/known_masks.hpp"
#include "fast/linear/kernels.hpp"
#include "fast/sparse/kernels.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/measure.hpp"

namespace attn {

namespace {

template <std::size_t N>
exact::Sizes sizes_of(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V) {
  return {.samples = N > 2 ? Q.shape(0) : 1,
          .heads = N == 4 ? Q.shape(1) : 1,
          .kv_heads = N == 4 ? K.shape(1) : 1,
          .n_q = Q.shape(N - 2),
          .n_k = K.shape(N - 2),
          .d_k = Q.shape(N - 1),
          .d_v = V.shape(N - 1)};
}

template <std::size_t N>
bool have_matching_shapes(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V) {
  const exact::Sizes sizes = sizes_of(Q, K, V);
  return K.shape(N - 1) == sizes.d_k &&
         std::equal(K.shape().begin(), K.shape().end() - 1, V.shape().begin()) &&
         K.shape(0) == sizes.samples && sizes.kv_heads > 0 && sizes.heads % sizes.kv_heads == 0;
}

/// Whether scores have digits behind the point, and all products and sums stay far from the largest finite
/// number. Beyond that the running maximum of a fast kernel is lost in rounding.
template <std::size_t N>
bool are_moderate(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor) {
  constexpr double largest_score = 1e15, largest = 1e280;
  const auto d_k = static_cast<double>(Q.shape(N - 1)), n_k = static_cast<double>(K.shape(N - 2));
  const double query = max_abs(Q) / std::abs(divisor), key = max_abs(K);
  return query * key * d_k <= largest_score &&
         maximum({1.0 / divisor, query, key, max_abs(V) * n_k}) <= largest;
}

/// What the kernels of exact attention call this mask. Nothing where they do not know it.
template <std::size_t N>
std::optional<exact::Visibility> known_visibility(const std::optional<Mask<3>>& mask,
                                                  const Tensor<N>& Q, const Tensor<N>& K) {
  if (!mask) return exact::Visibility();
  const bool is_whole =
      mask->shape(0) == Q.shape(0) && mask->shape(1) == Q.shape(N - 2) && mask->shape(2) == K.shape(N - 2);
  return is_whole ? visibility_of(*mask) : std::nullopt;
}

template <std::size_t N>
Tensor<N> repeated(const Tensor<N>& kv_heads, const Tensor<N>& Q) {
  if constexpr (N == 4)
    return repeat_heads(kv_heads, Q.shape(1));
  else
    return kv_heads;
}

/// The operands in float64, and the output that a kernel writes.
template <std::size_t N>
struct Operands {
  Operands(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V)
      : sizes(sizes_of(Q, K, V)), query(Q), key(K), value(V) {
    auto shape = Q.shape();
    shape.back() = sizes.d_v;
    output = Tensor<N>(shape);
  }

  exact::Forward<double> call(double divisor, const exact::Visibility& visible) {
    return {.sizes = sizes,
            .visible = visible,
            .scale = 1.0 / divisor,
            .query = query.data(),
            .key = key.data(),
            .value = value.data(),
            .output = output.data(),
            .log_sum_exp = nullptr};
  }

  exact::Sizes sizes;
  Tensor<N> query, key, value, output;
};

}  // namespace

template <std::size_t N>
KernelOutput<N> fastest_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                                     double divisor, const std::optional<Mask<3>>& mask) {
  const auto visible = known_visibility(mask, Q, K);
  if (!visible || !have_matching_shapes(Q, K, V) || !are_moderate(Q, K, V, divisor))
    return {"fused_attention", fused_attention(Q, repeated(K, Q), repeated(V, Q), divisor, mask)};
  Operands<N> operands(Q, K, V);
  const auto& kernel = exact::fastest(operands.sizes);
  kernel.forward64(operands.call(divisor, *visible));
  return {std::string(kernel.name), operands.output};
}

std::optional<KernelGradients> fastest_attention_gradients(const Tensor<3>& Q, const Tensor<3>& K,
                                                              const Tensor<3>& V, double divisor,
                                                              const std::optional<Mask<3>>& mask,
                                                              const Tensor<3>& d_output) {
  require_fitting("fastest_attention_gradients", Q, K, V);
  const auto visible = known_visibility(mask, Q, K);
  const bool has_moderate_gradients = are_moderate(d_output, V, V, 1.0);  // of the weights, d_output Vᵀ
  if (!visible || !are_moderate(Q, K, V, divisor) || !has_moderate_gradients) return std::nullopt;
  Operands<3> operands(Q, K, V);
  if (d_output.shape() != operands.output.shape())
    throw shape_mismatch("fastest_attention_gradients", "d_output", d_output, "the output", operands.output,
                         "all axes must match");
  Tensor<2> log_sum_exp({Q.shape(0), Q.shape(1)});
  auto forward = operands.call(divisor, *visible);
  forward.log_sum_exp = log_sum_exp.data();
  const auto& kernel = exact::fastest(operands.sizes);
  kernel.forward64(forward);
  const auto d_output64 = d_output;
  Tensor<3> d_Q(Q.shape()), d_K(K.shape()), d_V(V.shape());
  kernel.backward64({forward, d_output64.data(), d_Q.data(), d_K.data(), d_V.data()});
  return KernelGradients{std::string(kernel.name), d_Q, d_K, d_V};
}

KernelOutput<2> fastest_block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K,
                                                  const Tensor<2>& V, const block_sparse::Pattern& pattern,
                                                  bool causal) {
  require_fitting("fastest_block_sparse_attention", Q, K, V);
  Operands<2> operands(Q, K, V);
  const double divisor = std::sqrt(static_cast<double>(operands.sizes.d_k));
  const auto& kernels = block_sparse::kernels();
  const bool is_moderate = are_moderate(Q, K, V, divisor);
  const auto& kernel = *std::find_if(kernels.rbegin(), kernels.rend() - 1, [&](const auto& one) {
    return is_moderate && one.fits(operands.sizes);
  });
  kernel.forward64({operands.call(divisor, {.causal = causal}), &pattern});
  return {"sparse-" + std::string(kernel.name), operands.output};
}

KernelOutput<2> fastest_linear_attention(const Tensor<2>& Q, const Tensor<2>& K,
                                            const Tensor<2>& V, bool causal) {
  require_fitting("fastest_linear_attention", Q, K, V);
  Operands<2> operands(Q, K, V);
  const auto& kernel = linear_time::kernels().back();
  kernel.forward64({.sizes = operands.sizes,
                    .causal = causal,
                    .query = operands.query.data(),
                    .key = operands.key.data(),
                    .value = operands.value.data(),
                    .output = operands.output.data()});
  return {"linear-" + std::string(kernel.name), operands.output};
}

template KernelOutput<3> fastest_attention(const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, double, const std::optional<Mask<3>>&);
template KernelOutput<4> fastest_attention(const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, double, const std::optional<Mask<3>>&);

}  // namespace attn
