#include "fast/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "attn/ops/measure.hpp"
#include "attn/tensor.hpp"
#include "fast/exact/kernels.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::fast {

namespace {

constexpr double largest_score = 1e15;
constexpr double largest = 1e280, smallest = 1e-290;  ///< far from overflow and from denormal numbers

template <std::size_t N>
Sizes sizes_of(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V) {
  return {.samples = N > 2 ? Q.shape(0) : 1,
          .heads = N == 4 ? Q.shape(1) : 1,
          .kv_heads = N == 4 ? K.shape(1) : 1,
          .n_q = Q.shape(N - 2),
          .n_k = K.shape(N - 2),
          .d_k = Q.shape(N - 1),
          .d_v = V.shape(N - 1)};
}

template <std::size_t N>
void require_matching(const std::string& function, const Tensor<N>& Q, const Tensor<N>& K,
                      const Tensor<N>& V) {
  const Sizes sizes = sizes_of(Q, K, V);
  if (K.shape(N - 1) != sizes.d_k) throw shape_mismatch(function, "Q", Q, "K", K, "the last axes must match");
  if (!std::equal(K.shape().begin(), K.shape().end() - 1, V.shape().begin()))
    throw shape_mismatch(function, "K", K, "V", V, "all axes but the last must match");
  if (N > 2 && K.shape(0) != sizes.samples)
    throw shape_mismatch(function, "Q", Q, "K", K, "the batch axes must match");
  if (sizes.kv_heads == 0 || sizes.heads % sizes.kv_heads != 0)
    throw shape_mismatch(function, "Q", Q, "K", K, "the heads of K must divide those of Q");
}

void require_visibility(const std::string& function, const Visibility& visible, const Sizes& sizes) {
  for (const auto& [of, positions, count] : {std::tuple("queries", &visible.query_positions, sizes.n_q),
                                             std::tuple("keys", &visible.key_positions, sizes.n_k)})
    if (!positions->empty() && positions->size() != count)
      throw std::invalid_argument(
          fmt::format("[{}] {} positions for {} {}", function, positions->size(), count, of));
  const auto& lengths = visible.key_lengths;
  if (lengths.empty()) return;
  if (lengths.size() != sizes.samples)
    throw std::invalid_argument(
        fmt::format("[{}] {} key lengths for {} samples", function, lengths.size(), sizes.samples));
  if (const auto longest = *std::max_element(lengths.begin(), lengths.end());
      longest > sizes.n_k && visible.key_positions.empty())
    throw std::invalid_argument(
        fmt::format("[{}] a key length of {}, but there are {} keys", function, longest, sizes.n_k));
}

/// Written so that a NaN is unsupported.
std::optional<Unsupported> beyond(const char* what, double magnitude, double limit) {
  if (magnitude <= limit) return std::nullopt;
  return Unsupported{fmt::format("{} may be as large as {:.3g}, beyond {:g}", what, magnitude, limit)};
}

/// Scores beyond 1e15 have no digits behind the point: the running maximum is lost in rounding.
template <std::size_t N>
std::optional<Unsupported> unsupported_scores(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                                              double divisor) {
  const auto d_k = static_cast<double>(Q.shape(N - 1)), n_k = static_cast<double>(K.shape(N - 2));
  const double query = max_abs(Q) / std::abs(divisor), key = max_abs(K);
  if (auto reason = beyond("a score", query * key * d_k, largest_score)) return reason;
  return beyond("a number", maximum({1.0 / std::abs(divisor), query, key, max_abs(V) * n_k}), largest);
}

template <std::size_t N>
Tensor<N> output_for(const Tensor<N>& Q, const Tensor<N>& V) {
  auto shape = Q.shape();
  shape.back() = V.shape(N - 1);
  return Tensor<N>(shape);
}

template <std::size_t N>
exact::Call<double> exact_call(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor,
                               const Visibility& visible, Tensor<N>& output) {
  return {.sizes = sizes_of(Q, K, V),
          .visible = visible,
          .scale = 1.0 / divisor,
          .query = Q.data(),
          .key = K.data(),
          .value = V.data(),
          .output = output.data()};
}

/// Infinity where all are 0.
double smallest_positive(const Tensor<2>& features) {
  double result = std::numeric_limits<double>::infinity();
  for (const double feature : features)
    if (feature > 0.0) result = std::min(result, feature);
  return result;
}

std::optional<Unsupported> unsupported_features(const Tensor<2>& phi_Q, const Tensor<2>& phi_K,
                                                const Tensor<2>& V) {
  const auto n_k = static_cast<double>(phi_K.shape(0)), features = static_cast<double>(phi_K.shape(1));
  const double value = std::max(max_abs(V), 1.0);
  const double sum = max_abs(phi_K) * n_k * value;
  if (auto reason = beyond("a sum", maximum({sum, sum * max_abs(phi_Q) * features, max_abs(V)}), largest))
    return reason;
  const double query = smallest_positive(phi_Q), key = smallest_positive(phi_K);
  const double least = std::min({query, key, query * key});
  if (least >= smallest) return std::nullopt;
  return Unsupported{
      fmt::format("a product of features may be as small as {:.3g}, below {:g}", least, smallest)};
}

}  // namespace

template <std::size_t N>
Outcome<Output<N>> attention(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V, double divisor,
                             const Visibility& visible) {
  require_matching("fast::attention", Q, K, V);
  require_visibility("fast::attention", visible, sizes_of(Q, K, V));
  if (auto reason = unsupported_scores(Q, K, V, divisor)) return *reason;
  const auto& kernel = exact::fastest(sizes_of(Q, K, V));
  Output<N> result = {std::string(kernel.name), output_for(Q, V)};
  kernel.forward(exact_call(Q, K, V, divisor, visible, result.output));
  return result;
}

template <std::size_t N>
Outcome<Gradients<N>> attention_backward(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                                         double divisor, const Visibility& visible,
                                         const Tensor<N>& d_output) {
  require_matching("fast::attention_backward", Q, K, V);
  const Sizes sizes = sizes_of(Q, K, V);
  require_visibility("fast::attention_backward", visible, sizes);
  Tensor<N> output = output_for(Q, V);
  if (d_output.shape() != output.shape())
    throw shape_mismatch("fast::attention_backward", "d_output", d_output, "the output", output,
                         "all axes must match");
  if (auto reason = unsupported_scores(Q, K, V, divisor)) return *reason;
  const auto d_v = static_cast<double>(sizes.d_v);
  if (auto reason = beyond("a gradient of a weight", max_abs(d_output) * max_abs(V) * d_v, largest_score))
    return *reason;
  if (auto reason = beyond("a number", max_abs(d_output), largest)) return *reason;

  const auto& kernel = exact::fastest(sizes);
  Tensor<1> log_sum_exp = Tensor<1>::from_shape({sizes.samples * sizes.heads * sizes.n_q});
  auto call = exact_call(Q, K, V, divisor, visible, output);
  call.log_sum_exp = log_sum_exp.data();
  Gradients<N> result = {std::string(kernel.name), Tensor<N>(Q.shape()), Tensor<N>(K.shape()),
                         Tensor<N>(V.shape())};
  call.d_output = d_output.data();
  call.d_query = result.d_Q.data();
  call.d_key = result.d_K.data();
  call.d_value = result.d_V.data();
  kernel.forward(call);
  kernel.backward(call);
  return result;
}

Outcome<Output<2>> block_sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                          const BlockPattern& pattern, bool causal) {
  require_matching("fast::block_sparse_attention", Q, K, V);
  const Sizes sizes = sizes_of(Q, K, V);
  require_fitting(pattern, sizes);
  const double divisor = std::sqrt(static_cast<double>(sizes.d_k));
  if (auto reason = unsupported_scores(Q, K, V, divisor)) return *reason;
  const auto& kernel = exact::kernels().back();
  if (!kernel.fits(sizes))
    return Unsupported{
        fmt::format("d_k is {} and d_v is {}, and the kernel takes {}", sizes.d_k, sizes.d_v, kernel.limits)};
  Output<2> result = {"sparse-" + std::string(kernel.name), output_for(Q, V)};
  auto call = exact_call(Q, K, V, divisor, {.causal = causal}, result.output);
  call.pattern = &pattern;
  kernel.forward(call);
  return result;
}

Outcome<Output<2>> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                    bool causal) {
  require_matching("fast::linear_attention", phi_Q, phi_K, V);
  if (auto reason = unsupported_features(phi_Q, phi_K, V)) return *reason;
  const auto& kernel = linear_time::kernels().back();
  Output<2> result = {"linear-" + std::string(kernel.name), output_for(phi_Q, V)};
  auto call = exact_call(phi_Q, phi_K, V, 1.0, {.causal = causal}, result.output);
  call.are_features = true;
  kernel.forward(call);
  return result;
}

#define INSTANTIATE(N)                                                                                    \
  template Outcome<Output<N>> attention(const Tensor<N>&, const Tensor<N>&, const Tensor<N>&, double,     \
                                        const Visibility&);                                               \
  template Outcome<Gradients<N>> attention_backward(const Tensor<N>&, const Tensor<N>&, const Tensor<N>&, \
                                                    double, const Visibility&, const Tensor<N>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn::fast
