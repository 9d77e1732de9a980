#include "lessons/masking/claims.hpp"

#include <fmt/format.h>

#include <optional>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

void claim_rows_sum_to_1(Workbench& bench, const Masks& masks, const MaskedAttention& causal,
                         const MaskedAttention& padding, const MaskedAttention& combined,
                         const FullyMasked& fully_masked) {
  bench.trace.claim(
      {.id = "rows-sum-to-1",
       .claim = "each row that may see a key sums to 1",
       .formula = "max |Σⱼ weights − 1|",
       .value = attn::maximum({attn::row_sum_deviation(causal.weights, masks.causal),
                               attn::row_sum_deviation(padding.weights, masks.padding),
                               attn::row_sum_deviation(combined.weights, masks.combined),
                               attn::row_sum_deviation(fully_masked.weights, fully_masked.mask)}),
       .limit = rounding(bench.trace)});
}

void claim_hidden(attn::Trace& trace, const Masks& masks, const MaskedAttention& causal,
                  const MaskedAttention& padding, const MaskedAttention& combined) {
  trace.claim({.id = "future-weights-are-0",
               .claim = "no weight falls on a later word",
               .formula = "max weight where causal_mask is false, causal and combined",
               .value = attn::maximum({attn::largest_hidden_weight(causal.weights, masks.causal),
                                       attn::largest_hidden_weight(combined.weights, masks.causal)}),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "padding-weights-are-0",
               .claim = "no weight falls on padding",
               .formula = "max weight where padding_mask is false, padding and combined",
               .value = attn::maximum({attn::largest_hidden_weight(padding.weights, masks.padding),
                                       attn::largest_hidden_weight(combined.weights, masks.padding)}),
               .limit = attn::exactly(0.0)});
}

Tensor<3> with_last_token_changed(Tensor<3> X) {
  const auto last = X.shape(1) - 1;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t j = 0; j < X.shape(2); ++j) X(b, last, j) += 1.0;
  return X;
}

/// Adds 1 to every number of the last token's vector, computes everything again and compares what the tokens
/// before it take home.
void claim_causality(Workbench& bench, const Tensor<3>& X, const ProjectionWeights& weights,
                     const Mask<3>& causal_mask, const Tensor<3>& causal_output) {
  auto mute = bench.mute();
  const auto earlier = bench.plan.sentence.length() - 1;
  const auto output = [&](const Tensor<3>& x, const std::optional<Mask<3>>& mask) {
    return single_head_attention(mute, {"X", x}, {"X", x}, weights, mask).output;
  };
  const auto distance = [&](const Tensor<3>& a, const Tensor<3>& b) {
    return attn::max_abs_difference(attn::first_rows(a, earlier), attn::first_rows(b, earlier));
  };
  const auto changed = with_last_token_changed(X);
  const auto unmasked = distance(output(changed, std::nullopt), output(X, std::nullopt));
  bench.trace.claim(
      {.id = "future-does-not-leak",
       .claim = "changing the last word changes no earlier output",
       .formula = "max |causal/output(X with 1 added to its last row) − causal/output|, earlier rows",
       .value = distance(output(changed, causal_mask), causal_output),
       .limit = attn::exactly(0.0),
       .note = earlier == 0
                   ? "There is one token only, so nothing is earlier."
                   : fmt::format("Without the mask the same change moves them by up to {:.4f}.", unmasked)});
}

void claim_nothing_to_see(attn::Trace& trace, const FullyMasked& fully_masked, const Tensor<3>& V) {
  trace.claim({.id = "nothing-to-see-is-0",
               .claim = "a query that may see nothing gets the output 0",
               .formula = "max |fully_masked/weights V|, first row",
               .value = attn::max_abs(attn::first_rows(attn::matmul(fully_masked.weights, V), 1)),
               .limit = attn::exactly(0.0)});
}

void claim_broadcast(attn::Trace& trace, const BroadcastMasks& broadcast, const MaskedAttention& causal,
                     const MaskedAttention& padding) {
  trace.claim({.id = "2D-equals-3D",
               .claim = "a mask [query×key] does what it does repeated for each sample",
               .formula = "max |broadcast=2D/weights − broadcast=3D/weights|",
               .value = attn::max_abs_difference(broadcast.of_2D, broadcast.of_3D),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "4D-is-per-head",
               .claim = "with a mask for each head, each head is what it would be alone",
               .formula = "max |broadcast=4D/weights − [causal/weights, padding/weights]|",
               .value = attn::max_abs_difference(
                   broadcast.of_4D, attn::stack_heads<double>({causal.weights, padding.weights})),
               .limit = attn::exactly(0.0)});
}

}  // namespace

void claim_masking(Workbench& bench, const MaskingRun& run) {
  claim_rows_sum_to_1(bench, run.masks, run.causal, run.padding, run.combined, run.fully_masked);
  claim_hidden(bench.trace, run.masks, run.causal, run.padding, run.combined);
  claim_causality(bench, run.X, run.weights, run.masks.causal, run.causal.output);
  claim_nothing_to_see(bench.trace, run.fully_masked, run.V);
  claim_broadcast(bench.trace, run.broadcast, run.causal, run.padding);
}

}  // namespace lessons
