/// Masks: who may look at whom, and how a key is hidden. Sources: Vaswani et al. 2017, "Attention Is All You
/// Need", section 3.2.3 (the decoder's mask, with −∞); its published code writes −10⁹ instead.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/masking/steps.hpp"
#include "lessons/shared/attention_steps.hpp"
#include "lessons/shared/projections.hpp"

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
           "of it, so its columns are hidden from every query. Its rows are not: a row that nobody reads "
           "does no harm.";
  if (sentence.length() == 1)
    return "Nothing is padded here, and a sentence of one word has none to spare to play the padding. So "
           "nothing is hidden. With a longer sentence the last token plays it.";
  const auto actor = sentence.size() == 1
                         ? fmt::format("the last token, “{}”, plays the padding", sentence.tokens[0].back())
                         : std::string("the last token of each sentence plays the padding");
  return fmt::format(
      "Nothing is padded here, so {}: its column is hidden from every query. Its row is not: a row that "
      "nobody reads does no harm. With sentences of different length the real padding is hidden.",
      actor);
}

Masks show_masks(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  const auto lengths = visible_lengths(sentence);
  auto& trace = bench.trace;
  Masks masks;
  masks.causal =
      trace.step({.id = "causal_mask",
                  .title = "The causal mask hides the future",
                  .formula = "j ≤ i",
                  .axes = {"query", "key"},
                  .note = "Row i marks what query i may see: itself and everything before it. A model that "
                          "writes word by word must not learn from words that it has yet to write."},
                 attn::repeat_mask(attn::causal_mask(n, n), sentence.size()));
  masks.padding = trace.step(
      {.id = "padding_mask",
       .title = "The padding mask hides what is no word",
       .formula = sentence.is_padded() ? "j < lengths" : fmt::format("j < {}", lengths[0]),
       .from = sentence.is_padded() ? std::vector<std::string>{"lengths"} : std::vector<std::string>{},
       .axes = {"query", "key"},
       .note = padding_note(sentence)},
      attn::padding_mask(lengths, n, n));
  masks.combined =
      trace.step({.id = "combined_mask",
                  .title = "Both at once",
                  .formula = "causal_mask ∧ padding_mask",
                  .from = {"causal_mask", "padding_mask"},
                  .axes = {"query", "key"},
                  .note = "A key may be seen where both masks let it be seen. This is what a decoder uses on "
                          "a batch."},
                 attn::both(masks.causal, masks.padding));
  return masks;
}

void claim_rows_sum_to_1(Workbench& bench, const Masks& masks, const MaskedAttention& causal,
                         const MaskedAttention& padding, const MaskedAttention& combined,
                         const FullyMasked& fully_masked) {
  bench.trace.claim(
      {.id = "rows-sum-to-1",
       .claim = "under every mask, each row of weights that may see a key sums to 1",
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
               .claim = "no weight falls on a later token: exactly 0",
               .formula = "max weight where causal_mask is false, causal and combined",
               .value = attn::maximum({attn::largest_hidden_weight(causal.weights, masks.causal),
                                       attn::largest_hidden_weight(combined.weights, masks.causal)}),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "padding-weights-are-0",
               .claim = "no weight falls on padding: exactly 0",
               .formula = "max weight where padding_mask is false, padding and combined",
               .value = attn::maximum({attn::largest_hidden_weight(padding.weights, masks.padding),
                                       attn::largest_hidden_weight(combined.weights, masks.padding)}),
               .limit = attn::exactly(0.0)});
}

Tensor<3> with_last_token_changed(Tensor<3> X) {
  const auto last = X.shape(1) - 1;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t j = 0; j < X.shape(2); ++j) X(b, last, j) += double{1};
  return X;
}

/// Adds 1 to every number of the last token's vector, computes everything again and compares what the tokens
/// before it take home.
void claim_causality(Workbench& bench, const Tensor<3>& X, const attn::SingleHeadWeights& weights,
                     const Mask<3>& causal_mask, const Tensor<3>& causal_output) {
  const auto earlier = bench.plan.sentence.length() - 1;
  const auto output = [&](const Tensor<3>& x, const std::optional<Mask<3>>& mask) {
    return attn::single_head_attention(x, x, weights, mask).output;
  };
  const auto distance = [&](const Tensor<3>& a, const Tensor<3>& b) {
    return attn::max_abs_difference(attn::first_rows(a, earlier), attn::first_rows(b, earlier));
  };
  const auto changed = with_last_token_changed(X);
  const auto unmasked = distance(output(changed, std::nullopt), output(X, std::nullopt));
  bench.trace.claim(
      {.id = "future-does-not-leak",
       .claim = "changing the last token leaves the outputs of all earlier ones as they are, bit for bit",
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

void run(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  auto& trace = bench.trace;
  bench.label({"token", "query", "key"}, sentence);

  trace.note(
      "idea", "The idea",
      "A mask says who may look at whom. Where it says no, the score becomes −∞ before softmax, and since "
      "exp(−∞) = 0 the key gets no weight: the others share as if it were not there. Setting weights to 0 "
      "after softmax would not do, for the row would no longer sum to 1. In this lab true (1) means may be "
      "seen. Not everyone agrees: in PyTorch it does for scaled_dot_product_attention, but for "
      "MultiheadAttention true means hidden.",
      "weights = softmax(scaled where mask, −∞ elsewhere)");

  bench.show_lengths(sentence);
  const auto X =
      bench.embed({.id = "X", .title = "The sentence as vectors", .axes = {"token", "d_model"}}, sentence);
  const auto weights = draw_projection_weights(bench);
  const auto [Q, K, V] = show_projections(bench, {"X", X}, {"X", X}, weights);
  const auto scaled = show_scores(bench, Q, K).second;
  const auto masks = show_masks(bench);

  const auto causal = show_masked_attention(
      bench, "causal", masks.causal, scaled, V,
      "Above the diagonal all is 0. The first token has nobody but itself, so it keeps its whole attention; "
      "every later row shares among one key more.");
  show_large_negative_fill(bench, masks.causal, scaled, causal.weights);
  const auto padding = show_masked_attention(
      bench, "padding", masks.padding, scaled, V,
      "A hidden key is a column of zeros. All queries share among the keys that are left, before them and "
      "after them.");
  const auto combined =
      show_masked_attention(bench, "combined", masks.combined, scaled, V,
                            "Zeros where either mask says no. Every row still has a key to look at.");
  const auto fully_masked = show_fully_masked_row(bench, scaled);
  const auto broadcast = show_broadcast_masks(bench, masks.causal, masks.padding, scaled);

  claim_rows_sum_to_1(bench, masks, causal, padding, combined, fully_masked);
  claim_hidden(trace, masks, causal, padding, combined);
  claim_causality(bench, X, weights, masks.causal, causal.output);
  claim_nothing_to_see(trace, fully_masked, V);
  claim_broadcast(trace, broadcast, causal, padding);
}

double element_count(const Plan& plan) {
  const auto& options = plan.options;
  const auto batch = static_cast<double>(plan.sentence.size()),
             n = static_cast<double>(plan.sentence.length());
  const auto d_model = static_cast<double>(*options.d_model);
  const auto d_k = static_cast<double>(*options.d_k), d_v = static_cast<double>(*options.d_v);
  constexpr double masks = 6, scores = 22;  // of n × n, those of two heads counting twice
  return d_model * (2 * d_k + d_v) + batch * n * (d_model + 2 * d_k + 4 * d_v + (masks + scores) * n);
}

}  // namespace

extern const Lesson masking;
const Lesson masking = {
    .name = "masking",
    .title = "hiding the future and the padding",
    .teaches =
        "How a mask hides keys: the causal mask, the padding mask and both together, −∞ beside −10⁹, a row "
        "in which everything is hidden, and masks of two, three and four axes. The lesson changes the last "
        "token and shows that under the causal mask no earlier output notices.",
    .options = {"sentence", "d-model", "d-k", "d-v", "seed", "rng", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}},
    .examples =
        {"masking --sentence \"The cat sat on the mat\"",
         "masking --sentence \"I love cats\" --sentence \"Cats sleep\" --steps combined_mask,combined/"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
