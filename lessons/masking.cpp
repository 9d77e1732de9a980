/// Masks: who may look at whom, and how a key is hidden. Sources: Vaswani et al. 2017, "Attention Is All You
/// Need", section 3.2.3 (the decoder's mask, with −∞); its published code writes −10⁹ instead.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/unguarded_softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/masking/mistakes.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// [batch×query×key], true = may be seen.
struct Masks {
  Mask<3> causal, padding, combined;
};

/// How many tokens of each sentence may be seen. Where no sentence is padded, the last token of each plays
/// the padding, unless it is the only one.
std::vector<std::size_t> visible_lengths(const attn::TokenBatch& sentence) {
  auto lengths = sentence.lengths();
  if (!sentence.is_padded() && sentence.length() > 1)
    for (auto& length : lengths) --length;
  return lengths;
}

std::string padding_note(const attn::TokenBatch& sentence) {
  if (sentence.is_padded())
    return "A sentence that is shorter than the longest one is filled up with <pad>. The filling is no part "
           "of it, so no query may look at it. What the filling itself looks at does no harm: nobody reads "
           "its row.";
  if (sentence.length() == 1)
    return "Nothing is padded here, and a sentence of one word has none to spare to play the padding. So "
           "nothing is hidden. With a longer sentence the last token plays it.";
  const auto actor = sentence.size() == 1
                         ? fmt::format("the last word, \"{}\", is padding", sentence.tokens[0].back())
                         : std::string("the last word of each sentence is padding");
  return fmt::format(
      "Nothing is padded here, so we pretend that {}: no query may look at it. Its own row may look: nobody "
      "reads that. Give two sentences of different length to see real padding.",
      actor);
}

attn::Worked worked_index(std::size_t index) {
  return static_cast<double>(index);
}

/// j ≤ i.
attn::WorkedOut worked_causal() {
  return
      [](const attn::Index& at) { return attn::Worked::at_most(worked_index(at[2]), worked_index(at[1])); };
}

/// j < lengths, which are shown where sentences differ.
attn::WorkedOut worked_padding(const std::vector<std::size_t>& lengths, bool are_shown) {
  return [=](const attn::Index& at) {
    const auto length = worked_index(lengths[at[0]]);
    return attn::Worked::less(worked_index(at[2]),
                              are_shown ? attn::Worked({"lengths", {at[0]}, true}, length.value()) : length);
  };
}

/// The score where it may be seen, and `fill` elsewhere.
attn::WorkedOut worked_filled(attn::Known<3> scores, const Mask<3>& mask, double fill) {
  return [=, seen = attn::worked_mask(scores, mask), &mask](const attn::Index& at) {
    return mask(at[0], at[1], at[2]) ? seen(at) : attn::Worked(fill);
  };
}

/// `causal_mask`, `padding_mask` and `combined_mask`.
Masks masks_of(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  const auto lengths = visible_lengths(sentence);
  auto& trace = bench.trace;
  Masks masks;
  const auto causal = attn::repeat_mask(attn::causal_mask(n, n), sentence.size());
  masks.causal =
      trace.step({.id = "causal_mask",
                  .title = "Hide the future",
                  .formula = "j ≤ i",
                  .axes = {"query", "key"},
                  .note = "Row i marks what query i may see: itself and everything before it. A model that "
                          "writes word by word must not learn from words that it has yet to write.",
                  .worked = worked_causal()},
                 causal, mistakes_of_causal_mask(causal));
  const auto padding = attn::padding_mask(lengths, n, n);
  masks.padding = trace.step(
      {.id = "padding_mask",
       .title = "Hide what is no word",
       .formula = sentence.is_padded() ? "j < lengths" : fmt::format("j < {}", lengths[0]),
       .from = sentence.is_padded() ? std::vector<std::string>{"lengths"} : std::vector<std::string>{},
       .axes = {"query", "key"},
       .note = padding_note(sentence),
       .worked = worked_padding(lengths, sentence.is_padded())},
      padding, mistakes_of_padding_mask(padding));
  masks.combined = trace.step(
      {.id = "combined_mask",
       .title = "Hide both",
       .formula = "causal_mask ∧ padding_mask",
       .from = {"causal_mask", "padding_mask"},
       .axes = {"query", "key"},
       .note = "A key may be seen where both masks let it be seen. This is what a decoder uses on "
               "a batch.",
       .worked =
           [&](const attn::Index& at) {
             return attn::Worked::product({attn::whole_entry("causal_mask", masks.causal, at),
                                           attn::whole_entry("padding_mask", masks.padding, at)});
           }},
      attn::both(masks.causal, masks.padding), mistakes_of_combined_mask(masks.causal, masks.padding));
  return masks;
}

/// The masks of one sentence side by side, a row a query and a column a key: that of the shortest sentence,
/// in which there is most padding.
std::string picture_of(const Masks& masks, const attn::TokenBatch& sentence) {
  constexpr std::size_t most = 9;
  const auto lengths = sentence.lengths();
  const auto b = static_cast<std::size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
  const auto places = places_shown(sentence.length(), most);
  const auto row_of = [&](const Mask<3>& mask, std::size_t i) {
    std::string cells;
    for (const auto& j : places) cells += !j ? "… " : mask(b, i, *j) ? "■ " : "□ ";
    return cells;
  };
  std::vector<std::vector<std::string>> rows = {{"", "", "", ""}};
  const auto width = 2 * places.size();
  for (std::size_t column = 0; column < 3; ++column)
    rows[0][column + 1] =
        attn::pad_right(std::array{"causal", "padding", "combined"}[column], std::max<std::size_t>(width, 8));
  for (const auto& i : places) {
    const auto name =
        i ? *i < sentence.tokens[b].size() ? as_row_name(sentence.tokens[b][*i]) : "<pad>" : "…";
    rows.push_back({name});
    for (const auto* mask : {&masks.causal, &masks.padding, &masks.combined})
      rows.back().push_back(i ? attn::pad_right(row_of(*mask, *i), std::max<std::size_t>(width, 8)) : "");
  }
  return in_columns(rows);
}

void show_pictures(Workbench& bench, const Masks& masks) {
  const auto& sentence = bench.plan.sentence;
  bench.trace.note(
      "masks", "The masks",
      "■ may be seen, □ is hidden; a row is a query, a column a key, in the order of the sentence. The "
      "causal mask lets query i see key j where j ≤ i. It hides every later word: a model that writes word "
      "by word must not learn from words that it has yet to write. The padding mask hides what only fills up "
      "a sentence that is computed together with longer ones (in a batch). " +
          padding_note(sentence) + " The combined mask shows only what both show.",
      picture_of(masks, sentence));
}

/// Attention from the mask on.
struct MaskedAttention {
  Tensor<3> weights;  ///< [batch×query×key]
  Tensor<3> output;   ///< [batch×query×d_v]
};

/// A mask whose first row is empty, and the weights that the lab makes of it.
struct FullyMasked {
  Mask<3> mask;  ///< [batch×query×key]
  Tensor<3> weights;
};

/// The weights of two heads with the same scores, [batch×head×query×key], under a mask of two, three and four
/// axes.
struct BroadcastMasks {
  Tensor<4> of_2D, of_3D, of_4D;
};

constexpr double large_negative = -1e9;

/// As if the first token were padding: 1 ≤ j ≤ i, so that row 0 is left with nothing.
Mask<2> causal_mask_without_first_key(std::size_t n) {
  auto mask = attn::causal_mask(n, n);
  for (std::size_t i = 0; i < n; ++i) mask(i, 0) = false;
  return mask;
}

void explain_broadcasting(attn::Trace& trace) {
  trace.note("broadcast", "One mask for many tables of scores",
             "A batch has several sentences, and each may have several attentions at once, its heads (next "
             "lesson). Scores then have a table for each sentence and head: [batch×head×query×key]. Axes "
             "that a mask lacks are repeated. NumPy and PyTorch line up axes from the right, so they take "
             "the batch of a mask [batch×query×key] for the heads: give it the missing axis.",
             "mask [query×key]        use it as it is\n"
             "mask [batch×query×key]  use mask[:, None, :, :]");
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

/// Those of `masked` where the mask is a step of its own, in which true may mean hidden.
attn::Mistakes mistakes_under(const Workbench& bench, const Mask<3>& mask, const Tensor<3>& scaled) {
  auto mistakes = mistakes_of_masked(bench, scaled, mask);
  mistakes.emplace_back("mask-true-hidden", [&] { return attn::apply_mask(scaled, negated(mask)); });
  return mistakes;
}

/// `NAME/masked`, `NAME/weights` and `NAME/output`: what the mask `NAME_mask` makes of scores and values.
MaskedAttention attend_under(Workbench& bench, const std::string& name, const Mask<3>& mask,
                             const Tensor<3>& scaled, const Tensor<3>& K, const Tensor<3>& V,
                             const std::string& weights_note) {
  auto& trace = bench.trace;
  const auto mask_id = name + "_mask", masked_id = name + "/masked", weights_id = name + "/weights";
  const std::optional visible = mask;
  const double divisor = std::sqrt(static_cast<double>(bench.d_k()));
  const auto masked = trace.step({.id = masked_id,
                                  .title = "What may not be seen gets −∞",
                                  .formula = fmt::format("scaled where {}, −∞ elsewhere", mask_id),
                                  .from = {"scaled", mask_id},
                                  .axes = {"query", "key"},
                                  .worked = attn::worked_mask(attn::Known{"scaled", scaled}, mask)},
                                 attn::apply_mask(scaled, mask), mistakes_under(bench, mask, scaled));
  const auto weights =
      trace.step({.id = weights_id,
                  .title = "The rest is shared out",
                  .formula = "softmax(masked)",
                  .from = {masked_id},
                  .axes = {"query", "key"},
                  .note = weights_note,
                  .distribution = true,
                  .worked = attn::worked_softmax(attn::Known{masked_id, masked})},
                 attn::softmax(masked), mistakes_of_weights(bench, masked, scaled, visible, divisor));
  const auto mixture = attn::matmul(weights, V);
  const auto output =
      trace.step({.id = name + "/output",
                  .title = "Mixtures of what may be seen",
                  .formula = "weights V",
                  .from = {weights_id, "V"},
                  .axes = {"query", "d_v"},
                  .worked = attn::worked_matmul(attn::Known{weights_id, weights}, attn::Known{"V", V})},
                 mixture, mistakes_of_mixture(bench, weights, K, V, mixture));
  return {weights, output};
}

std::string about_large_negative(bool is_same) {
  if (is_same)
    return "Much code writes −10⁹ in place of −∞. The weights are the same here, bit for bit: exp(−10⁹) is "
           "exactly 0 too. They differ where scores are as large as 10⁹ and in a row with nothing to see, "
           "which comes next. In half precision −10⁹ itself becomes −∞ (see the lesson stability).";
  return "Much code writes −10⁹ in place of −∞. The scores of this run are so large that −10⁹ is not far "
         "below "
         "all of them, and a hidden key can get a weight. −∞ is below every score.";
}

/// `causal/masked_1e9` and `causal/weights_1e9`: −10⁹ in place of −∞, beside the `weights` that −∞ gives.
void fill_with_large_negative(Workbench& bench, const Mask<3>& causal_mask, const Tensor<3>& scaled,
                              const Tensor<3>& weights) {
  auto& trace = bench.trace;
  const auto masked_1e9 =
      trace.step({.id = "causal/masked_1e9",
                  .title = "−10⁹ in place of −∞",
                  .formula = "scaled where causal_mask, −10⁹ elsewhere",
                  .from = {"scaled", "causal_mask"},
                  .axes = {"query", "key"},
                  .note = "Much code avoids infinities and writes a large negative number.",
                  .worked = worked_filled({"scaled", scaled}, causal_mask, large_negative)},
                 attn::apply_mask(scaled, causal_mask, large_negative));
  const auto weights_1e9 = bench.mute().trace.step({}, attn::softmax(masked_1e9));
  const bool is_same = attn::max_abs_difference(weights_1e9, weights) == 0.0;
  trace.step({.id = "causal/weights_1e9",
              .title = is_same ? "−10⁹ gives the same weights as −∞" : "−10⁹ gives other weights than −∞",
              .formula = "softmax(causal/masked_1e9)",
              .from = {"causal/masked_1e9"},
              .axes = {"query", "key"},
              .note = about_large_negative(is_same),
              .distribution = true,
              .worked = attn::worked_softmax(attn::Known<3>{"causal/masked_1e9", masked_1e9})},
             weights_1e9);
  trace.note("large-negative", "−10⁹ in place of −∞", about_large_negative(is_same));
}

std::string about_equal_shares(std::size_t n) {
  return n == 1 ? "the one key that must not be seen" : "the average of what must not be seen, unnoticed";
}

/// `fully_masked/…`: the three answers to a query that may see nothing.
FullyMasked attend_to_nothing(Workbench& bench, const Tensor<3>& scaled) {
  const auto batch = scaled.shape(0), n = scaled.shape(1);
  auto& trace = bench.trace;
  trace.note(
      "fully-masked", "A row with nothing to see",
      "What if a query may see no key at all? It happens: pad the sentences of a batch at the front, attend "
      "causally, and the first query could only see itself, which is padding. Nothing is left to share, and "
      "the formula has no answer. Three are in use.");
  const auto no_key_in_row_0 = attn::repeat_mask(causal_mask_without_first_key(n), batch);
  const auto mask =
      trace.step({.id = "fully_masked/mask",
                  .title = "The causal mask, with the first token as padding",
                  .formula = "1 ≤ j ≤ i",
                  .axes = {"query", "key"},
                  .note = "The first row is empty.",
                  .worked =
                      [](const attn::Index& at) {
                        return attn::Worked::product(
                            {attn::Worked::at_most(1.0, worked_index(at[2])), worked_causal()(at)});
                      }},
                 no_key_in_row_0, {{"mask-true-hidden", [&] { return negated(no_key_in_row_0); }}});
  const attn::Known<3> known = {"scaled", scaled};
  const auto show = [&](attn::About about, auto weights_under) {
    about.from = {"scaled", "fully_masked/mask"};
    about.axes = {"query", "key"};
    about.distribution = true;
    return trace.step(about, weights_under(mask),
                      {{"mask-true-hidden", [&] { return weights_under(negated(mask)); }}});
  };
  const auto weights =
      show({.id = "fully_masked/weights",
            .title = "Nothing to see, −∞ guarded: zeros",
            .formula = "softmax(scaled where mask, −∞ elsewhere)",
            .note = "Nothing to look at, so no attention. The output of the row is 0 and no gradient flows "
                    "through it. This is what the lab does everywhere.",
            .worked = attn::worked_softmax(attn::worked_mask(known, mask), n)},
           [&](const Mask<3>& seen) { return attn::softmax(attn::apply_mask(scaled, seen)); });
  const auto weights_1e9 = show(
      {.id = "fully_masked/weights_1e9",
       .title = "Nothing to see, −10⁹: equal shares",
       .formula = "softmax(scaled where mask, −10⁹ elsewhere)",
       .note =
           "Now −10⁹ and −∞ differ. All scores of the row are the same −10⁹, so all keys get the same share: "
           "the query reads the average of exactly what it must not see, the future included, and nothing "
           "looks wrong.",
       .worked = attn::worked_softmax(worked_filled(known, mask, large_negative), n)},
      [&](const Mask<3>& seen) { return attn::softmax(attn::apply_mask(scaled, seen, large_negative)); });
  const auto weights_nan = show(
      {.id = "fully_masked/weights_nan",
       .title = "Nothing to see, −∞ unguarded: not a number",
       .formula = "exp(x − max x) / Σ exp(x − max x)\nx = scaled where mask, −∞ elsewhere",
       .note =
           "The largest score of the row is −∞, and −∞ − (−∞) is NaN. It spreads: every sum and product with "
           "it is NaN, even 0 · NaN, so the next layer loses every token that looks at this one, and "
           "training loses every weight.",
       .worked =
           [&](const attn::Index& at) {
             if (at[1] == 0) return attn::Worked(std::numeric_limits<double>::quiet_NaN());
             return attn::worked_softmax(attn::worked_mask(known, mask), n)(at);
           }},
      [&](const Mask<3>& seen) { return attn::unguarded_softmax(attn::apply_mask(scaled, seen)); });
  const auto left = [](const std::string& text) { return attn::pad_right(text, 52); };
  trace.note(
      "nothing-to-see", "A row with nothing to see",
      "Where the first word is padding a causal mask leaves its query nothing to see. Softmax then has "
      "no answer. What comes out depends on the code. The NumPy above is not guarded: it would give nan. "
      "Each "
      "weight of such a row:",
      in_columns(
          {{"−∞, guarded", fmt::format("{:.4f}", double{weights(0, 0, 0)}),
            left("no attention, output 0: what this lab does")},
           {"−10⁹", fmt::format("{:.4f}", double{weights_1e9(0, 0, 0)}), left(about_equal_shares(n))},
           {"−∞, unguarded",
            std::isnan(weights_nan(0, 0, 0)) ? "nan" : fmt::format("{:.4f}", double{weights_nan(0, 0, 0)}),
            left("(−∞) − (−∞); it spreads to all that reads the row")}}));
  return {mask, weights};
}

/// Why the tables show another shape than [query×key] or the scores'.
std::string about_one_sample(const Workbench& bench) {
  return bench.plan.is_batched()
             ? "The step causal_mask holds this table once for each sample."
             : "The tables leave out the batch axis of a single sentence, which is 1 long.";
}

/// `broadcast/…`: the same rule as a mask of two, three and four axes. With four axes head 0 has the causal
/// mask and head 1 the padding mask.
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

/// "0.3607, 0.1407"
std::string in_words_of_row(const Tensor<2>& weights, std::size_t row) {
  std::vector<std::string> numbers;
  for (std::size_t j = 0; j < weights.shape(1); ++j)
    numbers.push_back(fmt::format("{:.4f}", weights(row, j)));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

/// One row of weights with the mask beside the same row without it: how much a key gains that the others
/// leave.
std::string share_with_and_without(const attn::Event& weights, const Tensor<3>& scaled) {
  const auto n = weights.tensor->shape.back();
  const auto all = attn::softmax(attn::sample(scaled, 0));
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double with_mask = weights.tensor->at(i * n + j), without = all(i, j);
      if (!(with_mask > without + 1e-3) || with_mask > 1.0 - 1e-3) continue;
      double seen = 0.0;
      for (std::size_t k = 0; k < n; ++k)
        if (weights.tensor->at(i * n + k) > 0.0) seen += all(i, k);
      return fmt::format(
          "Hidden keys get exactly 0. The others keep their proportions and grow to a sum of 1: \"{0}\" "
          "gives "
          "\"{1}\" {2:.4f} instead of {3:.4f} (its row without a mask: {4}). Setting hidden weights to 0 "
          "only "
          "after softmax would not do: then this row would sum to {5:.4f}, not 1.",
          name_along(weights, weights.axes.size() - 2, i), name_along(weights, weights.axes.size() - 1, j),
          with_mask, without, in_words_of_row(all, i), seen);
    }
  }
  return "Hidden keys get exactly 0, and the others share what they leave.";
}

/// What the mask takes away from a trained word: the largest share that it gave to a key that is hidden now.
std::string what_the_mask_takes_away(const attn::Event& weights, const Tensor<3>& scaled) {
  const auto n = weights.tensor->shape.back();
  const auto all = attn::softmax(attn::sample(scaled, 0));
  std::size_t most = 0;
  double taken = 0.0;
  for (std::size_t pair = 0; pair < n * n; ++pair)
    if (weights.tensor->at(pair) == 0.0 && all(pair / n, pair % n) > taken) {
      most = pair;
      taken = all(pair / n, pair % n);
    }
  if (taken < 0.5) return "";
  return fmt::format(
      " The model was trained without a mask: there \"{0}\" gave \"{1}\" {2:.4f}, as \"{1}\" decides how "
      "\"{0}\" is said in French. Now it cannot. A model that is to work under a mask is trained under it "
      "(lesson generate).",
      name_along(weights, weights.axes.size() - 2, most / n),
      name_along(weights, weights.axes.size() - 1, most % n), taken);
}

/// The mask, made of the others where it is the combined one, and attention under it.
std::vector<std::string> code_of_mask(const std::string& name, const std::string& mask) {
  return {fmt::format("{}_mask = {}", name, mask),
          fmt::format("{0}_masked  = np.where({0}_mask, scaled, -np.inf)", name),
          fmt::format("{0}_weights = softmax({0}_masked)", name),
          fmt::format("{0}_output  = {0}_weights @ V", name)};
}

/// The three masks and attention under the one that the page goes into, then under the others.
void show_masking_code(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto length =
      sentence.is_padded() ? std::string("lengths") : fmt::format("{}", visible_lengths(sentence)[0]);
  auto lines = softmax_code();
  lines.emplace_back("");
  for (const auto& line : projection_code(bench, "X", "X")) lines.push_back(line);
  lines.insert(lines.end(), {"scores = Q @ K.T", "scaled = scores / np.sqrt(Q.shape[1])", "n = len(X)"});
  const std::string causal = "np.tril(np.ones((n, n), bool))",
                    padding = fmt::format("np.tile(np.arange(n) < {}, (n, 1))", length);
  const std::map<std::string, std::string> masks = {
      {"causal", causal}, {"padding", padding}, {"combined", causal + " & " + padding}};
  for (const auto& line : code_of_mask(bench.options.mask, masks.at(bench.options.mask)))
    lines.push_back(line);
  bench.code(lines);
  for (const std::string name : {"causal", "padding", "combined"})
    if (name != bench.options.mask)
      bench.trace.within(name, [&] { bench.code(code_of_mask(name, masks.at(name))); });
}

std::vector<std::string> masking_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto start = fmt::format("X [{0}×{1}] → scaled [{0}×{0}] ┐", n, bench.d_model());
  const auto mask = fmt::format("{}_mask [{}×{}] ", bench.options.mask, n, n);
  const auto width = std::max(attn::display_width(start), attn::display_width(mask) + 1);
  return {attn::pad_left(start, width),
          attn::pad_left(mask, width - 1) + fmt::format("┴ −∞ where hidden → softmax → weights [{0}×{0}]", n),
          fmt::format("weights V → output [{}×{}]", n, bench.d_v())};
}

std::string what_a_word_more_would_do(const std::string& mask) {
  return mask != "causal"
             ? "The second factors are a column of V, which --all prints."
             : "The second factors are a column of V, which --all prints. One more word at the end would add "
               "a row "
               "and a column to mask, masked and weights. No old row would change: none may see that word.";
}

/// The page goes into one mask; the others are a --mask away. `scaled` is known when the weights are.
void page_of_masking(Workbench& bench, const Tensor<3>& scaled) {
  const auto mask = bench.options.mask;
  const bool is_trained = bench.options.model.has_value();
  bench.trace.page(
      {{"idea"},
       {"masks"},
       {"flow"},
       {"code"},
       attn::in_one_line("Q"),
       attn::in_one_line("K"),
       attn::in_one_line("V"),
       attn::in_one_line("scores"),
       attn::in_one_line("scaled"),
       attn::in_one_line(mask + "_mask"),
       {mask + "/masked",
        [](const auto&) {
          return "A table writes -inf for −∞. In a name \"/\" does not divide: these are the scores under "
                 "one mask.";
        }},
       {mask + "/weights",
        [&scaled, is_trained](const attn::Event& weights) {
          return share_with_and_without(weights, scaled) +
                 (is_trained ? what_the_mask_takes_away(weights, scaled) : "");
        }},
       is_trained
           ? attn::without_table(mask + "/output")
           : attn::OnPage{mask + "/output", [mask](const auto&) { return what_a_word_more_would_do(mask); }},
       {"large-negative"},
       {"nothing-to-see"},
       {"broadcast"}},
      {"rows-sum-to-1", "future-weights-are-0", "padding-weights-are-0", "future-does-not-leak",
       "nothing-to-see-is-0"});
}

void run_masking(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  auto& trace = bench.trace;
  bench.label({"token", "query", "key"}, sentence);
  Tensor<3> scaled;
  page_of_masking(bench, scaled);
  bench.idea(
      "A mask says who may look at whom. Where it says no, the score becomes −∞ before softmax. As exp(−∞) = "
      "0, the key gets no weight, and the others share as if it were not there. In this lab a mask is true "
      "(1) where a key may be seen, as in PyTorch's scaled_dot_product_attention; in its MultiheadAttention "
      "true means hidden." +
          std::string(bench.options.model ? " The scores are those of the lesson self-attention: trained."
                                          : " The scores are random here."),
      "weights = softmax(scaled where mask, −∞ elsewhere)");
  bench.flow(masking_flow(bench));
  show_masking_code(bench);

  bench.show_lengths(sentence);
  const auto X = bench.input<3>({.id = "X", .title = "The sentence as vectors"});
  const auto weights = draw_projection_weights(bench);
  const auto [Q, K, V] = project(bench, {"X", X}, {"X", X}, weights);
  scaled = scaled_scores(bench, Q, K).second;
  const auto masks = masks_of(bench);
  show_pictures(bench, masks);

  const auto causal = attend_under(
      bench, "causal", masks.causal, scaled, K, V,
      "Above the diagonal all is 0. The first word sees only itself and keeps its whole attention; every "
      "later row shares among one key more.");
  fill_with_large_negative(bench, masks.causal, scaled, causal.weights);
  const auto padding = attend_under(
      bench, "padding", masks.padding, scaled, K, V,
      "A hidden key is a column of zeros. All queries share among the keys that are left, before them and "
      "after them.");
  const auto combined =
      attend_under(bench, "combined", masks.combined, scaled, K, V,
                   "Zeros where either mask says no. Every row still has a key to look at.");
  const auto fully_masked = attend_to_nothing(bench, scaled);
  const auto broadcast = broadcast_masks(bench, masks.causal, masks.padding, scaled);

  claim_rows_sum_to_1(bench, masks, causal, padding, combined, fully_masked);
  claim_hidden(trace, masks, causal, padding, combined);
  claim_causality(bench, X, weights, masks.causal, causal.output);
  claim_nothing_to_see(trace, fully_masked, V);
  claim_broadcast(trace, broadcast, causal, padding);
  bench.try_next({{"masking --mask padding", "the same with another mask"},
                  {"masking --sentence \"the cat slept\" --sentence \"cats slept\"", "real padding"},
                  {"multihead", "several attentions side by side"}});
}

std::vector<Input> masking_inputs(const Options&) {
  return joined(
      {{{"X", {"token", "d_model"}, Draw::embedding}}, projection_input_list(), projection_bias_list()});
}

}  // namespace

extern const Lesson masking;
const Lesson masking = {
    .name = "masking",
    .title = "hiding the future and the padding",
    .teaches =
        "How a mask hides keys: the causal mask, the padding mask and both together, −∞ beside −10⁹, a row "
        "in which everything is hidden, and masks of two, three and four axes. The lesson changes the last "
        "token and shows that under the causal mask no earlier output changes.",
    .options = {"sentence", "d-model", "d-k", "d-v", "mask", "seed", "rng", "draws", "weight-scale",
                "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"the small cat slept"}, .d_model = 4},
    .examples =
        {"masking --sentence \"the cat sat on the mat\" --mask combined",
         "masking --sentence \"i love cats\" --sentence \"cats sleep\" --steps combined_mask,combined/"},
    .inputs = masking_inputs,
    .trained = Trained{"gloss", give_gloss},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"}, .d_model = 6, .d_k = 5, .d_v = 5},
                   sharpen_token},
    .run = run_masking,
};

}  // namespace lessons
