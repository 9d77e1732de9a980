/// Self-attention: queries, keys and values all come from one sentence.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.

#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "lessons/lesson.hpp"
#include "lessons/shared/attention_steps.hpp"
#include "lessons/shared/claims.hpp"
#include "lessons/shared/projections.hpp"

namespace lessons {

namespace {

/// Reverses the real tokens of each sentence, runs attention again and puts the rows of the result back.
void claim_equivariance(Workbench& bench, const Tensor<3>& Q, const Tensor<3>& K,
                        const Tensor<3>& V, const std::optional<Mask<3>>& mask,
                        const attn::Attention<3>& attention) {
  const auto backwards = attn::reversal(bench.plan.sentence.lengths(), bench.plan.sentence.length());
  const auto permuted_mask = mask ? std::optional(attn::permute_pairs(*mask, backwards)) : std::nullopt;
  const auto permuted = attn::scaled_dot_product_attention(
      attn::permute_rows(Q, backwards), attn::permute_rows(K, backwards), attn::permute_rows(V, backwards),
      permuted_mask, bench.options.temperature);
  bench.trace.claim(
      {.id = "permutation-equivariance",
       .claim = mask ? "reversing the tokens, and the mask with them, reverses the rows of the output"
                     : "reversing the tokens reverses the rows of the output and changes nothing else",
       .formula = "max |reverse(attention(reverse(X))) − attention(X)|",
       .value = attn::max_abs_difference(attn::permute_rows(permuted.output, backwards), attention.output),
       .limit = rounding(bench, attn::max_abs(attention.scaled) * attn::max_abs(V))});
}

void run(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);

  bench.trace.note(
      "idea", "The idea",
      "Every token rewrites itself as a mixture of all tokens of its own sentence. It asks a question (its "
      "query), every token holds up a label (its key) and offers some content (its value). The better a "
      "label answers the question, the more of that content goes into the mixture.",
      "Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V");

  bench.show_lengths(sentence);
  const auto X = bench.embed({.id = "X",
                              .title = "The sentence as vectors",
                              .axes = {"token", "d_model"},
                              .note = "One row a token; the same word has the same row wherever it stands."},
                             sentence);
  const auto weights = draw_projection_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  const auto [Q, K, V] = show_projections(bench, {"X", X}, {"X", X}, weights);
  const auto shown = show_attention(bench, Q, K, V, mask);

  claim_attention(bench, shown.attention, Q, K, V, mask);
  claim_equivariance(bench, Q, K, V, mask, shown.attention);
}

double element_count(const Plan& plan) {
  const auto& options = plan.options;
  const auto batch = static_cast<double>(plan.sentence.size()),
             n = static_cast<double>(plan.sentence.length());
  const auto d_model = static_cast<double>(*options.d_model);
  const auto d_k = static_cast<double>(*options.d_k), d_v = static_cast<double>(*options.d_v);
  return d_model * (2 * d_k + d_v) + batch * n * (d_model + 2 * d_k + 2 * d_v + 4 * n);
}

}  // namespace

extern const Lesson self_attention;
const Lesson self_attention = {
    .name = "self-attention",
    .title = "every token looks at every token of its own sentence",
    .teaches =
        "How a sentence becomes queries, keys and values through three weight matrices, and how each token's "
        "output is a mixture of all tokens' values. Without a position, attention does not know the order of "
        "the words: the lesson reverses them and shows that nothing else changes.",
    .options = {"sentence", "d-model", "d-k", "d-v", "causal", "window", "dropout", "temperature", "seed",
                "rng", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}},
    .examples = {"self-attention --sentence \"The cat sat on the mat\"",
                 "self-attention --sentence \"I love cats\" --sentence \"Cats sleep\" --causal"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
