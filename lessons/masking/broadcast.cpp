#include "lessons/masking/broadcast.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/masking/mistakes.hpp"

namespace lessons {

namespace {

void explain_broadcasting(attn::Trace& trace) {
  trace.note("broadcast", "In practice: what true means, and the axes of a mask",
             "PyTorch's MultiheadAttention means the opposite: there true hides the key.\n"
             "The next lesson has several attentions, called heads: scores get one axis more. NumPy matches "
             "axes from the right, and a length of 1 fits any other. None adds such an axis:",
             "scores               [batch×head×query×key]\n"
             "mask                            [query×key]   fits\n"
             "mask                      [batch×query×key]   wrong: its batch meets head\n"
             "mask[:, None, :, :]     [batch×1×query×key]   fits");
}

/// The score where a mask of any number of axes, from the last ones, lets it be seen, and −∞ elsewhere.
template <std::size_t N>
attn::WorkedOut worked_broadcast(attn::Known<4> scores, const Mask<N>& mask) {
  return [=, &mask](const attn::Index& at) {
    bool is_seen = false;
    if constexpr (N == 2) is_seen = mask(at[2], at[3]);
    if constexpr (N == 3) is_seen = mask(at[0], at[2], at[3]);
    if constexpr (N == 4) is_seen = mask(at[0], at[1], at[2], at[3]);
    return is_seen ? scores(at) : attn::Worked(-std::numeric_limits<double>::infinity());
  };
}

/// What true means is a convention in a mask that is a step of its own: that of two axes is none.
template <std::size_t N>
attn::Mistakes mistakes_of_broadcast(const Mask<N>& mask, const Tensor<4>& scaled) {
  if constexpr (N == 2)
    return {};
  else
    return {{"mask-true-hidden", [&] { return attn::softmax(attn::apply_mask(scaled, negated(mask))); }}};
}

/// The weights of two heads under a mask of any number of axes.
template <std::size_t N>
Tensor<4> weights_of_two_heads(Workbench& bench, const std::string& axes, const std::string& mask_id,
                               const Mask<N>& mask, const Tensor<4>& scaled, const std::string& title,
                               const std::string& note) {
  return bench.trace.step(
      {.id = fmt::format("broadcast={}/weights", axes),
       .title = title,
       .formula = fmt::format("softmax(broadcast/scaled under {})", mask_id),
       .from = {"broadcast/scaled", mask_id},
       .axes = {"head", "query", "key"},
       .note = note,
       .distribution = true,
       .worked = attn::worked_softmax(worked_broadcast({"broadcast/scaled", scaled}, mask), scaled.shape(3))},
      attn::softmax(attn::apply_mask(scaled, mask)), mistakes_of_broadcast(mask, scaled));
}

/// Why the tables show another shape than [query×key] or the scores'.
std::string about_one_sample(const Workbench& bench) {
  return bench.plan.is_batched()
             ? "The step causal_mask holds this table once for each sample."
             : "The tables leave out the batch axis of a single sentence, which is 1 long.";
}

}  // namespace

BroadcastMasks broadcast_masks(Workbench& bench, const Mask<3>& causal_mask, const Mask<3>& padding_mask,
                               const Tensor<3>& scaled) {
  const auto batch = scaled.shape(0), n = scaled.shape(1);
  explain_broadcasting(bench.trace);
  const auto of_two_heads =
      bench.trace.step({.id = "broadcast/scaled",
                        .title = "Two heads with the same scores",
                        .formula = "scaled, twice",
                        .from = {"scaled"},
                        .axes = {"head", "query", "key"},
                        .note = "Real heads have scores of their own. Here they are the same, so that "
                                "whatever differs below comes from the mask.",
                        .worked = attn::worked_copy<3>({"scaled", scaled},
                                                       [](const attn::Index& at) {
                                                         return attn::Index{at[0], at[2], at[3]};
                                                       })},
                       attn::stack_heads<double>({scaled, scaled}));
  BroadcastMasks weights;
  weights.of_2D = weights_of_two_heads(
      bench, "2D", "causal_mask", attn::causal_mask(n, n), of_two_heads,
      "A mask [query×key]: for every sample and head",
      fmt::format("Mask [{0}×{0}], scores [{1}×2×{0}×{0}]. A rule about positions alone needs no larger "
                  "mask. {2}",
                  n, batch, about_one_sample(bench)));
  weights.of_3D = weights_of_two_heads(
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
                        .note = "Head 0 looks back only. Head 1 looks both ways, but never at padding.",
                        .worked =
                            [&](const attn::Index& at) {
                              const attn::Index pair = {at[0], at[2], at[3]};
                              return at[1] == 0 ? attn::whole_entry("causal_mask", causal_mask, pair)
                                                : attn::whole_entry("padding_mask", padding_mask, pair);
                            }},
                       attn::stack_heads<bool>({causal_mask, padding_mask}));
  weights.of_4D = weights_of_two_heads(
      bench, "4D", "broadcast=4D/mask", mask_4D, of_two_heads,
      "A mask [batch×head×query×key]: nothing to repeat",
      fmt::format(
          "Mask and scores are both [{1}×2×{0}×{0}]. Two views of one sentence, from the same scores.", n,
          batch));
  return weights;
}

}  // namespace lessons
