#include "lessons/efficient/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/sdpa.hpp"

namespace lessons {

std::string VariantBench::bytes_of(std::size_t count, const std::string& what) const {
  return fmt::format("{} {} · {} bytes", count, what, attn::item_size(bench.trace.dtype()));
}

void show_result(VariantBench& on, const std::string& variant, const CostWords& words,
                 const Tensor<2>& output, const attn::Cost& cost, const Tensor<2>& reference) {
  auto& trace = on.bench.trace;
  const double difference = attn::max_abs_difference(output, reference);
  const double error = difference <= rounding(trace, on.magnitude).bound ? 0.0 : difference;
  trace.step({.id = variant + "/error",
              .title = fmt::format("How far the output of {} is off", variant),
              .formula = fmt::format("max |{}/output − {}|", variant, words.reference),
              .from = {variant + "/output", words.reference},
              .note = error == 0.0 ? "0: what is left is rounding." : ""},
             error);
  trace.step({.id = variant + "/multiply_adds",
              .title = fmt::format("The multiply-adds of {}", variant),
              .formula = words.multiply_adds,
              .from = {"Q", "K", "V"}},
             cost.multiply_adds);
  trace.step({.id = variant + "/score_bytes",
              .title = fmt::format("The bytes of scores that {} held at one time", variant),
              .formula = words.score_bytes,
              .from = {"Q", "K", "V"}},
             cost.score_bytes);
  on.shown.push_back({variant, cost, error});
}

template <std::size_t N>
void require_fitting(const std::string& op, const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V) {
  if (Q.shape(N - 1) != K.shape(N - 1))
    throw attn::shape_mismatch(op, "Q", Q, "K", K, "the last axes must match");
  if (K.shape(N - 2) != V.shape(N - 2))
    throw attn::shape_mismatch(op, "K", K, "V", V, "the numbers of keys and values must match");
  if (N > 2 && Q.shape(0) != K.shape(0))
    throw attn::shape_mismatch(op, "Q", Q, "K", K, "the batch axes must match");
  if (!std::equal(K.shape().begin(), K.shape().end() - 2, V.shape().begin()))
    throw attn::shape_mismatch(op, "K", K, "V", V, "the batch axes must match");
}

template void require_fitting(const std::string&, const Tensor<2>&, const Tensor<2>&, const Tensor<2>&);
template void require_fitting(const std::string&, const Tensor<4>&, const Tensor<4>&, const Tensor<4>&);

double difference_from_masked(const VariantBench& on, const Tensor<2>& output, const Mask<2>& mask) {
  auto mute = on.bench.mute();
  const auto masked = scaled_dot_product_attention<3>(mute, attn::as_batch(on.Q), attn::as_batch(on.K),
                                                      attn::as_batch(on.V), attn::repeat_mask(mask, 1));
  return attn::max_abs_difference(output, attn::sample(masked.output, 0));
}

void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const Tensor<2>& output, const Mask<2>& mask) {
  on.bench.trace.claim({.id = id,
                        .claim = claim,
                        .formula = "max |output − softmax(masked Q Kᵀ / √d_k) V|",
                        .value = difference_from_masked(on, output, mask),
                        .limit = rounding(on.bench.trace, on.magnitude)});
}

void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const attn::fast::Visibility& visible) {
  const double divisor = std::sqrt(static_cast<double>(on.K.shape(1)));
  claim_equals_kernel(
      on.bench.trace,
      {.id = variant + "-equals-kernel",
       .claim = claim,
       .formula = "max |" + variant + "/output − kernel {}(Q, K, V)|",
       .limit = rounding(on.bench.trace, on.magnitude)},
      attn::max_abs(on.V),
      attn::fast::attention(attn::as_batch(on.Q), attn::as_batch(on.K), attn::as_batch(on.V), divisor,
                            visible),
      [&](const auto& fast) { return attn::max_abs_difference(attn::as_batch(output), fast.output); });
}

}  // namespace lessons
