/// Masks: who may look at whom, and how a key is hidden. Sources: Vaswani et al. 2017, "Attention Is All You
/// Need", section 3.2.3 (the decoder's mask, with −∞); its published code writes −10⁹ instead.

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "attn/layers/attention.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/unguarded_softmax.hpp"
#include "lessons/attention_steps.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"

namespace lessons {

namespace {

constexpr double large_negative = -1e9;

/// What the lesson starts from.
template <class T>
struct Inputs {
  Tensor<T, 3> X;
  Tensor<T, 2> W_Q, W_K, W_V;
};

/// Attention up to the point where a mask comes in.
template <class T>
struct Scored {
  Tensor<T, 3> Q, K, V;
  Tensor<T, 3> scaled;  ///< [batch×query×key]
};

/// [batch×query×key], true = may be seen.
struct Masks {
  Tensor<bool, 3> causal, padding, combined;
};

/// Attention from the mask on.
template <class T>
struct Masked {
  Tensor<T, 3> weights;  ///< [batch×query×key]
  Tensor<T, 3> output;   ///< [batch×query×d_v]
};

template <class T>
Inputs<T> show_inputs(Workbench<T>& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  bench.show_lengths(bench.plan.sentence);
  Inputs<T> in;
  in.X = bench.embed({.id = "X", .title = "The sentence as vectors", .axes = {"token", "d_model"}},
                     bench.plan.sentence);
  in.W_Q = bench.weight({.id = "W_Q", .title = "Makes queries", .axes = {"d_model", "d_k"}}, d_model, d_k);
  in.W_K = bench.weight({.id = "W_K", .title = "Makes keys", .axes = {"d_model", "d_k"}}, d_model, d_k);
  in.W_V = bench.weight({.id = "W_V", .title = "Makes values", .axes = {"d_model", "d_v"}}, d_model, d_v);
  return in;
}

template <class T>
Scored<T> show_scored(Workbench<T>& bench, const Inputs<T>& in) {
  auto& trace = bench.trace;
  Scored<T> shown;
  shown.Q = trace.step({.id = "Q",
                        .title = "What each token asks for",
                        .formula = "X W_Q",
                        .from = {"X", "W_Q"},
                        .axes = {"query", "d_k"}},
                       attn::linear(in.X, in.W_Q));
  shown.K = trace.step({.id = "K",
                        .title = "What each token can be found by",
                        .formula = "X W_K",
                        .from = {"X", "W_K"},
                        .axes = {"key", "d_k"}},
                       attn::linear(in.X, in.W_K));
  shown.V = trace.step({.id = "V",
                        .title = "What each token has to give",
                        .formula = "X W_V",
                        .from = {"X", "W_V"},
                        .axes = {"key", "d_v"}},
                       attn::linear(in.X, in.W_V));
  shown.scaled = show_scores(bench, shown.Q, shown.K).second;
  return shown;
}

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

template <class T>
Masks show_masks(Workbench<T>& bench) {
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

template <class T>
Masked<T> show_masked(Workbench<T>& bench, const std::string& name, const Tensor<bool, 3>& mask,
                      const Scored<T>& scored, const std::string& weights_note) {
  auto& trace = bench.trace;
  const auto mask_id = name + "_mask", masked_id = name + "/masked", weights_id = name + "/weights";
  const auto masked = trace.step({.id = masked_id,
                                  .title = "Scores under the " + name + " mask",
                                  .formula = fmt::format("scaled where {}, −∞ elsewhere", mask_id),
                                  .from = {"scaled", mask_id},
                                  .axes = {"query", "key"}},
                                 attn::apply_mask(scored.scaled, mask));
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
                                 attn::matmul(weights, scored.V));
  return {weights, output};
}

template <class T>
void show_causal_1e9(Workbench<T>& bench, const Tensor<bool, 3>& mask, const Scored<T>& scored,
                     const Tensor<T, 3>& weights) {
  auto& trace = bench.trace;
  const auto masked_1e9 =
      trace.step({.id = "causal/masked_1e9",
                  .title = "−10⁹ in place of −∞",
                  .formula = "scaled where causal_mask, −10⁹ elsewhere",
                  .from = {"scaled", "causal_mask"},
                  .axes = {"query", "key"},
                  .note = "Much code does without infinities and writes a large negative number."},
                 attn::apply_mask(scored.scaled, mask, large_negative));
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

/// As if the first token were padding: 1 ≤ j ≤ i, so that row 0 is left with nothing.
Tensor<bool, 2> causal_mask_without_first_key(std::size_t n) {
  auto mask = attn::causal_mask(n, n);
  for (std::size_t i = 0; i < n; ++i) mask(i, 0) = false;
  return mask;
}

/// A mask with an empty row, and the weights that the lab makes of it.
template <class T>
struct FullyMasked {
  Tensor<bool, 3> mask;
  Tensor<T, 3> weights;
};

template <class T>
FullyMasked<T> show_fully_masked(Workbench<T>& bench, const Scored<T>& scored) {
  const auto& sentence = bench.plan.sentence;
  auto& trace = bench.trace;
  trace.note(
      "fully-masked", "A row with nothing to see",
      "What if a query may see no key at all? It happens: pad the sentences of a batch at the front, attend "
      "causally, and the first query could only see itself, which is padding. Nothing is left to share, and "
      "the formula has no answer. Three are in use.");
  const auto mask =
      trace.step({.id = "fully_masked/mask",
                  .title = "The causal mask, with the first token as padding",
                  .formula = "1 ≤ j ≤ i",
                  .axes = {"query", "key"},
                  .note = "The first row is empty."},
                 attn::repeat_mask(causal_mask_without_first_key(sentence.length()), sentence.size()));
  const auto masked = attn::apply_mask(scored.scaled, mask);
  const auto show = [&](attn::About about, const Tensor<T, 3>& weights) {
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
      attn::softmax(attn::apply_mask(scored.scaled, mask, large_negative)));
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

/// [batch×head×query×key] with two heads.
Tensor<bool, 4> two_heads(const Tensor<bool, 3>& first, const Tensor<bool, 3>& second) {
  auto heads = Tensor<bool, 4>::from_shape({first.shape(0), 2, first.shape(1), first.shape(2)});
  for (std::size_t b = 0; b < first.shape(0); ++b)
    for (std::size_t i = 0; i < first.shape(1); ++i)
      for (std::size_t j = 0; j < first.shape(2); ++j) {
        heads(b, 0, i, j) = first(b, i, j);
        heads(b, 1, i, j) = second(b, i, j);
      }
  return heads;
}

/// The weights of two heads with the same scores under a mask of two, three and four axes.
template <class T>
struct Broadcast {
  Tensor<T, 4> of_2D, of_3D, of_4D;
};

template <class T>
Broadcast<T> show_broadcast(Workbench<T>& bench, const Masks& masks, const Scored<T>& scored) {
  const auto n = bench.plan.sentence.length(), batch = bench.plan.sentence.size();
  auto& trace = bench.trace;
  trace.note(
      "broadcast", "One mask for many scores",
      "With several heads the scores are [batch×head×query×key]. A mask rarely needs all these axes: the "
      "ones that it lacks are repeated (broadcast). Which one an axis is must be clear, though. NumPy and "
      "PyTorch line up shapes from the right and would take the batch of a mask [batch×query×key] for the "
      "heads.",
      "[query×key]             as it is\n"
      "[batch×query×key]       mask[:, None, :, :]\n"
      "[batch×head×query×key]  as it is");
  const auto scaled =
      trace.step({.id = "broadcast/scaled",
                  .title = "Two heads with the same scores",
                  .formula = "scaled, twice",
                  .from = {"scaled"},
                  .axes = {"head", "query", "key"},
                  .note = "Real heads have scores of their own. Here they are the same, so that whatever "
                          "differs below is the mask's doing."},
                 attn::repeat_heads(attn::split_heads(scored.scaled, 1), 2));
  const auto show = [&](const std::string& axes, const std::string& mask_id, const auto& mask,
                        const char* title, const std::string& note) {
    return trace.step({.id = fmt::format("broadcast={}/weights", axes),
                       .title = title,
                       .formula = fmt::format("softmax(broadcast/scaled under {})", mask_id),
                       .from = {"broadcast/scaled", mask_id},
                       .axes = {"head", "query", "key"},
                       .note = note,
                       .distribution = true},
                      attn::softmax(attn::apply_mask(scaled, mask)));
  };
  Broadcast<T> shown;
  shown.of_2D =
      show("2D", "causal_mask", attn::causal_mask(n, n), "A mask [query×key]: for every sample and head",
           fmt::format("Mask [{0}×{0}], scores [{1}×2×{0}×{0}]. The mask of a rule about positions alone.", n,
                       batch));
  shown.of_3D =
      show("3D", "causal_mask", masks.causal, "A mask [batch×query×key]: for every head",
           fmt::format("Mask [{1}×{0}×{0}], scores [{1}×2×{0}×{0}]. Each sample has its own, as padding "
                       "needs it. Here each sample's is the same causal one, so the weights are too.",
                       n, batch));
  const auto mask_4D =
      trace.step({.id = "broadcast=4D/mask",
                  .title = "A mask for each head",
                  .formula = "[causal_mask, padding_mask]",
                  .from = {"causal_mask", "padding_mask"},
                  .axes = {"head", "query", "key"},
                  .note = "Head 0 looks back only. Head 1 looks both ways, but never at padding."},
                 two_heads(masks.causal, masks.padding));
  shown.of_4D =
      show("4D", "broadcast=4D/mask", mask_4D, "A mask [batch×head×query×key]: nothing to repeat",
           fmt::format("Mask and scores are both [{1}×2×{0}×{0}]. Two views of one sentence, from the same "
                       "scores.",
                       n, batch));
  return shown;
}

/// The larger number, or NaN where either is one, so that no claim holds for it.
double larger(double x, double y) {
  return std::isnan(x) || x > y ? x : y;
}

/// The largest |Σⱼ weights − 1| over the rows that may see a key.
template <class T>
double row_sum_deviation(const Tensor<T, 3>& weights, const Tensor<bool, 3>& mask) {
  double deviation = 0.0;
  for (std::size_t b = 0; b < weights.shape(0); ++b)
    for (std::size_t i = 0; i < weights.shape(1); ++i) {
      double sum = 0.0;
      bool sees_a_key = false;
      for (std::size_t j = 0; j < weights.shape(2); ++j) {
        sum += static_cast<double>(weights(b, i, j));
        sees_a_key = sees_a_key || mask(b, i, j);
      }
      if (sees_a_key) deviation = larger(deviation, std::abs(sum - 1.0));
    }
  return deviation;
}

/// The largest weight that a hidden key has: setting them to 0 would change that much.
template <class T>
double largest_hidden(const Tensor<T, 3>& weights, const Tensor<bool, 3>& mask) {
  return attn::max_abs_difference(weights, attn::apply_mask(weights, mask, 0.0));
}

template <class T>
Tensor<T, 3> attention_of(const Inputs<T>& in, const std::optional<Tensor<bool, 3>>& mask) {
  return attn::scaled_dot_product_attention(attn::linear(in.X, in.W_Q), attn::linear(in.X, in.W_K),
                                            attn::linear(in.X, in.W_V), mask)
      .output;
}

template <class T>
Inputs<T> with_last_token_changed(Inputs<T> in) {
  const auto last = in.X.shape(1) - 1;
  for (std::size_t b = 0; b < in.X.shape(0); ++b)
    for (std::size_t j = 0; j < in.X.shape(2); ++j) in.X(b, last, j) += T{1};
  return in;
}

/// Adds 1 to every number of the last token's vector, computes everything again and compares what the tokens
/// before it take home.
template <class T>
void claim_causality(Workbench<T>& bench, const Inputs<T>& in, const Masks& masks, const Masked<T>& causal) {
  const auto earlier = bench.plan.sentence.length() - 1;
  const auto changed = with_last_token_changed(in);
  const auto distance = [&](const Tensor<T, 3>& output, const Tensor<T, 3>& reference) {
    return attn::max_abs_difference(attn::first_rows(output, earlier), attn::first_rows(reference, earlier));
  };
  const auto unmasked = distance(attention_of(changed, std::nullopt), attention_of(in, std::nullopt));
  bench.trace.claim(
      {.id = "future-does-not-leak",
       .claim = "changing the last token leaves the outputs of all earlier ones as they are, bit for bit",
       .formula = "max |causal/output(X with 1 added to its last row) − causal/output|, earlier rows",
       .value = distance(attention_of(changed, masks.causal), causal.output),
       .limit = attn::exactly(0.0),
       .note = earlier == 0
                   ? "There is one token only, so nothing is earlier."
                   : fmt::format("Without the mask the same change moves them by up to {:.4f}.", unmasked)});
}

template <class T>
void claim_hidden(attn::Trace& trace, const Masks& masks, const Masked<T>& causal, const Masked<T>& padding,
                  const Masked<T>& combined) {
  trace.claim({.id = "future-weights-are-0",
               .claim = "no weight falls on a later token: exactly 0",
               .formula = "max weight where causal_mask is false, causal and combined",
               .value = larger(largest_hidden(causal.weights, masks.causal),
                               largest_hidden(combined.weights, masks.causal)),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "padding-weights-are-0",
               .claim = "no weight falls on padding: exactly 0",
               .formula = "max weight where padding_mask is false, padding and combined",
               .value = larger(largest_hidden(padding.weights, masks.padding),
                               largest_hidden(combined.weights, masks.padding)),
               .limit = attn::exactly(0.0)});
}

template <class T>
void claim_broadcast(attn::Trace& trace, const Broadcast<T>& broadcast, const Masked<T>& causal,
                     const Masked<T>& padding) {
  trace.claim({.id = "2D-equals-3D",
               .claim = "a mask [query×key] does what it does repeated for each sample",
               .formula = "max |broadcast=2D/weights − broadcast=3D/weights|",
               .value = attn::max_abs_difference(broadcast.of_2D, broadcast.of_3D),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "4D-is-per-head",
               .claim = "with a mask for each head, each head is what it would be alone",
               .formula = "max |broadcast=4D/weights − [causal/weights, padding/weights]|",
               .value = larger(attn::max_abs_difference(attn::head(broadcast.of_4D, 0), causal.weights),
                               attn::max_abs_difference(attn::head(broadcast.of_4D, 1), padding.weights)),
               .limit = attn::exactly(0.0)});
}

template <class T>
void run(Workbench<T>& bench) {
  auto& trace = bench.trace;
  bench.label({"token", "query", "key"}, bench.plan.sentence);

  trace.note(
      "idea", "The idea",
      "A mask says who may look at whom. Where it says no, the score becomes −∞ before softmax, and since "
      "exp(−∞) = 0 the key gets no weight: the others share as if it were not there. Setting weights to 0 "
      "after softmax would not do, for the row would no longer sum to 1. In this lab true (1) means may be "
      "seen. Not everyone agrees: in PyTorch it does for scaled_dot_product_attention, but for "
      "MultiheadAttention true means hidden.",
      "weights = softmax(scaled where mask, −∞ elsewhere)");

  const auto in = show_inputs(bench);
  const auto scored = show_scored(bench, in);
  const auto masks = show_masks(bench);

  const auto causal =
      show_masked(bench, "causal", masks.causal, scored,
                  "Above the diagonal all is 0. The first token has nobody but itself, so it keeps its whole "
                  "attention; every later row shares among one key more.");
  show_causal_1e9(bench, masks.causal, scored, causal.weights);
  const auto padding =
      show_masked(bench, "padding", masks.padding, scored,
                  "A hidden key is a column of zeros. All queries share among the keys that are left, before "
                  "them and after them.");
  const auto combined = show_masked(bench, "combined", masks.combined, scored,
                                    "Zeros where either mask says no. Every row still has a key to look at.");
  const auto fully_masked = show_fully_masked(bench, scored);
  const auto broadcast = show_broadcast(bench, masks, scored);

  trace.claim({.id = "rows-sum-to-1",
               .claim = "under every mask, each row of weights that may see a key sums to 1",
               .formula = "max |Σⱼ weights − 1|",
               .value = larger(larger(row_sum_deviation(causal.weights, masks.causal),
                                      row_sum_deviation(padding.weights, masks.padding)),
                               larger(row_sum_deviation(combined.weights, masks.combined),
                                      row_sum_deviation(fully_masked.weights, fully_masked.mask))),
               .limit = rounding<T>()});
  claim_hidden(trace, masks, causal, padding, combined);
  claim_causality(bench, in, masks, causal);
  trace.claim({.id = "nothing-to-see-is-0",
               .claim = "a query that may see nothing gets the output 0",
               .formula = "max |fully_masked/weights V|, first row",
               .value = attn::max_abs(attn::first_rows(attn::matmul(fully_masked.weights, scored.V), 1)),
               .limit = attn::exactly(0.0)});
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
    .options = {"sentence", "d-model", "d-k", "d-v", "seed", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}},
    .examples =
        {"masking --sentence \"The cat sat on the mat\"",
         "masking --sentence \"I love cats\" --sentence \"Cats sleep\" --steps combined_mask,combined/"},
    .element_count = element_count,
    .run_float64 = run<double>,
    .run_float32 = run<float>,
};

}  // namespace lessons
