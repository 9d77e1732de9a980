#include "lessons/efficient/variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/documents/part_run.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

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

Tensor<2> output_under(const VariantBench& on, const Mask<2>& mask) {
  const auto Q = attn::as_batch(on.Q), K = attn::as_batch(on.K), V = attn::as_batch(on.V);
  const std::optional<Mask<3>> visible = attn::repeat_mask(mask, 1);
  PartRun run(on.bench);
  tell_attention(run, Q, K, V, visible);
  return attn::sample(run.take<3>("output"), 0);
}

void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const std::vector<Tensor<2>>& outputs, const Tensor<2>& masked) {
  double difference = 0.0;
  for (const auto& output : outputs)
    difference = attn::maximum({difference, attn::max_abs_difference(output, masked)});
  on.bench.trace.claim({.id = id,
                        .claim = claim,
                        .formula = "max |output − softmax(masked Q Kᵀ / √d_k) V|",
                        .value = difference,
                        .limit = rounding(on.bench.trace, on.magnitude)});
}

void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const std::vector<Tensor<2>>& outputs) {
  if (!on.masked) on.masked = output_under(on, on.visible_mask());
  claim_equals_masked(on, id, claim, outputs, *on.masked);
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
