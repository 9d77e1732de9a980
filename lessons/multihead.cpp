/// Multi-head attention: several attentions side by side, each with its own view of the tokens.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/layer_norm.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead_steps.hpp"

namespace lessons {

namespace {

template <class T>
Tensor<T, 3> show_residual(Workbench<T>& bench, const Tensor<T, 3>& X, const Tensor<T, 3>& output) {
  return bench.trace.step(
      {.id = "residual",
       .title = "The token keeps what it was",
       .formula = "X + output",
       .from = {"X", "output"},
       .axes = {"query", "d_model"},
       .note = "Attention only adds to a token's row (He et al. 2016), so that gradients have a "
               "straight way back and layers can be stacked."},
      attn::add(X, output));
}

template <class T>
void show_norm(Workbench<T>& bench, const std::string& id, const Tensor<T, 3>& x) {
  const auto gain = bench.constant(
      {.id = "norm/gain", .title = "Learned scale, at first 1", .axes = {"d_model"}}, bench.d_model(), 1.0);
  const auto bias = bench.constant(
      {.id = "norm/bias", .title = "Learned shift, at first 0", .axes = {"d_model"}}, bench.d_model(), 0.0);
  bench.trace.step(
      {.id = "normalized",
       .title = "Each row brought to mean 0 and variance 1",
       .formula = "(x − mean) / √(variance + 1e-5) · gain + bias, x = " + id,
       .from = {id, "norm/gain", "norm/bias"},
       .axes = {"query", "d_model"},
       .note = "Layer norm (Ba et al. 2016) takes mean and variance of each token's own row; the variance "
               "divides by d, not d − 1."},
      attn::layer_norm(x, gain, bias));
}

template <class T>
void run(Workbench<T>& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);

  bench.trace.note("idea", "The idea",
                   "One attention gives each token one mixture of the others. Several heads give it several: "
                   "each head projects the "
                   "tokens into a small space of its own, attends there, and the results are laid side by "
                   "side and mixed by W_O. "
                   "Because each head is small, all of them together cost what one large attention costs.",
                   "MultiHead(X) = Concat(head₁, …, headₕ) W_O\nheadᵢ = Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)");

  bench.show_lengths(sentence);
  const auto X = bench.embed({.id = "X",
                              .title = "The sentence as vectors",
                              .axes = {"token", "d_model"},
                              .note = "One row a token; the same word has the same row wherever it stands."},
                             sentence);
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  const auto output = show_multihead(bench, {"X", X}, {"X", X}, weights, mask);
  const auto sum = bench.options.residual ? std::optional(show_residual(bench, X, output)) : std::nullopt;
  if (bench.options.norm) show_norm(bench, sum ? "residual" : "output", sum ? *sum : output);
}

double element_count(const Plan& plan) {
  const auto n = static_cast<double>(plan.sentence.length());
  return multihead_element_count(plan.options, static_cast<double>(plan.sentence.size()), n, n);
}

}  // namespace

extern const Lesson multihead;
const Lesson multihead = {
    .name = "multihead",
    .title = "several attentions side by side: split, attend, concatenate, mix",
    .teaches =
        "How one wide projection is split into heads by a reshape and a transpose, how every head attends on "
        "its "
        "own, and how the heads are concatenated and mixed. With --kv-heads, heads share keys and values "
        "(grouped-query attention; 1 is multi-query). With --residual and --norm, the sublayer of a "
        "transformer as the first paper has it.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "causal", "window", "dropout",
                "temperature", "residual", "norm", "seed", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}, .heads = 2},
    .examples = {"multihead --sentence \"The cat sat on the mat\" --heads 2",
                 "multihead --heads 4 --kv-heads 2 --causal --residual --norm"},
    .element_count = element_count,
    .run_float64 = run<double>,
    .run_float32 = run<float>,
};

}  // namespace lessons
