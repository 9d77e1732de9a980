/// Cross-attention: the queries come from one sentence, the keys and values from another.
/// Sources: Bahdanau et al. 2014 (the idea, for translation); Vaswani et al. 2017, section 3.2.3 (this form).

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/lesson.hpp"
#include "lessons/shared/attention_steps.hpp"
#include "lessons/shared/claims.hpp"
#include "lessons/shared/multihead_steps.hpp"
#include "lessons/shared/projections.hpp"

namespace lessons {

namespace {

void claim_independent_lengths(Workbench& bench, const Tensor<3>& Q, const Tensor<3>& K,
                               const Tensor<3>& V, const std::optional<Mask<3>>& mask,
                               const attn::Attention<3>& attention) {
  const double temperature = bench.options.temperature;
  const auto limit = rounding(bench, attn::max_abs(attention.scaled) * attn::max_abs(V));
  const auto alone = attn::scaled_dot_product_attention(
      attn::first_rows(Q, 1), K, V, mask ? std::optional(attn::first_rows(*mask, 1)) : mask, temperature);
  bench.trace.claim({.id = "queries-are-independent",
                     .claim = "the first query alone gets the same answer: n_q is free",
                     .formula = "max |attention(Q[:1], K, V) − output[:1]|",
                     .value = attn::max_abs_difference(alone.output, attn::first_rows(attention.output, 1)),
                     .limit = limit});
  const auto doubled = attn::scaled_dot_product_attention(
      Q, attn::rows_twice(K), attn::rows_twice(V), mask ? std::optional(attn::columns_twice(*mask)) : mask,
      temperature);
  bench.trace.claim({.id = "key-count-is-free",
                     .claim = "with every key and value listed twice the answers stay the same: n_k is free",
                     .formula = "max |attention(Q, [K; K], [V; V]) − output|",
                     .value = attn::max_abs_difference(doubled.output, attention.output),
                     .limit = limit});
}

void run_single(Workbench& bench, const Tensor<3>& X_target, const Tensor<3>& X_source) {
  const auto weights = draw_projection_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);

  const auto [Q, K, V] = show_projections(bench, {"X_target", X_target}, {"X_source", X_source}, weights,
                                          {.Q = "What each target token asks of the source",
                                           .K = "What each source token can be found by",
                                           .V = "What each source token has to give"});
  const auto shown = show_attention(bench, Q, K, V, mask);

  claim_attention(bench, shown.attention, Q, K, V, mask);
  claim_independent_lengths(bench, Q, K, V, mask, shown.attention);
}

void run_multihead(Workbench& bench, const Tensor<3>& X_target, const Tensor<3>& X_source) {
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);
  show_multihead_parameters(bench);
  const auto shown = show_multihead(bench, {"X_target", X_target}, {"X_source", X_source}, weights, mask);
  claim_multihead(bench, X_target, X_source, weights, shown, mask);
}

void run(Workbench& bench) {
  const auto& source = bench.plan.source;
  const auto& target = bench.plan.target;
  bench.label({"source", "key"}, source);
  bench.label({"target", "query"}, target);

  bench.trace.note(
      "idea", "The idea",
      "A decoder that writes the target sentence must look into the source sentence. The queries come from "
      "the target, the keys and values from the source. The weights are a table of target × source: an "
      "alignment of the two sentences, which need not be equally long.",
      "Attention(X_target W_Q, X_source W_K, X_source W_V)");

  bench.show_lengths(source);
  const auto X_target = bench.embed({.id = "X_target",
                                     .title = "The target sentence as vectors",
                                     .axes = {"target", "d_model"},
                                     .note = "It asks."},
                                    target);
  const auto X_source =
      bench.embed({.id = "X_source",
                   .title = "The source sentence as vectors",
                   .axes = {"source", "d_model"},
                   .note = "It answers. Where both sentences share a word they share its row."},
                  source);
  if (bench.options.heads)
    run_multihead(bench, X_target, X_source);
  else
    run_single(bench, X_target, X_source);
}

double element_count(const Plan& plan) {
  Options options = plan.options;
  options.heads = options.heads.value_or(1);
  return multihead_element_count(options, static_cast<double>(plan.source.size()),
                                 static_cast<double>(plan.target.length()),
                                 static_cast<double>(plan.source.length()));
}

}  // namespace

extern const Lesson cross_attention;
const Lesson cross_attention = {
    .name = "cross-attention",
    .title = "the words of one sentence look at the words of another",
    .teaches =
        "How a target sentence asks and a source sentence answers: queries from one, keys and values from "
        "the other, and an alignment table of target × source between them. With --heads it is multi-head "
        "cross-attention, the form inside a transformer's decoder.",
    .options = {"source", "target", "d-model", "d-k", "d-v", "heads", "kv-heads", "dropout", "temperature",
                "seed", "rng", "weight-scale", "embeddings", "dtype"},
    .defaults = {.source = {"I love cats"}, .target = {"J'aime les chats"}},
    .examples =
        {"cross-attention --source \"I love cats\" --target \"J'aime les chats\"",
         "cross-attention --source \"The cat sat on the mat\" --target \"Le chat s'est assis\" --heads 2"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
