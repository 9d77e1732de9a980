/// What attention looks like, in numbers: how much falls on the diagonal and beside it, how many weights are
/// large, how widely the rest spreads; and the two ways in which it goes wrong. Sources: Dong et al. 2021
/// (tokens that become alike), Zhai et al. 2023 (entropy collapse to a single key).

#include "attn/ops/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "attn/error.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/patterns/optional_heads.hpp"

namespace lessons {

namespace {

/// What much analysis code adds inside the logarithm.
constexpr double inside_logarithm = 1e-9, its_bias = -9e-10;

/// √d_k · T, which the scores are divided by.
double divisor_of(const Workbench& bench) {
  return std::sqrt(static_cast<double>(bench.d_model() / bench.heads())) * bench.options.temperature;
}

/// The inputs, and the scaled scores [batch×head×query×key] that they lead to.
Tensor<4> draw_scaled_scores(Workbench& bench) {
  const auto d_model = bench.d_model();
  const auto X = bench.embed({.id = "X", .title = "The sentence as vectors", .axes = {"token", "d_model"}},
                             bench.plan.sentence);
  const std::string projected = bench.options.heads ? "head·d_k" : "d_k";
  const auto W_Q =
      bench.weight({.id = "W_Q", .title = "Makes queries", .axes = {"d_model", projected}}, d_model, d_model);
  const auto W_K =
      bench.weight({.id = "W_K", .title = "Makes keys", .axes = {"d_model", projected}}, d_model, d_model);
  const auto Q = attn::split_heads(attn::linear(X, W_Q), bench.heads());
  const auto K = attn::split_heads(attn::linear(X, W_K), bench.heads());
  return attn::divide(attn::matmul(Q, attn::transpose(K)), divisor_of(bench));
}

/// Throws attn::Error unless every row sums to 1, or is 0 where nothing may be seen.
void require_shares(const Tensor<4>& weights) {
  constexpr double rounding_of_others = 1e-3;
  const auto n_k = weights.shape(3);
  for (auto row = weights.begin(); row != weights.end(); row += static_cast<std::ptrdiff_t>(n_k)) {
    const auto end = row + static_cast<std::ptrdiff_t>(n_k);
    const double sum = std::accumulate(row, end, 0.0), smallest = *std::min_element(row, end);
    if (smallest < 0.0 || (sum != 0.0 && std::abs(sum - 1.0) > rounding_of_others))
      throw attn::Error(
          fmt::format("weights in --input has a row with the sum {:g} and the smallest weight {:g}; valid: "
                      "rows of weights of 0 "
                      "or more that sum to 1",
                      sum, smallest));
  }
}

/// The weights [batch×head×query×key], or the ones in --input.
Tensor<4> show_weights(Workbench& bench, const Tensor<4>& drawn, const std::string& formula) {
  const auto weights = input_heads(
      bench,
      {.id = "weights",
       .title = bench.options.heads ? "The weights of each head" : "The weights of attention",
       .formula = formula,
       .axes = {"query", "key"},
       .note = "All the rest of this page is read off these numbers; how they come about is the subject of "
               "the lessons self-attention and multihead. Row i says how query i shares out its attention.",
       .distribution = true},
      drawn);
  require_shares(weights);
  return weights;
}

/// The weights that the page reads its numbers off, and the mask behind them. Weights that are given without
/// an X have nothing else before them.
std::pair<Tensor<4>, std::optional<Mask<3>>> weights_and_mask(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  if (bench.trace.is_given("weights") && !bench.trace.is_given("X")) {
    const auto mask = bench.mask(sentence, sentence);
    const Tensor<4> none({sentence.size(), bench.heads(), n, n}, double(0));
    return {show_weights(bench, none, ""), mask};
  }
  const auto scaled = draw_scaled_scores(bench);
  const auto mask = bench.mask(sentence, sentence);
  const auto formula = fmt::format("softmax(X W_Q (X W_K)ᵀ / {:.4g}{}){}", divisor_of(bench),
                                   mask ? " where mask" : "", bench.options.heads ? " for each head" : "");
  return {show_weights(bench, attn::softmax(mask ? attn::apply_mask(scaled, *mask) : scaled), formula), mask};
}

attn::AttentionPatterns show_patterns(Workbench& bench, const Tensor<4>& weights) {
  const auto n = bench.plan.sentence.length();
  const auto patterns = attn::attention_patterns(weights, bench.plan.sentence.lengths());
  const auto show_step = [&](attn::About about, const auto& values) {
    about.from = {"weights"};
    show_heads(bench, about, values);
  };
  show_step({.id = "diagonal",
             .title = "How much a token looks at itself",
             .formula = "mean of wᵢᵢ",
             .note = fmt::format("With equal shares of {} keys it would be {:.4f}.", n,
                                 1.0 / static_cast<double>(n))},
            patterns.diagonal);
  show_step(
      {.id = "local",
       .title = "How much it looks at a neighbour",
       .formula = "mean of all wᵢ,ᵢ₊₁ and wᵢ₊₁,ᵢ",
       .note = n == 1 ? "A single token has no neighbour, so this is 0. Code that divides by 2 (n − 1) fails."
                      : "The mean over both neighbours. Under a causal mask the one after gets nothing, and "
                        "the one before gets twice this on average."},
      patterns.local);
  show_step({.id = "sparse_ratio",
             .title = "How many weights are large",
             .formula = "share of weights above 0.1",
             .note = "The name misleads: where attention is sparse, few weights are large. Nor does 0.1 mean "
                     "the same for every sentence: from 10 keys on an equal share is not above it. Hidden "
                     "keys count as small weights."},
            patterns.sparse_ratio);
  show_step({.id = "entropy",
             .title = "How widely attention spreads",
             .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ",
             .note = fmt::format(
                 "0 where one key gets everything, ln {0} = {1:.4f} where {0} keys share equally. e to the "
                 "power of the entropy says how many keys are in use. (0 ln 0 counts as 0.)",
                 n, std::log(static_cast<double>(n)))},
            patterns.entropy);
  show_step({.id = "strongest",
             .title = "Where each token looks most",
             .formula = "argmaxⱼ wⱼ, the first of several",
             .axes = {"query"},
             .note = "The position of the key, counted from 0. It stands beside the weights in words."},
            patterns.strongest);
  show_step({.id = "entropy_bias",
             .title = "What 1e-9 inside the logarithm changes",
             .formula = "(mean over queries of −Σⱼ wⱼ ln(wⱼ + 1e-9)) − entropy",
             .note = "Much code adds 1e-9 because ln 0 is −∞. It makes the entropy too small, by up to 1e-9 "
                     "for each key, and for one-hot weights negative, which no entropy is. Leave out the "
                     "weights that are 0 instead, and add nothing. (Measured in float64. In float32 the 1e-9 "
                     "is lost beside any weight above 1/32.)"},
            attn::entropy_bias(weights, bench.plan.sentence.lengths(), inside_logarithm));
  return patterns;
}

attn::ExtremeAttention show_extremes(Workbench& bench, const Mask<3>& mask,
                                     const attn::AttentionPatterns& patterns) {
  bench.trace.note("extremes", "The two ends",
                   "All that attention can do lies between two ends: equal shares, which only average, and a "
                   "single key for each query, which only copies. The same measures, applied to both:");
  auto ends = attn::extreme_attention(patterns.strongest, mask, bench.plan.sentence.lengths());
  const auto show_step = [&](const attn::About& about, const auto& values) {
    show_heads(bench, about, values);
  };
  show_step({.id = "uniform/weights",
             .title = "Equal shares",
             .formula = "1 / (number of keys that the query may see)",
             .axes = {"query", "key"},
             .distribution = true},
            ends.uniform);
  show_step({.id = "uniform/entropy",
             .title = "Their entropy is the largest possible",
             .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ",
             .from = {"uniform/weights"},
             .note = bench.options.causal ? "Query i may see i + 1 keys, so this is the mean of ln(i + 1). "
                                            "Held against ln n, causal attention would always look focused."
                                          : ""},
            ends.uniform_entropy);
  show_step({.id = "one_hot/weights",
             .title = "Everything to the strongest key",
             .formula = "1 where key = strongest, 0 elsewhere",
             .from = {"strongest"},
             .axes = {"query", "key"},
             .distribution = true},
            ends.one_hot);
  show_step({.id = "one_hot/entropy",
             .title = "Their entropy is the smallest possible",
             .formula = "mean over queries of −Σⱼ wⱼ ln wⱼ",
             .from = {"one_hot/weights"}},
            ends.one_hot_entropy);
  return ends;
}

/// A line for each head of each sample, as far as there is room.
std::string verdicts(const Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest) {
  constexpr std::size_t most_lines = 16;
  auto lines = fmt::format("{:<19}{:>7}{:>11}{:>14}", "", "entropy", "at most", "keys in use");
  for (std::size_t i = 0; i < std::min(entropy.size(), most_lines); ++i) {
    std::string name = bench.plan.is_batched() ? fmt::format("sample {}  ", i / entropy.shape(1)) : "";
    if (bench.options.heads) name += fmt::format("head {}", i % entropy.shape(1));
    if (name.empty()) name = "weights";
    const auto value = static_cast<double>(entropy.data()[i]), most = static_cast<double>(largest.data()[i]);
    lines += fmt::format("\n{:<19}{:>7.4f}{:>11.4f}{:>14.2f}   {}", name, value, most, std::exp(value),
                         attn::name_of(attn::spread_of(value, most)));
  }
  return entropy.size() > most_lines ? lines + fmt::format("\n… and {} more", entropy.size() - most_lines)
                                     : lines;
}

void judge(Workbench& bench, const Tensor<2>& entropy, const Tensor<2>& largest) {
  bench.trace.note(
      "verdict", "What this attention is",
      fmt::format(
          "Collapsed means here: the entropy is less than {:g} below the largest possible, so over 95 % of "
          "the keys are in use and it hardly matters what a query asks. Over-sparse: it is below {:g}, about "
          "1.2 keys are in use, and hardly any gradient gets through softmax. Selective lies between. "
          "Undecided: no query has a choice. The two limits are this lab's; there are no agreed ones.",
          attn::collapsed_within, attn::over_sparse_below),
      verdicts(bench, entropy, largest));
  bench.trace.note(
      "collapse", "Collapsed: where it comes from and what helps",
      "The scores are nearly equal: weights drawn too small, tokens that have become alike, too high a "
      "temperature. What helps: an initialisation that gives scores of size 1 and a learning rate that warms "
      "up (lesson training), residuals and layer norm, which keep tokens apart. Dropout, which is named as "
      "well, is no cure: it takes weights away by chance and leaves the rest as equal as they were. Try "
      "--temperature 100 or --weight-scale 0.02.");
  bench.trace.note(
      "over-sparse", "Over-sparse: where it comes from and what helps",
      "The scores are far apart: no division by √d_k, weights that have grown, too low a temperature. What "
      "helps: the scale, a higher temperature, normalised queries and keys, weight decay, a penalty on low "
      "entropy. Mind the words: entropy collapse (Zhai et al. 2023) is this end and not the other. And sharp "
      "need not be ill: a head that always looks at the token before is as sparse as can be, and useful. Ill "
      "is a head that is sharp before it has learnt anything. Try --temperature 0.02 or --weight-scale 3.");
}

void claim_patterns(Workbench& bench, const Tensor<4>& weights, const attn::ExtremeAttention& ends,
                    const Tensor<2>& largest_entropy) {
  auto& trace = bench.trace;
  trace.claim({.id = "rows-sum-to-1",
               .claim = "each row of weights sums to 1",
               .formula = "max |Σⱼ weights − 1|",
               .value = attn::row_sum_deviation(weights),
               .limit = rounding(bench.trace)});
  trace.claim({.id = "uniform-entropy",
               .claim = bench.options.causal ? "equal shares of i + 1 keys have the entropy ln(i + 1)"
                                             : "equal shares of n keys have the entropy ln n",
               .formula = bench.options.causal ? "max |uniform/entropy − mean of ln(i + 1)|"
                                               : "max |uniform/entropy − ln n|",
               .value = attn::max_abs_difference(ends.uniform_entropy, largest_entropy),
               .limit = rounding(bench.trace, attn::max_abs(largest_entropy))});
  trace.claim({.id = "one-hot-entropy",
               .claim = "weights on a single key have the entropy 0",
               .formula = "max |one_hot/entropy|",
               .value = attn::max_abs(ends.one_hot_entropy),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "biased-entropy",
               .claim = "with 1e-9 inside the logarithm their entropy would be negative",
               .formula = "max of −Σⱼ wⱼ ln(wⱼ + 1e-9),  w = one_hot/weights",
               .value = -attn::max_abs(
                   attn::entropy_bias(ends.one_hot, bench.plan.sentence.lengths(), inside_logarithm)),
               .limit = attn::at_most(its_bias)});
  trace.claim({.id = "ends-recognised",
               .claim = "the first of the two ends is recognised as collapsed, the second as over-sparse",
               .formula = "number of heads judged to be anything else",
               .value = static_cast<double>(
                   attn::count_misjudged(ends.uniform_entropy, largest_entropy, attn::Spread::collapsed) +
                   attn::count_misjudged(ends.one_hot_entropy, largest_entropy, attn::Spread::over_sparse)),
               .limit = attn::exactly(0.0)});
}

void run(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  bench.label({"token", "query", "key"}, sentence);
  bench.trace.note(
      "idea", "The idea",
      "A table of weights is soon too large to look at. A few numbers say what kind of attention it is: does "
      "a token look at itself, at its neighbours, at few or at many? And two of them warn: of attention that "
      "looks at everything alike, and of attention that looks at one key only.");
  bench.show_lengths(sentence);
  const auto [weights, mask] = weights_and_mask(bench);
  const auto patterns = show_patterns(bench, weights);
  const auto visible = mask ? *mask : Mask<3>({sentence.size(), n, n}, true);
  const auto ends = show_extremes(bench, visible, patterns);
  const auto largest_entropy = attn::largest_entropy(visible, sentence.lengths(), bench.heads());
  judge(bench, patterns.entropy, largest_entropy);
  claim_patterns(bench, weights, ends, largest_entropy);
}

double element_count(const Plan& plan) {
  const auto batch = static_cast<double>(plan.sentence.size()),
             n = static_cast<double>(plan.sentence.length());
  const auto d_model = static_cast<double>(*plan.options.d_model);
  const auto heads = static_cast<double>(plan.options.heads.value_or(1));
  return 2 * d_model * d_model + batch * n * (5 * d_model + heads * (6 * n + 2));
}

}  // namespace

extern const Lesson patterns;
const Lesson patterns = {
    .name = "patterns",
    .title = "what attention looks like in numbers, and its failures",
    .teaches =
        "Numbers that sum up a table of weights: how much falls on the diagonal and beside it, how many "
        "weights are large, the entropy, the strongest key of each token. Attention that has collapsed into "
        "an average and attention that has shrunk to a single key are recognised, with what leads there and "
        "what helps.",
    .options = {"sentence", "d-model", "heads", "causal", "temperature", "seed", "rng", "weight-scale",
                "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}},
    .examples = {"patterns --sentence \"The cat sat on the mat\" --heads 2 --causal",
                 "patterns --temperature 0.02"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
