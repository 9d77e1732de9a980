/// Multi-head attention: several attentions side by side, each with its own view of the tokens.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "lessons/multihead.hpp"

#include <fmt/format.h>

#include <utility>

#include "attn/ops/heads.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/transformer_block.hpp"

namespace lessons {

namespace {

/// The axis that counts the key and value heads.
std::string kv_head_axis(const Heads& heads) {
  return heads.key_value == heads.query ? "head" : "kv_head";
}

Heads heads_of(const Workbench& bench) {
  return {bench.heads(), bench.kv_heads()};
}

/// "[n×h·d] → [n×h×d] → [h×n×d]" with the sizes of this run.
std::string split_note(std::size_t n, std::size_t heads, std::size_t d) {
  return fmt::format("reshape [{0}×{3}] → [{0}×{1}×{2}], then transpose → [{1}×{0}×{2}]", n, heads, d,
                     heads * d);
}

}  // namespace

MultiHeadWeights draw_multihead_weights(Workbench& bench) {
  const auto d_k = bench.d_k();
  auto W_Q =
      bench.input<2>({.id = "W_Q",
                      .title = "Makes the queries of all heads at once",
                      .note = fmt::format("Columns {}·i to {}·i + {} belong to head i.", d_k, d_k, d_k - 1)});
  auto W_K = bench.input<2>({.id = "W_K", .title = "Makes the keys of all heads at once"});
  auto W_V = bench.input<2>({.id = "W_V", .title = "Makes the values of all heads at once"});
  auto W_O = bench.input<2>({.id = "W_O",
                             .title = "Mixes what the heads found",
                             .note = "Without it the heads would only stand side by side."});
  return {std::move(W_Q), std::move(W_K), std::move(W_V), std::move(W_O)};
}

void explain_parameters(Workbench& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  const auto h = bench.heads(), h_kv = bench.kv_heads();
  const auto in_Q = d_model * h * d_k, in_K = d_model * h_kv * d_k, in_V = d_model * h_kv * d_v;
  const auto in_O = h * d_v * d_model;
  bench.trace.note(
      "parameters", "How many numbers there are to learn",
      fmt::format(
          "{} parameters. The number of heads does not change it as long as heads · d_k stays the same: {} "
          "heads of {} have as many parameters as one head of {}.",
          in_Q + in_K + in_V + in_O, h, d_k, h * d_k),
      fmt::format("W_Q {0}×{1} = {2}\nW_K {0}×{3} = {4}\nW_V {0}×{5} = {6}\nW_O {7}×{0} = {8}", d_model,
                  h * d_k, in_Q, h_kv * d_k, in_K, h_kv * d_v, in_V, h * d_v, in_O));
}

HeadProjections project_to_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                                 const MultiHeadWeights& weights, const Heads& heads) {
  const auto [h, h_kv] = heads;
  const auto d_k = weights.W_Q.shape(1) / h, d_v = weights.W_O.shape(0) / h;
  const auto n_q = X_query.tensor.shape(1), n_k = X_key.tensor.shape(1);
  const auto kv_head = kv_head_axis(heads);
  auto& trace = bench.trace;

  const auto Q = trace.step({.id = "Q",
                             .title = "The queries of all heads, side by side",
                             .formula = X_query.id + " W_Q",
                             .from = {X_query.id, "W_Q"},
                             .axes = {"query", "head·d_k"},
                             .worked = attn::worked_linear(attn::Known{X_query.id, X_query.tensor},
                                                           attn::Known<2>{"W_Q", weights.W_Q})},
                            attn::linear(X_query.tensor, weights.W_Q));
  const auto K = trace.step({.id = "K",
                             .title = "The keys of all heads, side by side",
                             .formula = X_key.id + " W_K",
                             .from = {X_key.id, "W_K"},
                             .axes = {"key", kv_head + "·d_k"},
                             .worked = attn::worked_linear(attn::Known{X_key.id, X_key.tensor},
                                                           attn::Known<2>{"W_K", weights.W_K})},
                            attn::linear(X_key.tensor, weights.W_K));
  const auto V = trace.step({.id = "V",
                             .title = "The values of all heads, side by side",
                             .formula = X_key.id + " W_V",
                             .from = {X_key.id, "W_V"},
                             .axes = {"key", kv_head + "·d_v"},
                             .worked = attn::worked_linear(attn::Known{X_key.id, X_key.tensor},
                                                           attn::Known<2>{"W_V", weights.W_V})},
                            attn::linear(X_key.tensor, weights.W_V));

  /// Out of the projection `id`, or where that is not shown out of what it is computed from.
  const auto worked_heads = [&](const std::string& id, const Tensor<3>& projected, const Named& X,
                                const Tensor<2>& W, std::size_t width) {
    const attn::WorkedOut shown = attn::Known{id, projected};
    return attn::worked_split_heads(
        trace.speaks_of(id) ? shown
                            : attn::worked_linear(attn::Known{X.id, X.tensor}, attn::Known{"W_" + id, W}),
        width);
  };
  auto Q_heads = trace.step({.id = "Q_heads",
                             .title = "The queries, split into heads: a reshape and a transpose",
                             .formula = split_note(n_q, h, d_k),
                             .from = {"Q"},
                             .axes = {"head", "query", "d_k"},
                             .note = "No number changes. The reshape cuts each token's row into heads; "
                                     "the transpose brings all tokens of one head together. A "
                                     "reshape alone has the same shape but hands each head a "
                                     "block of tokens: a mistake that no shape check finds.",
                             .worked = worked_heads("Q", Q, X_query, weights.W_Q, d_k)},
                            attn::split_heads(Q, h));
  auto K_heads = trace.step({.id = "K_heads",
                             .title = "The keys, split into heads",
                             .formula = split_note(n_k, h_kv, d_k),
                             .from = {"K"},
                             .axes = {kv_head, "key", "d_k"},
                             .worked = worked_heads("K", K, X_key, weights.W_K, d_k)},
                            attn::split_heads(K, h_kv));
  auto V_heads = trace.step({.id = "V_heads",
                             .title = "The values, split into heads",
                             .formula = split_note(n_k, h_kv, d_v),
                             .from = {"V"},
                             .axes = {kv_head, "key", "d_v"},
                             .worked = worked_heads("V", V, X_key, weights.W_V, d_v)},
                            attn::split_heads(V, h_kv));
  return {Q, std::move(Q_heads), std::move(K_heads), std::move(V_heads)};
}

std::pair<Attention<4>, Tensor<3>> attend_in_heads(Workbench& bench, const Tensor<4>& Q_heads,
                                                   const Tensor<4>& K_heads, const Tensor<4>& V_heads,
                                                   const Tensor<2>& W_O, const std::optional<Mask<3>>& mask) {
  const auto h = Q_heads.shape(1), n_q = Q_heads.shape(2), d_v = V_heads.shape(3);
  auto& trace = bench.trace;
  auto attention = scaled_dot_product_attention(bench, Q_heads, attn::repeat_heads(K_heads, h),
                                                attn::repeat_heads(V_heads, h), mask);

  trace.step(
      {.id = "mean_weights",
       .title = "The heads' average, as tutorials plot it",
       .formula = fmt::format("Σᵢ weightsᵢ / {}", h),
       .from = {attention.dropped ? "dropped" : "weights"},
       .axes = {"query", "key"},
       .note = "For looking only; nothing below is computed from it. An average hides that heads disagree.",
       .distribution = true,
       .worked = attn::worked_mean_over_heads(
           attn::Known<4>{attention.dropped ? "dropped" : "weights", attention.used_weights()})},
      attn::mean_over_heads(attention.used_weights()));

  const auto concat = trace.step(
      {.id = "concat",
       .title = "Concatenate the heads: a transpose and a reshape",
       .formula = fmt::format("transpose [{1}×{0}×{2}] → [{0}×{1}×{2}], then reshape → [{0}×{3}]", n_q, h,
                              d_v, h * d_v),
       .from = {"heads"},
       .axes = {"query", "head·d_v"},
       .note = "The way back: each token's row holds what head 0 found for it, then head 1, and so on.",
       .worked = attn::worked_merge_heads(attn::Known<4>{"heads", attention.output})},
      attn::merge_heads(attention.output));
  auto output = trace.step(
      {.id = "output",
       .title = "The outputs of the heads, mixed by W_O",
       .formula = "concat W_O",
       .from = {"concat", "W_O"},
       .axes = {"query", "d_model"},
       .worked = attn::worked_linear(
           trace.speaks_of("concat") ? attn::WorkedOut(attn::Known{"concat", concat})
                                     : attn::worked_merge_heads(attn::Known<4>{"heads", attention.output}),
           attn::Known<2>{"W_O", W_O})},
      attn::linear(concat, W_O));
  return {std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask) {
  const auto [h, h_kv] = heads;
  auto [Q, Q_heads, K_heads, V_heads] = project_to_heads(bench, X_query, X_key, weights, heads);
  if (h_kv != h)
    bench.trace.note(
        "sharing", "Query heads share key and value heads",
        fmt::format(
            "{0} query heads read {1} key and value head{2}: query head i reads number ⌊i·{1}/{0}⌋. Keys "
            "and values are {3} times smaller, and so is the cache that keeps them during generation.",
            h, h_kv, h_kv == 1 ? "" : "s", h / h_kv));
  auto [attention, output] = attend_in_heads(bench, Q_heads, K_heads, V_heads, weights.W_O, mask);
  return {std::move(Q),       std::move(Q_heads),   std::move(K_heads),
          std::move(V_heads), std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  return multihead_attention(bench, X_query, X_key, weights, heads_of(bench), mask);
}

namespace {

/// The columns of the weights that belong to head i.
ProjectionWeights weights_of_head(const Workbench& bench, const MultiHeadWeights& weights, std::size_t i) {
  const auto d_k = bench.d_k(), d_v = bench.d_v(), kv = i * bench.kv_heads() / bench.heads();
  return {attn::columns(weights.W_Q, i * d_k, (i + 1) * d_k),
          attn::columns(weights.W_K, kv * d_k, (kv + 1) * d_k),
          attn::columns(weights.W_V, kv * d_v, (kv + 1) * d_v)};
}

/// The heads one by one, each as a single attention with its own columns of the weights.
double deviation_from_separate_heads(Workbench& mute, const Named& X_query, const Named& X_key,
                                     const MultiHeadWeights& weights, const Tensor<4>& heads,
                                     const std::optional<Mask<3>>& mask) {
  double deviation = 0.0;
  for (std::size_t i = 0; i < mute.heads(); ++i) {
    const auto single = single_head_attention(mute, X_query, X_key, weights_of_head(mute, weights, i), mask);
    deviation = attn::maximum({deviation, attn::max_abs_difference(attn::head(heads, i), single.output)});
  }
  return deviation;
}

/// Multi-head attention with nothing but head 0, beside the lesson self-attention with its weights.
double deviation_of_one_head(Workbench& mute, const Named& X_query, const Named& X_key,
                             const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto own = weights_of_head(mute, weights, 0);
  const auto W_O = attn::rows(weights.W_O, 0, mute.d_v());
  const auto multihead =
      multihead_attention(mute, X_query, X_key, {own.W_Q, own.W_K, own.W_V, W_O}, {1, 1}, mask);
  const auto single = single_head_attention(mute, X_query, X_key, own, mask);
  return attn::max_abs_difference(multihead.output, attn::linear(single.output, W_O));
}

/// The heads of full multi-head attention whose key and value weights repeat those of the shared heads.
Tensor<4> heads_with_repeated_weights(Workbench& mute, const Named& X_query, const Named& X_key,
                                      const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto h = mute.heads(), group = h / mute.kv_heads();
  const MultiHeadWeights full = {weights.W_Q, attn::repeat_column_blocks(weights.W_K, mute.d_k(), group),
                                 attn::repeat_column_blocks(weights.W_V, mute.d_v(), group), weights.W_O};
  return multihead_attention(mute, X_query, X_key, full, {h, h}, mask).attention.output;
}

std::string grouping_claim(std::size_t heads, std::size_t kv_heads) {
  if (kv_heads == heads)
    return "with as many key and value heads as query heads it is plain multi-head attention";
  if (kv_heads == 1)
    return "multi-query attention is multi-head attention whose heads all share one key and value head";
  return "grouped-query attention is multi-head attention with each key and value head repeated for its "
         "group";
}

}  // namespace

void claim_multihead(Workbench& bench, const Named& X_query, const Named& X_key,
                     const MultiHeadWeights& weights, const MultiHeadAttention& shown,
                     const std::optional<Mask<3>>& mask) {
  const auto h = bench.heads();
  const auto V_shared = attn::repeat_heads(shown.V_heads, h);
  claim_attention(bench, shown.attention, shown.Q_heads, attn::repeat_heads(shown.K_heads, h), V_shared);

  auto mute = bench.mute();
  const auto& attention = shown.attention;
  const auto heads = attention.dropped ? attn::matmul(attention.weights, V_shared) : attention.output;
  const double magnitude = attn::max_abs(attention.scaled) * attn::max_abs(V_shared);
  auto& trace = bench.trace;
  trace.claim({.id = "merge-undoes-split",
               .claim = "merging the heads undoes splitting them",
               .formula = "max |merge(split(Q)) − Q|",
               .value = attn::max_abs_difference(attn::merge_heads(attn::split_heads(shown.Q, h)), shown.Q),
               .limit = attn::exactly(0.0)});
  trace.claim({.id = "equals-separate-heads",
               .claim = "each head is a single attention with its own columns of the weights",
               .formula = "max |headᵢ − Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)|",
               .value = deviation_from_separate_heads(mute, X_query, X_key, weights, heads, mask),
               .limit = rounding(bench.trace, magnitude)});
  trace.claim({.id = "one-head-equals-self-attention",
               .claim = "with one head it is the single attention of the lesson self-attention, times W_O",
               .formula = "max |multihead(h = 1) − Attention(Q, K, V) W_O|, with the weights of head 0",
               .value = deviation_of_one_head(mute, X_query, X_key, weights, mask),
               .limit = rounding(bench.trace, magnitude * attn::max_abs(weights.W_O))});
  const auto repeated = heads_with_repeated_weights(mute, X_query, X_key, weights, mask);
  trace.claim({.id = "kv-heads",
               .claim = grouping_claim(bench.heads(), bench.kv_heads()),
               .formula = "max |heads − multihead(weights repeated)|",
               .value = attn::max_abs_difference(repeated, heads),
               .limit = rounding(bench.trace, magnitude)});
}

std::vector<Input> multihead_input_list() {
  return {{"W_Q", {"d_model", "head·d_k"}, Draw::weight},
          {"W_K", {"d_model", "kv_head·d_k"}, Draw::weight},
          {"W_V", {"d_model", "kv_head·d_v"}, Draw::weight},
          {"W_O", {"head·d_v", "d_model"}, Draw::weight}};
}

namespace {

void run_multihead(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);

  bench.trace.note("idea", "The idea",
                   "One attention gives each token one mixture of the others. Several heads give it several: "
                   "each head projects the tokens into a small space of its own, attends there, and the "
                   "results are laid side by side and mixed by W_O. Because each head is small, all of them "
                   "together take as many multiply-adds as one large attention. But each head has a table of "
                   "scores of its own: h heads hold h times as many bytes of scores.",
                   "MultiHead(X) = Concat(head₁, …, headₕ) W_O\nheadᵢ = Attention(X W_Qⁱ, X W_Kⁱ, X W_Vⁱ)");

  bench.show_lengths(sentence);
  const auto X =
      bench.input<3>({.id = "X",
                      .title = "The sentence as vectors",
                      .note = "One row a token; the same word has the same row wherever it stands."});
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  explain_parameters(bench);
  const auto attention = multihead_attention(bench, {"X", X}, {"X", X}, weights, mask);
  claim_multihead(bench, {"X", X}, {"X", X}, weights, attention, mask);

  Named last = {"output", attention.output};
  if (bench.options.residual) last = attention_residual(bench, {"X", X}, last);
  if (bench.options.norm) attention_norm(bench, last, layer_norm_weights(bench, "norm"));
}

std::vector<Input> multihead_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 multihead_input_list(),
                 {{"mask", {"query", "key"}, Draw::page},
                  {"dropout_mask", {"head", "query", "key"}, Draw::page},
                  {"norm/gain", {"d_model"}, Draw::ones},
                  {"norm/bias", {"d_model"}, Draw::zeros}}});
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
                "temperature", "residual", "norm", "seed", "rng", "draws", "weight-scale", "embeddings",
                "dtype"},
    .defaults = {.sentence = {"the cat sat on the mat"}, .heads = 2},
    .examples = {"multihead --sentence \"the cat sat on the mat\" --heads 2",
                 "multihead --heads 4 --kv-heads 2 --causal --residual --norm"},
    .inputs = multihead_inputs,
    .run = run_multihead,
};

}  // namespace lessons
