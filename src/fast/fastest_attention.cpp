#include "fast/fastest_attention.hpp"

#include <cmath>

#include "attn/efficient/feature_maps.hpp"
#include "attn/efficient/fused_attention.hpp"
#include "attn/efficient/linear_attention.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "fast/known_masks.hpp"
#include "fast/sparse/kernels.hpp"

namespace attn {

namespace {

/// Nothing where the kernels do not know the mask.
template <std::size_t N>
std::optional<fast::Visibility> known_visibility(const std::optional<Mask<3>>& mask, const Tensor<N>& Q,
                                                 const Tensor<N>& K) {
  if (!mask) return fast::Visibility();
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

template <std::size_t N>
std::optional<KernelOutput<N>> computed(fast::Outcome<fast::Output<N>> outcome) {
  auto* output = std::get_if<fast::Output<N>>(&outcome);
  if (output == nullptr) return std::nullopt;
  return KernelOutput<N>{output->kernel, std::move(output->output)};
}

}  // namespace

template <std::size_t N>
KernelOutput<N> fastest_attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor,
                                  const std::optional<Mask<3>>& mask) {
  if (const auto visible = known_visibility(mask, Q, K))
    if (auto output = computed(fast::attention(Q, K, V, divisor, *visible))) return *output;
  return {"fused_attention", fused_attention(Q, repeated(K, Q), repeated(V, Q), divisor, mask)};
}

std::optional<KernelGradients> fastest_attention_gradients(const Tensor<3>& Q, const Tensor<3>& K,
                                                           const Tensor<3>& V, double divisor,
                                                           const std::optional<Mask<3>>& mask,
                                                           const Tensor<3>& d_output) {
  const auto visible = known_visibility(mask, Q, K);
  if (!visible) return std::nullopt;
  const auto outcome = fast::attention_backward(Q, K, V, divisor, *visible, d_output);
  const auto* gradients = std::get_if<KernelGradients>(&outcome);
  return gradients == nullptr ? std::nullopt : std::optional(*gradients);
}

KernelOutput<2> fastest_block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                               const fast::BlockPattern& pattern, bool causal) {
  if (auto output = computed(fast::block_sparse_attention(Q, K, V, pattern, causal))) return *output;
  KernelOutput<2> result = {"sparse-plain", Tensor<2>({Q.shape(0), V.shape(1)})};
  const fast::Sizes sizes = {.n_q = Q.shape(0), .n_k = K.shape(0), .d_k = Q.shape(1), .d_v = V.shape(1)};
  block_sparse::kernels().front().forward(
      block_sparse::Forward<double>{{.sizes = sizes,
                                     .visible = {.causal = causal},
                                     .scale = 1.0 / std::sqrt(static_cast<double>(sizes.d_k)),
                                     .query = Q.data(),
                                     .key = K.data(),
                                     .value = V.data(),
                                     .output = result.output.data(),
                                     .log_sum_exp = nullptr},
                                    &pattern});
  return result;
}

KernelOutput<2> fastest_linear_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                         bool causal) {
  const auto phi_Q = elu_plus_one(Q), phi_K = elu_plus_one(K);
  if (auto output = computed(fast::linear_attention(phi_Q, phi_K, V, causal))) return *output;
  const auto mask = causal ? causal_mask(Q.shape(0), K.shape(0)) : Mask<2>({Q.shape(0), K.shape(0)}, true);
  return {"linear-plain", plain_linear_attention(phi_Q, phi_K, V, mask).output};
}

template KernelOutput<3> fastest_attention(const Tensor<3>&, const Tensor<3>&, const Tensor<3>&, double,
                                           const std::optional<Mask<3>>&);
template KernelOutput<4> fastest_attention(const Tensor<4>&, const Tensor<4>&, const Tensor<4>&, double,
                                           const std::optional<Mask<3>>&);

}  // namespace attn
