/// Multi-head attention: several attentions side by side, each with its own view of the tokens.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "lessons/multihead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/positional_rotary.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead/layout.hpp"
#include "lessons/multihead/mistakes.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/self_attention/mistakes.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

std::string kv_head_axis(const Heads& heads) {
  return heads.key_value == heads.query ? "head" : "kv_head";
}

namespace {

/// Of rotary attention the angles tell how wide a head is.
Heads heads_of(const Workbench& bench, const MultiHeadWeights& weights) {
  if (!weights.angles) return {bench.heads(), bench.kv_heads()};
  const auto d_k = 2 * weights.angles->shape(1);
  return {weights.W_Q.shape(1) / d_k, weights.W_K.shape(1) / d_k};
}

/// The rows of each head [batch×head×n×d_k] turned by their angles.
Tensor<4> turned(const Tensor<4>& heads, const Tensor<2>& angles) {
  Tensor<3> rows(std::array{heads.shape(0) * heads.shape(1), heads.shape(2), heads.shape(3)});
  std::copy(heads.begin(), heads.end(), rows.begin());
  const auto rotated = attn::rotate_pairs(rows, angles, attn::Pairing::adjacent);
  Tensor<4> result(heads.shape());
  std::copy(rotated.begin(), rotated.end(), result.begin());
  return result;
}

/// "Q: [n×h·d] → [n×h×d] → [h×n×d]" with the sizes of this run.
std::string split_note(const std::string& id, std::size_t n, std::size_t heads, std::size_t d) {
  return fmt::format("{}: [{}×{}] → [{}×{}×{}] → [{}×{}×{}]", id, n, heads * d, n, heads, d, heads, n, d);
}

/// An entry of Q_heads that the cut has moved: of head 1, where there is one.
std::optional<attn::Index> in_head_1(std::size_t heads, std::size_t queries) {
  if (heads == 1) return std::nullopt;
  return attn::Index{1, attn::token_to_work_out(queries), 0};
}

/// The entry of concat that head 1 begins with.
std::optional<attn::Index> first_of_head_1(std::size_t heads, std::size_t queries, std::size_t d_v) {
  if (heads == 1) return std::nullopt;
  return attn::Index{attn::token_to_work_out(queries), d_v};
}

}  // namespace

void take_biases(Workbench& bench, MultiHeadWeights& weights) {
  weights.b_Q = bench.input_if_given<1>({.id = "b_Q", .title = "Added to the queries of all heads"});
  weights.b_K = bench.input_if_given<1>({.id = "b_K", .title = "Added to the keys of all heads"});
  weights.b_V = bench.input_if_given<1>({.id = "b_V", .title = "Added to the values of all heads"});
  weights.b_O = bench.input_if_given<1>({.id = "b_O", .title = "Added to every row of the output"});
  weights.angles = bench.input_if_given<2>(
      {.id = "angles",
       .title = "By how much each pair of a query or a key is turned",
       .note = "At position p pair i, the columns 2i and 2i + 1 of a head, is turned by p · 10000^(−2i/d_k): "
               "rotary positions, as in the lesson positional."});
}

MultiHeadWeights draw_multihead_weights(Workbench& bench) {
  const auto pairs = bench.length_of_given("angles", "pair", 0);
  const auto d_k = pairs > 0 ? 2 * pairs : bench.d_k();
  auto W_Q =
      bench.input<2>({.id = "W_Q",
                      .title = "Makes the queries of all heads at once",
                      .note = fmt::format("Columns {}·i to {}·i + {} belong to head i.", d_k, d_k, d_k - 1)});
  auto W_K = bench.input<2>({.id = "W_K", .title = "Makes the keys of all heads at once"});
  auto W_V = bench.input<2>({.id = "W_V", .title = "Makes the values of all heads at once"});
  auto W_O = bench.input<2>({.id = "W_O",
                             .title = "Mixes what the heads found",
                             .note = "Without it the heads would only stand side by side."});
  MultiHeadWeights weights = {std::move(W_Q), std::move(W_K), std::move(W_V), std::move(W_O)};
  take_biases(bench, weights);
  return weights;
}

std::string shapes_of_projections(const Workbench& bench) {
  const auto d_model = bench.d_model(), of_Q = bench.heads() * bench.d_k(),
             of_K = bench.kv_heads() * bench.d_k(), of_V = bench.kv_heads() * bench.d_v(),
             of_O = bench.heads() * bench.d_v();
  const bool are_alike = of_Q == d_model && of_K == d_model && of_V == d_model && of_O == d_model;
  return are_alike ? fmt::format("W_Q, W_K, W_V, W_O [{0}×{0}]", d_model)
                   : fmt::format("W_Q [{0}×{1}], W_K [{0}×{2}], W_V [{0}×{3}], W_O [{4}×{0}]", d_model, of_Q,
                                 of_K, of_V, of_O);
}

void explain_parameters(Workbench& bench) {
  const auto d_model = bench.d_model(), d_k = bench.d_k(), d_v = bench.d_v();
  const auto h = bench.heads(), h_kv = bench.kv_heads();
  const auto in_Q = d_model * h * d_k, in_K = d_model * h_kv * d_k, in_V = d_model * h_kv * d_v;
  const auto in_O = h * d_v * d_model;
  std::size_t in_biases = 0;
  std::string biases;
  for (const auto& [id, length] : {std::pair("b_Q", h * d_k), std::pair("b_K", h_kv * d_k),
                                   std::pair("b_V", h_kv * d_v), std::pair("b_O", d_model)}) {
    if (!bench.has_given(id)) continue;
    in_biases += length;
    biases += fmt::format("\n{} {}", id, length);
  }
  bench.trace.note(
      "parameters", "How many numbers there are to learn",
      fmt::format("{0} parameters. The number of heads does not change it as long as heads · d_k stays the "
                  "same: {1} heads of {2} have as many parameters as one head of {3}. They need as many "
                  "multiplications in Q Kᵀ, but make {1} tables of scores.",
                  in_Q + in_K + in_V + in_O + in_biases, h, d_k, h * d_k),
      fmt::format("W_Q {0}×{1} = {2}\nW_K {0}×{3} = {4}\nW_V {0}×{5} = {6}\nW_O {7}×{0} = {8}", d_model,
                  h * d_k, in_Q, h_kv * d_k, in_K, h_kv * d_v, in_V, h * d_v, in_O) +
          biases);
}

HeadProjections project_to_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                                 const MultiHeadWeights& weights, const Heads& heads) {
  const auto [h, h_kv] = heads;
  const auto d_k = weights.W_Q.shape(1) / h, d_v = weights.W_O.shape(0) / h;
  const auto n_q = X_query.tensor.shape(1), n_k = X_key.tensor.shape(1);
  const auto kv_head = kv_head_axis(heads);
  const auto divisor = divisor_of(d_k, bench.options.temperature);
  const std::vector maps = {weights.Q(), weights.K(), weights.V()};
  auto& trace = bench.trace;

  const auto Q = show_linear(
      bench, {.id = "Q", .title = "The queries of all heads, side by side", .axes = {"query", "head·d_k"}},
      X_query, "Q", maps[0], mistakes_of_queries(X_query.tensor, maps, divisor, h_kv));
  const auto K = show_linear(
      bench, {.id = "K", .title = "The keys of all heads, side by side", .axes = {"key", kv_head + "·d_k"}},
      X_key, "K", maps[1], mistakes_of_keys(X_query, X_key, maps, divisor, h_kv));
  const auto V = show_linear(
      bench, {.id = "V", .title = "The values of all heads, side by side", .axes = {"key", kv_head + "·d_v"}},
      X_key, "V", maps[2], mistakes_of_keys_or_values(X_query, X_key, maps, 2, h_kv));

  /// Out of the projection `id`, or where that is not shown out of what it is computed from.
  const auto worked_heads = [&](const std::string& id, const Tensor<3>& projected, const Named& X,
                                const LinearMap& map, std::size_t width) {
    const attn::WorkedOut shown = attn::Known{id, projected};
    return attn::worked_split_heads(
        trace.speaks_of(id) ? shown : worked_linear_map(attn::Known{X.id, X.tensor}, id, map), width);
  };
  const auto turn = [&](attn::About& about, const Tensor<4>& cut, attn::Mistakes mistakes) {
    if (!weights.angles) return trace.step(about, cut, std::move(mistakes));
    about.title += ", and each pair turned by its angle φ";
    about.formula += "; (x, y) → (x cos φ − y sin φ, x sin φ + y cos φ)";
    about.from.push_back("angles");
    about.note.clear();
    about.worked =
        attn::worked_rotate_pairs(about.worked, {"angles", *weights.angles}, attn::Pairing::adjacent);
    return trace.step(about, turned(cut, *weights.angles));
  };
  attn::About of_Q = {.id = "Q_heads",
                      .title = "Each row is cut into heads: reshape, transpose",
                      .formula = split_note("Q", n_q, h, d_k),
                      .from = {"Q"},
                      .axes = {"head", "query", "d_k"},
                      .note =
                          "No number changes. The reshape cuts each token's row into heads; the "
                          "transpose brings all tokens of one head together. A reshape alone has "
                          "the same shape but hands each head a block of tokens: a mistake that "
                          "no shape check finds.",
                      .worked = worked_heads("Q", Q, X_query, maps[0], d_k),
                      .worked_at = in_head_1(h, n_q)};
  auto Q_heads = turn(of_Q, attn::split_heads(Q, h), mistakes_of_query_heads(Q, h, divisor));
  attn::About of_K = {.id = "K_heads",
                      .title = "The keys, cut into heads in the same way",
                      .formula = split_note("K", n_k, h_kv, d_k),
                      .from = {"K"},
                      .axes = {kv_head, "key", "d_k"},
                      .worked = worked_heads("K", K, X_key, maps[1], d_k)};
  auto K_heads = turn(of_K, attn::split_heads(K, h_kv), mistakes_of_key_heads(K, h_kv, divisor));
  auto V_heads = trace.step({.id = "V_heads",
                             .title = "The values, cut into heads in the same way",
                             .formula = split_note("V", n_k, h_kv, d_v),
                             .from = {"V"},
                             .axes = {kv_head, "key", "d_v"},
                             .worked = worked_heads("V", V, X_key, maps[2], d_v)},
                            attn::split_heads(V, h_kv), mistakes_of_split(V, h_kv));
  return {Q, std::move(Q_heads), std::move(K_heads), std::move(V_heads)};
}

std::pair<Attention<4>, Tensor<3>> attend_in_heads(Workbench& bench, const Tensor<4>& Q_heads,
                                                   const Tensor<4>& K_heads, const Tensor<4>& V_heads,
                                                   const LinearMap& to_output,
                                                   const std::optional<Mask<3>>& mask,
                                                   const attn::Mistakes& of_output) {
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
       .title = "The heads, side by side again: transpose, reshape",
       .formula = fmt::format("heads: [{1}×{0}×{2}] → [{0}×{1}×{2}] → [{0}×{3}]", n_q, h, d_v, h * d_v),
       .from = {"heads"},
       .axes = {"query", "head·d_v"},
       .note = "Each row holds what head 0 found for the token, then head 1, and so on.",
       .worked = attn::worked_merge_heads(attn::Known<4>{"heads", attention.output}),
       .worked_at = first_of_head_1(h, n_q, d_v)},
      attn::merge_heads(attention.output), mistakes_of_concat(attention.output));
  const auto shown_concat = trace.speaks_of("concat")
                                ? attn::WorkedOut(attn::Known{"concat", concat})
                                : attn::worked_merge_heads(attn::Known<4>{"heads", attention.output});
  auto mistakes = mistakes_of_head_output(attention.output, concat, to_output);
  mistakes.insert(mistakes.end(), of_output.begin(), of_output.end());
  auto output = show_linear(bench,
                            {.id = "output",
                             .title = "W_O mixes the heads",
                             .axes = {"query", "d_model"},
                             .worked = worked_linear_map(shown_concat, "O", to_output)},
                            {"concat", concat}, "O", to_output, mistakes);
  return {std::move(attention), std::move(output)};
}

namespace {

/// The queries' tokens as keys and values, too: the tables between have another shape, the output has not.
attn::Mistakes mistakes_of_tokens(const Workbench& bench, const Named& X_query, const Named& X_key,
                                  const MultiHeadWeights& weights, const Heads& heads) {
  if (X_query.id == X_key.id) return {};
  return {{"cross-attends-itself", [&bench, &X_query, &weights, &heads] {
             auto mute = bench.mute();
             const auto& tokens = bench.plan.target.size() > 0 ? bench.plan.target : bench.plan.sentence;
             const auto n = X_query.tensor.shape(1);
             std::optional<Mask<3>> mask;
             if (tokens.is_padded()) mask = attn::padding_mask(tokens.lengths(), n, n);
             return multihead_attention(mute, X_query, X_query, weights, heads, mask).output;
           }}};
}

}  // namespace

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask) {
  const auto [h, h_kv] = heads;
  auto [Q, Q_heads, K_heads, V_heads] = project_to_heads(bench, X_query, X_key, weights, heads);
  if (h_kv != h)
    bench.trace.note(
        "sharing", "Query heads share key and value heads",
        fmt::format(
            "{0} query heads read {1} key and value head{2}: query head i reads number ⌊i·{1}/{0}⌋. Keys and "
            "values are {3} times smaller, and so is the cache that keeps them during generation.",
            h, h_kv, h_kv == 1 ? "" : "s", h / h_kv));
  auto [attention, output] = attend_in_heads(bench, Q_heads, K_heads, V_heads, weights.O(), mask,
                                             mistakes_of_tokens(bench, X_query, X_key, weights, heads));
  return {std::move(Q),       std::move(Q_heads),   std::move(K_heads),
          std::move(V_heads), std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  return multihead_attention(bench, X_query, X_key, weights, heads_of(bench, weights), mask);
}

std::vector<Input> multihead_input_list() {
  return {{"W_Q", {"d_model", "head·d_k"}, Draw::weight},
          {"W_K", {"d_model", "kv_head·d_k"}, Draw::weight},
          {"W_V", {"d_model", "kv_head·d_v"}, Draw::weight},
          {"W_O", {"head·d_v", "d_model"}, Draw::weight}};
}

std::vector<Input> multihead_bias_list() {
  return {{"b_Q", {"head·d_k"}, Draw::given},
          {"b_K", {"kv_head·d_k"}, Draw::given},
          {"b_V", {"kv_head·d_v"}, Draw::given},
          {"b_O", {"d_model"}, Draw::given}};
}

namespace {

void run_multihead(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  choose_multihead_page(bench);
  tell_multihead_idea(bench);

  bench.show_lengths(sentence);
  const auto X = bench.input<3>(
      {.id = "X",
       .title = "The sentence as vectors",
       .note = bench.options.model ? where_X_comes_from
                                   : "One row a token; the same word has the same row wherever it stands."});
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);

  bench.flow(multihead_flow(bench, mask.has_value()));
  bench.code(multihead_code(bench, mask));
  explain_parameters(bench);
  const auto attention = multihead_attention(bench, {"X", X}, {"X", X}, weights, mask);
  show_reshape_alone(bench, attention.Q);
  claim_multihead(bench, {"X", X}, {"X", X}, weights, attention, mask);

  Named last = {"output", attention.output};
  if (bench.options.residual) last = attention_residual(bench, {"X", X}, last);
  if (bench.options.norm) attention_norm(bench, last, layer_norm_weights(bench, "norm"));
  try_after_multihead(bench);
}

}  // namespace

void give_about_heads(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give(id, inputs.matrix("layer=2/attention/" + id));
}

namespace {

std::vector<Input> multihead_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 multihead_input_list(),
                 multihead_bias_list(),
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
                "model", "dtype"},
    .defaults = {.sentence = {"girls saw the small cat"}, .heads = 2},
    .examples = {"multihead --sentence \"the cat sat on the mat\" --heads 2",
                 "multihead --heads 4 --kv-heads 2 --causal --residual --norm"},
    .inputs = multihead_inputs,
    .trained = Trained{.task = "about", .give = give_about_heads, .reads = Reads::english},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 5,
                    .heads = 4,
                    .kv_heads = 2,
                    .causal = true},
                   sharpen_token},
    .worksheet = Worksheet{{.sentence = {"cats sleep"}, .d_model = 2, .d_k = 4, .d_v = 1, .heads = 2}},
    .run = run_multihead,
};

}  // namespace lessons
