#include "fast/bench/xtensor_contestant.hpp"

#include <algorithm>
#include <memory>

#include "attn/layers/attention.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"

namespace attn::bench {

namespace {

std::optional<Array<bool, 3>> mask_of(const Setting& setting) {
  if (!setting.hides_keys()) return std::nullopt;
  const std::size_t n = setting.n;
  const auto window = window_mask(n, n, setting.window.value_or(n));
  return repeat_mask(setting.causal ? both(causal_mask(n, n), window) : window, 1);
}

/// Scores, scaled, masked, weights and, on the way back, as many gradients; a product of float tensors is
/// computed in float64, which takes two more matrices of a head.
double score_bytes(const Setting& setting, std::size_t element_size) {
  const auto n = static_cast<double>(setting.n), heads = static_cast<double>(setting.heads);
  const double steps = (setting.hides_keys() ? 4.0 : 3.0) + (setting.backward ? 4.0 : 0.0);
  return n * n * (heads * steps * static_cast<double>(element_size) + 2.0 * sizeof(double));
}

/// The other contestants know where the operands lie: they keep their place.
template <class T>
void copy_to(Array<T, 4>& operand, const Tensor<4>& result) {
  std::transform(result.begin(), result.end(), operand.begin(), [](double x) { return static_cast<T>(x); });
}

template <class T>
Passes prepare(Operands<T>& operands, const Setting& setting) {
  const auto mask = std::make_shared<const std::optional<Array<bool, 3>>>(mask_of(setting));
  const auto attention = std::make_shared<Attention<4>>();
  Passes passes{.forward = [&operands, heads = setting.heads, mask, attention] {
    *attention = scaled_dot_product_attention(Tensor<4>(operands.query), repeat_heads(Tensor<4>(operands.key), heads),
                                              repeat_heads(Tensor<4>(operands.value), heads), *mask);
    copy_to(operands.output, attention->output);
  }};
  if (setting.backward && setting.heads == setting.kv_heads)
    passes.backward = [&operands, attention] {
      const auto gradients = scaled_dot_product_attention_backward(
          Tensor<4>(operands.d_output), *attention, Tensor<4>(operands.query), Tensor<4>(operands.key), Tensor<4>(operands.value));
      copy_to(operands.d_query, gradients.d_Q);
      copy_to(operands.d_key, gradients.d_K);
      copy_to(operands.d_value, gradients.d_V);
    };
  return passes;
}

}  // namespace

template <class T>
Contestant<T> xtensor_contestant() {
  return {.name = "xtensor",
          .task = [](const Setting& setting) { return Task{.setting = setting}; },
          .obstacle = [](const Setting&) { return ""; },
          .score_bytes = [](const Setting& setting) { return score_bytes(setting, sizeof(T)); },
          .prepare = prepare<T>};
}

template Contestant<float> xtensor_contestant();
template Contestant<double> xtensor_contestant();

}  // namespace attn::bench
