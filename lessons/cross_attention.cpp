/// Cross-attention: the queries come from one sentence, the keys and values from another.
/// Sources: Bahdanau et al. 2014 (the idea, for translation); Vaswani et al. 2017, section 3.2.3 (this form).

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

namespace {

void claim_independent_lengths(Workbench& bench, const Projections& projected, const Attention<3>& attention,
                               const std::optional<Mask<3>>& mask) {
  auto mute = bench.mute();
  const auto& [Q, K, V] = projected;
  const auto output = attention.dropped ? attn::matmul(attention.weights, V) : attention.output;
  const auto limit = rounding(bench.trace, attn::max_abs(attention.scaled) * attn::max_abs(V));

  const auto mask_of_first = mask ? std::optional(attn::first_rows(*mask, 1)) : std::nullopt;
  const auto alone = scaled_dot_product_attention(mute, attn::first_rows(Q, 1), K, V, mask_of_first);
  bench.trace.claim({.id = "queries-are-independent",
                     .claim = "the first query alone gets the same answer: n_q is free",
                     .formula = "max |attention(Q[:1], K, V) − output[:1]|",
                     .value = attn::max_abs_difference(alone.output, attn::first_rows(output, 1)),
                     .limit = limit});

  const auto doubled_mask = mask ? std::optional(attn::columns_twice(*mask)) : std::nullopt;
  const auto doubled =
      scaled_dot_product_attention(mute, Q, attn::rows_twice(K), attn::rows_twice(V), doubled_mask);
  bench.trace.claim({.id = "key-count-is-free",
                     .claim = "with every key and value listed twice the answers stay the same: n_k is free",
                     .formula = "max |attention(Q, [K; K], [V; V]) − output|",
                     .value = attn::max_abs_difference(doubled.output, output),
                     .limit = limit});
}

void attend_with_one_head(Workbench& bench, const Named& X_target, const Named& X_source) {
  const auto weights = draw_projection_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);
  const auto projected = project(bench, X_target, X_source, weights,
                                 {.Q = "What each target token asks of the source",
                                  .K = "What each source token can be found by",
                                  .V = "What each source token has to give"});
  const auto& [Q, K, V] = projected;
  const auto attention = scaled_dot_product_attention(bench, Q, K, V, mask);
  claim_attention(bench, attention, Q, K, V);
  claim_independent_lengths(bench, projected, attention, mask);
}

void attend_with_heads(Workbench& bench, const Named& X_target, const Named& X_source) {
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(bench.plan.target, bench.plan.source);
  explain_parameters(bench);
  const auto attention = multihead_attention(bench, X_target, X_source, weights, mask);
  claim_multihead(bench, X_target, X_source, weights, attention, mask);
}

void run_cross_attention(Workbench& bench) {
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
  const auto X_target =
      bench.input<3>({.id = "X_target", .title = "The target sentence as vectors", .note = "It asks."});
  const auto X_source =
      bench.input<3>({.id = "X_source",
                      .title = "The source sentence as vectors",
                      .note = "It answers. Where both sentences share a word they share its row."});
  if (bench.options.heads)
    attend_with_heads(bench, {"X_target", X_target}, {"X_source", X_source});
  else
    attend_with_one_head(bench, {"X_target", X_target}, {"X_source", X_source});
}

std::vector<Input> cross_attention_inputs(const Options& options) {
  return joined(
      {{{"X_target", {"target", "d_model"}, Draw::embedding},
        {"X_source", {"source", "d_model"}, Draw::embedding}},
       options.heads ? multihead_input_list() : projection_input_list(),
       {{"mask", {"query", "key"}, Draw::page}, {"dropout_mask", {"[head]", "query", "key"}, Draw::page}}});
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
                "seed", "rng", "draws", "weight-scale", "embeddings", "dtype"},
    .defaults = {.source = {"i love cats"}, .target = {"j'aime les chats"}},
    .examples =
        {"cross-attention --source \"i love cats\" --target \"j'aime les chats\"",
         "cross-attention --source \"the cat sat on the mat\" --target \"le chat s'est assis\" --heads 2"},
    .inputs = cross_attention_inputs,
    .run = run_cross_attention,
};

}  // namespace lessons
