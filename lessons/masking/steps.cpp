#include "lessons/masking/steps.hpp"

#include <fmt/format.h>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/unguarded_softmax.hpp"

namespace lessons {

namespace {

constexpr double large_negative = -1e9;

/// As if the first token were padding: 1 ≤ j ≤ i, so that row 0 is left with nothing.
Mask<2> causal_mask_without_first_key(std::size_t n) {
  auto mask = attn::causal_mask(n, n);
  for (std::size_t i = 0; i < n; ++i) mask(i, 0) = false;
  return mask;
}

void explain_broadcasting(attn::Trace& trace) {
  trace.note(
      "broadcast", "One mask for many scores",
      "With several heads the scores are [batch×head×query×key]. A mask rarely needs all these axes: the "
      "ones that it lacks are repeated (broadcast). Which one an axis is must be clear, though. NumPy and "
      "PyTorch line up shapes from the right and would take the batch of a mask [batch×query×key] for the "
      "heads.",
      "[query×key]             as it is\n"
      "[batch×query×key]       mask[:, None, :, :]\n"
      "[batch×head×query×key]  as it is");
}

/// The weights of two heads under a mask of any number of axes.
template <std::size_t N>
Tensor<4> show_weights_of_two_heads(Workbench& bench, const std::string& axes,
                                       const std::string& mask_id, const Mask<N>& mask,
                                       const Tensor<4>& scaled, const std::string& title,
                                       const std::string& note) {
  return bench.trace.step({.id = fmt::format("broadcast={}/weights", axes),
                           .title = title,
                           .formula = fmt::format("softmax(broadcast/scaled under {})", mask_id),
                           .from = {"broadcast/scaled", mask_id},
                           .axes = {"head", "query", "key"},
                           .note = note,
                           .distribution = true},
                          attn::softmax(attn::apply_mask(scaled, mask)));
}

}  // namespace

MaskedAttention show_masked_attention(Workbench& bench, const std::string& name,
                                         const Mask<3>& mask, const Tensor<3>& scaled,
                                         const Tensor<3>& V, const std::string& weights_note) {
  auto& trace = bench.trace;
  const auto mask_id = name + "_mask", masked_id = name + "/masked", weights_id = name + "/weights";
  const auto masked = trace.step({.id = masked_id,
                                  .title = "Scores under the " + name + " mask",
                                  .formula = fmt::format("scaled where {}, −∞ elsewhere", mask_id),
                                  .from = {"scaled", mask_id},
                                  .axes = {"query", "key"}},
                                 attn::apply_mask(scaled, mask));
  const auto weights = trace.step({.id = weights_id,
                                   .title = "Shares of what may be seen",
                                   .formula = fmt::format("softmax({})", masked_id),
                                   .from = {masked_id},
                                   .axes = {"query", "key"},
                                   .note = weights_note,
                                   .distribution = true},
                                  attn::softmax(masked));
  const auto output = trace.step({.id = name + "/output",
                                  .title = "Mixtures of the values that may be seen",
                                  .formula = fmt::format("{} V", weights_id),
                                  .from = {weights_id, "V"},
                                  .axes = {"query", "d_v"}},
                                 attn::matmul(weights, V));
  return {weights, output};
}

void show_large_negative_fill(Workbench& bench, const Mask<3>& causal_mask,
                              const Tensor<3>& scaled, const Tensor<3>& weights) {
  auto& trace = bench.trace;
  const auto masked_1e9 =
      trace.step({.id = "causal/masked_1e9",
                  .title = "−10⁹ in place of −∞",
                  .formula = "scaled where causal_mask, −10⁹ elsewhere",
                  .from = {"scaled", "causal_mask"},
                  .axes = {"query", "key"},
                  .note = "Much code does without infinities and writes a large negative number."},
                 attn::apply_mask(scaled, causal_mask, large_negative));
  const auto weights_1e9 = attn::softmax(masked_1e9);
  const bool is_same = attn::max_abs_difference(weights_1e9, weights) == 0.0;
  trace.step(
      {.id = "causal/weights_1e9",
       .title = is_same ? "The same weights" : "Not the same weights",
       .formula = "softmax(causal/masked_1e9)",
       .from = {"causal/masked_1e9"},
       .axes = {"query", "key"},
       .note = is_same
                   ? "Bit for bit those of causal/weights: exp(−10⁹) is far below the smallest number that "
                     "floating point has, so it is exactly 0 too. The two differ where scores are as large "
                     "as 10⁹ themselves, and in a row in which everything is hidden, which comes below. In "
                     "half precision −10⁹ is not even a number: it ends at −65504."
                   : "The scores of this run are so large that −10⁹ is not far below all of them, and a "
                     "hidden key can win. −∞ is below every score.",
       .distribution = true},
      weights_1e9);
}

FullyMasked show_fully_masked_row(Workbench& bench, const Tensor<3>& scaled) {
  const auto batch = scaled.shape(0), n = scaled.shape(1);
  auto& trace = bench.trace;
  trace.note(
      "fully-masked", "A row with nothing to see",
      "What if a query may see no key at all? It happens: pad the sentences of a batch at the front, attend "
      "causally, and the first query could only see itself, which is padding. Nothing is left to share, and "
      "the formula has no answer. Three are in use.");
  const auto mask = trace.step({.id = "fully_masked/mask",
                                .title = "The causal mask, with the first token as padding",
                                .formula = "1 ≤ j ≤ i",
                                .axes = {"query", "key"},
                                .note = "The first row is empty."},
                               attn::repeat_mask(causal_mask_without_first_key(n), batch));
  const auto masked = attn::apply_mask(scaled, mask);
  const auto show = [&](attn::About about, const Tensor<3>& weights) {
    about.from = {"scaled", "fully_masked/mask"};
    about.axes = {"query", "key"};
    about.distribution = true;
    return trace.step(about, weights);
  };
  const auto weights =
      show({.id = "fully_masked/weights",
            .title = "First answer: zeros",
            .formula = "softmax(scaled where mask, −∞ elsewhere)",
            .note = "Nothing to look at, so no attention. The output of the row is 0 and no gradient flows "
                    "through it. This is what the lab does everywhere."},
           attn::softmax(masked));
  show(
      {.id = "fully_masked/weights_1e9",
       .title = "Second answer: equal shares",
       .formula = "softmax(scaled where mask, −10⁹ elsewhere)",
       .note =
           "Now −10⁹ and −∞ differ. All scores of the row are the same −10⁹, so all keys get the same share: "
           "the query reads the average of exactly what it must not see, the future included, and nothing "
           "looks wrong."},
      attn::softmax(attn::apply_mask(scaled, mask, large_negative)));
  show(
      {.id = "fully_masked/weights_nan",
       .title = "Third answer: not a number",
       .formula = "exp(x − max x) / Σ exp(x − max x)\nx = scaled where mask, −∞ elsewhere",
       .note =
           "The largest score of the row is −∞, and −∞ − (−∞) is NaN. It spreads: every sum and product with "
           "it is NaN, even 0 · NaN, so the next layer loses every token that looks at this one, and "
           "training loses every weight."},
      attn::unguarded_softmax(masked));
  return {mask, weights};
}

BroadcastMasks show_broadcast_masks(Workbench& bench, const Mask<3>& causal_mask,
                                       const Mask<3>& padding_mask, const Tensor<3>& scaled) {
  const auto batch = scaled.shape(0), n = scaled.shape(1);
  explain_broadcasting(bench.trace);
  const auto of_two_heads =
      bench.trace.step({.id = "broadcast/scaled",
                        .title = "Two heads with the same scores",
                        .formula = "scaled, twice",
                        .from = {"scaled"},
                        .axes = {"head", "query", "key"},
                        .note = "Real heads have scores of their own. Here they are the same, so that "
                                "whatever differs below is the mask's doing."},
                       attn::stack_heads<double>({scaled, scaled}));
  BroadcastMasks weights;
  weights.of_2D = show_weights_of_two_heads(
      bench, "2D", "causal_mask", attn::causal_mask(n, n), of_two_heads,
      "A mask [query×key]: for every sample and head",
      fmt::format("Mask [{0}×{0}], scores [{1}×2×{0}×{0}]. The mask of a rule about positions alone.", n,
                  batch));
  weights.of_3D = show_weights_of_two_heads(
      bench, "3D", "causal_mask", causal_mask, of_two_heads, "A mask [batch×query×key]: for every head",
      fmt::format("Mask [{1}×{0}×{0}], scores [{1}×2×{0}×{0}]. Each sample has its own, as padding needs it. "
                  "Here each sample's is the same causal one, so the weights are too.",
                  n, batch));
  const auto mask_4D =
      bench.trace.step({.id = "broadcast=4D/mask",
                        .title = "A mask for each head",
                        .formula = "[causal_mask, padding_mask]",
                        .from = {"causal_mask", "padding_mask"},
                        .axes = {"head", "query", "key"},
                        .note = "Head 0 looks back only. Head 1 looks both ways, but never at padding."},
                       attn::stack_heads<bool>({causal_mask, padding_mask}));
  weights.of_4D = show_weights_of_two_heads(
      bench, "4D", "broadcast=4D/mask", mask_4D, of_two_heads,
      "A mask [batch×head×query×key]: nothing to repeat",
      fmt::format(
          "Mask and scores are both [{1}×2×{0}×{0}]. Two views of one sentence, from the same scores.", n,
          batch));
  return weights;
}


}  // namespace lessons
