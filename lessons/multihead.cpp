/// Multi-head attention: several attentions side by side, each with its own view of the tokens.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "lessons/lesson.hpp"
#include "lessons/shared/multihead_steps.hpp"
#include "lessons/shared/sublayer_steps.hpp"

namespace lessons {

namespace {

void run(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);

  bench.trace.note("idea", "The idea",
                   "One attention gives each token one mixture of the others. Several heads give it several: "
                   "each head projects the tokens into a small space of its own, attends there, and the "
                   "results are laid side by side and mixed by W_O. Because each head is small, all of them "
                   "together cost what one large attention costs.",
                   "MultiHead(X) = Concat(head₁, …, headₕ) W_O\nheadᵢ = Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)");

  bench.show_lengths(sentence);
  const auto X = bench.embed({.id = "X",
                              .title = "The sentence as vectors",
                              .axes = {"token", "d_model"},
                              .note = "One row a token; the same word has the same row wherever it stands."},
                             sentence);
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  show_multihead_parameters(bench);
  const auto shown = show_multihead(bench, {"X", X}, {"X", X}, weights, mask);
  claim_multihead(bench, X, X, weights, shown, mask);

  Named last = {"output", shown.output};
  if (bench.options.residual) last = {"residual", show_attention_residual(bench, {"X", X}, shown.output)};
  if (bench.options.norm) show_attention_norm(bench, last, norm_weights(bench, "norm"));
}

double element_count(const Plan& plan) {
  const auto n = static_cast<double>(plan.sentence.length());
  return multihead_element_count(plan.options, static_cast<double>(plan.sentence.size()), n, n);
}

}  // namespace

extern const Lesson multihead;
const Lesson multihead = {
    .name = "multihead",
    .title = "several attentions side by side, then concatenated",
    .teaches =
        "How one wide projection is split into heads by a reshape and a transpose, how every head attends on "
        "its own, and how the heads are concatenated and mixed. With --kv-heads, heads share keys and values "
        "(grouped-query attention; 1 is multi-query). With --residual and --norm, the sublayer of a "
        "transformer as the first paper has it.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "causal", "window", "dropout",
                "temperature", "residual", "norm", "seed", "rng", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}, .heads = 2},
    .examples = {"multihead --sentence \"The cat sat on the mat\" --heads 2",
                 "multihead --heads 4 --kv-heads 2 --causal --residual --norm"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
