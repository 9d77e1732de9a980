/// Multi-head attention: several attentions side by side, each with its own view of the tokens. The lesson is
/// the document multihead.md.
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

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead/layout.hpp"
#include "lessons/sdpa/attention_parts.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/self_attention.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

/// The name of the axis of key and value heads: "head" where each query head has its own.
std::string kv_head_axis(const Heads& heads) {
  return heads.key_value == heads.query ? "head" : "kv_head";
}

/// Of rotary attention the angles tell how wide a head is.
Heads heads_of(const Workbench& bench, const MultiHeadWeights& weights) {
  if (!weights.angles) return {bench.heads(), bench.kv_heads()};
  const auto d_k = 2 * weights.angles->shape(1);
  return {weights.W_Q.shape(1) / d_k, weights.W_K.shape(1) / d_k};
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

namespace {

void set_heads(DocumentRun& run, const Heads& heads, const MultiHeadWeights& weights,
               const std::string& prefix = "") {
  run.set("many_heads", 1.0);
  const auto kv_head = kv_head_axis(heads);
  run.axis("head", heads.query);
  run.axis("kv_head", heads.key_value);
  run.axis("d_k", weights.W_Q.shape(1) / heads.query);
  run.axis("d_v", weights.W_O.shape(0) / heads.query);
  set_view(run, prefix + "W_Q", {"d_model", "head·d_k"}, weights.W_Q);
  set_view(run, prefix + "W_K", {"d_model", kv_head + "·d_k"}, weights.W_K);
  set_view(run, prefix + "W_V", {"d_model", kv_head + "·d_v"}, weights.W_V);
  set_bias(run, prefix + "b_Q", "head·d_k", weights.b_Q);
  set_bias(run, prefix + "b_K", kv_head + "·d_k", weights.b_K);
  set_bias(run, prefix + "b_V", kv_head + "·d_v", weights.b_V);
  run.set(prefix + "rotary", weights.angles.has_value());
  if (weights.angles) set_view(run, prefix + "angles", {"position", "pair"}, *weights.angles);
}

void set_output_weights(DocumentRun& run, const LinearMap& to_output, const std::string& prefix = "") {
  set_view(run, prefix + "W_O", {"head·d_v", "d_model"}, to_output.W);
  set_bias(run, prefix + "b_O", "d_model", to_output.b);
}

/// Where each query head has keys of its own, their axis is called `head`, too.
std::vector<std::string> names_of_parts(const Named& X_query, const Named& X_key, const Heads& heads) {
  std::vector<std::string> names = {"X_query = " + X_query.id, "X_key = " + X_key.id};
  if (heads.key_value == heads.query)
    for (const auto* const rest : {"", "·d_k", "·d_v"})
      names.push_back(fmt::format("kv_head{0} = head{0}", rest));
  return names;
}

/// What the tokens become before they attend.
struct HeadProjections {
  Tensor<3> Q;                 ///< [batch×query×head·d_k]
  Tensor<4> Q_heads;           ///< [batch×head×query×d_k]
  Tensor<4> K_heads, V_heads;  ///< [batch×kv_head×key×d_k], [batch×kv_head×key×d_v]
};

/// The first part of multi-head attention: the steps `Q`, `K`, `V` and `Q_heads`, `K_heads`, `V_heads`.
HeadProjections project_to_heads(Workbench& bench, const Named& X_query, const Named& X_key,
                                 const MultiHeadWeights& weights, const Heads& heads) {
  Functions functions;
  add_fused_layouts(functions);
  DocumentRun run(bench, functions);
  set_tokens(run, X_query, X_key);
  set_heads(run, heads, weights);
  run.tell_part("parts/heads.md", names_of_parts(X_query, X_key, heads));
  auto Q_heads = run.take<4>("Q_heads"), K_heads = run.take<4>("K_heads"), V_heads = run.take<4>("V_heads");
  return {run.take<3>("Q"), std::move(Q_heads), std::move(K_heads), std::move(V_heads)};
}

/// The second part: scaled dot-product attention in each head, `mean_weights`, `concat` and `output`
/// [batch×query×d_model]. Each key and value head is read by as many query heads. `of_output` are mistakes of
/// a caller that show in `output`.
std::pair<Attention<4>, Tensor<3>> attend_in_heads(Workbench& bench, const Tensor<4>& Q_heads,
                                                   const Tensor<4>& K_heads, const Tensor<4>& V_heads,
                                                   const LinearMap& to_output,
                                                   const std::optional<Mask<3>>& mask,
                                                   const attn::Mistakes& of_output) {
  const auto h = Q_heads.shape(1);
  auto attention = scaled_dot_product_attention(bench, Q_heads, attn::repeat_heads(K_heads, h),
                                                attn::repeat_heads(V_heads, h), mask);
  Functions functions;
  functions.mistakes["output"] = [&](DocumentRun&, const std::string&) { return of_output; };
  DocumentRun run(bench, functions);
  set_view(run, "heads", {"batch", "head", "query", "d_v"}, attention.output);
  set_view(run, attention.dropped ? "dropped" : "weights", {"batch", "head", "query", "key"},
           attention.used_weights());
  if (!attention.dropped) run.alias("dropped", "weights");
  set_output_weights(run, to_output);
  run.tell_part("parts/concat.md");
  auto output = run.take<3>("output");
  return {std::move(attention), std::move(output)};
}

void tell_sharing(Workbench& bench, const Heads& heads) {
  const Functions none;
  DocumentRun run(bench, none);
  run.axis("head", heads.query);
  run.axis("kv_head", heads.key_value);
  run.tell_part("parts/sharing.md");
}

/// The queries' tokens as keys and values, too: the tables between have another shape, the output has not.
Tensor<3> output_of_itself(const Workbench& bench, const Named& X, const MultiHeadWeights& weights,
                           const Heads& heads) {
  auto mute = bench.mute();
  const auto& tokens = bench.plan.target.size() > 0 ? bench.plan.target : bench.plan.sentence;
  const auto n = X.tensor.shape(1);
  std::optional<Mask<3>> mask;
  if (tokens.is_padded()) mask = attn::padding_mask(tokens.lengths(), n, n);
  return multihead_attention(mute, X, X, weights, heads, mask).output;
}

attn::Mistakes mistakes_of_tokens(const Workbench& bench, const Named& X_query, const Named& X_key,
                                  const MultiHeadWeights& weights, const Heads& heads) {
  if (X_query.id == X_key.id) return {};
  return {{"cross-attends-itself", [&bench, &X_query, &weights, &heads] {
             return output_of_itself(bench, X_query, weights, heads);
           }}};
}

}  // namespace

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const Heads& heads,
                                       const std::optional<Mask<3>>& mask) {
  auto [Q, Q_heads, K_heads, V_heads] = project_to_heads(bench, X_query, X_key, weights, heads);
  if (heads.key_value != heads.query) tell_sharing(bench, heads);
  auto [attention, output] = attend_in_heads(bench, Q_heads, K_heads, V_heads, weights.O(), mask,
                                             mistakes_of_tokens(bench, X_query, X_key, weights, heads));
  return {std::move(Q),       std::move(Q_heads),   std::move(K_heads),
          std::move(V_heads), std::move(attention), std::move(output)};
}

MultiHeadAttention multihead_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                       const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  return multihead_attention(bench, X_query, X_key, weights, heads_of(bench, weights), mask);
}

std::vector<std::string> given_biases(const Workbench& bench, const std::string& group) {
  std::vector<std::string> ids;
  for (const std::string id : {"b_Q", "b_K", "b_V", "b_O"})
    if (bench.plan.given.count(group + id) > 0) ids.push_back(id);
  return ids;
}

void set_multihead_weights(DocumentRun& run, const std::string& prefix, const MultiHeadWeights& weights) {
  set_heads(run, heads_of(run.bench(), weights), weights, prefix);
  set_output_weights(run, weights.O(), prefix);
}

MultiHeadAttention take_multihead_attention(DocumentRun& run, const std::string& prefix) {
  const auto of_heads = [&](const char* name) { return run.take<4>(prefix + name); };
  MultiHeadAttention shown{
      run.take<3>(prefix + "Q"),     of_heads("Q_heads"), of_heads("K_heads"), of_heads("V_heads"), {},
      run.take<3>(prefix + "output")};
  shown.attention.scores = of_heads("scores");
  shown.attention.scaled = of_heads("scaled");
  if (run.sheet().definition_of(prefix + "masked") != nullptr) shown.attention.masked = of_heads("masked");
  shown.attention.weights = of_heads("weights");
  shown.attention.output = of_heads("heads");
  return shown;
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

MultiHeadWeights weights_of(const DocumentRun& run, const std::string& prefix = "") {
  const auto weight = [&](const char* name) { return run.copy_of<double, 2>(prefix + name); };
  const auto bias = [&](const char* name) {
    return run.sheet().find(prefix + name) == nullptr ? std::nullopt
                                                      : std::optional(run.copy_of<double, 1>(prefix + name));
  };
  return {weight("W_Q"), weight("W_K"), weight("W_V"), weight("W_O"),
          bias("b_Q"),   bias("b_K"),   bias("b_V"),   bias("b_O")};
}

void run_multihead(Workbench& bench) {
  Functions functions;
  add_fused_layouts(functions);
  add_fused_kernel<4>(functions);
  functions.texts["heads_of_sentiment"] = [](const DocumentRun&) { return heads_of_sentiment(); };
  functions.remarks["what_heads_disagree_on"] = what_heads_disagree_on;
  DocumentRun run(bench, functions);
  run.set("has_sentiment", attn::missing_model_file("sentiment").empty());
  run.tell();
}

}  // namespace

void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix) {
  functions.mistakes["output"] = [=](DocumentRun& run, const std::string& id) -> attn::Mistakes {
    if (id != prefix + "output") return {};
    return {
        {"cross-attends-itself", [&bench = run.bench(), X = Named{X_query, run.copy_of<double, 3>(X_query)},
                                  weights = weights_of(run, prefix)] {
           return output_of_itself(bench, X, weights, {bench.heads(), bench.kv_heads()});
         }}};
  };
}

void give_about_heads(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give(id, inputs.matrix("layer=2/attention/" + id));
}

const Lesson& multihead_lesson() {
  static const auto lesson =
      lesson_of("multihead", {.give = give_about_heads, .sharpen = sharpen_token, .run = run_multihead});
  return lesson;
}

}  // namespace lessons
