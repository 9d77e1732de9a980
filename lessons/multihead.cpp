/// Multi-head attention: several attentions side by side, each with its own view of the tokens. The lesson is
/// the document multihead.md, which has its sources.

#include "lessons/multihead.hpp"

#include <string>
#include <utility>
#include <vector>

#include "attn/ops/mask.hpp"
#include "formula/entrywise.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/trained/layers.hpp"

namespace lessons {

const std::vector<std::pair<std::string, formula::Axes>>& multihead_weights() {
  static const std::vector<std::pair<std::string, formula::Axes>> names = {
      {"W_Q", {"d_model", "head·d_k"}},
      {"W_K", {"d_model", "kv_head·d_k"}},
      {"W_V", {"d_model", "kv_head·d_v"}},
      {"W_O", {"head·d_v", "d_model"}},
      {"b_Q", {"head·d_k"}},
      {"b_K", {"kv_head·d_k"}},
      {"b_V", {"kv_head·d_v"}},
      {"b_O", {"d_model"}}};
  return names;
}

namespace {

/// The queries' tokens as keys and values, too: the tables between have another shape, the output has not.
Tensor<3> output_of_itself(const Workbench& bench, const Tensor<3>& X,
                           const attn::MultiHeadWeights& weights) {
  const auto& tokens = bench.plan.target.size() > 0 ? bench.plan.target : bench.plan.sentence;
  attn::AttentionOptions options{.temperature = bench.options.temperature};
  if (tokens.is_padded()) options.mask = attn::padding_mask(tokens.lengths(), X.shape(1), X.shape(1));
  return attn::multi_head_attention(X, weights, options).output;
}

}  // namespace

attn::MultiHeadWeights weights_by_name(
    std::size_t heads,
    const std::function<std::optional<attn::AnyRank<double>>(const std::string& name)>& of) {
  attn::MultiHeadWeights weights = {.heads = heads};
  for (const auto& [name, matrix] :
       {std::pair("W_Q", &weights.W_Q), {"W_K", &weights.W_K}, {"W_V", &weights.W_V}, {"W_O", &weights.W_O}})
    *matrix = of(name).value();
  for (const auto& [name, bias] :
       {std::pair("b_Q", &weights.b_Q), {"b_K", &weights.b_K}, {"b_V", &weights.b_V}, {"b_O", &weights.b_O}})
    if (const auto given = of(name)) *bias = *given;
  return weights;
}

void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix) {
  functions.mistakes["output"] = [=](DocumentRun& run, const std::string& id) -> attn::Mistakes {
    if (id != prefix + "output") return {};
    const auto weights = weights_by_name(run.bench().heads(), [&](const std::string& name) {
      const auto* found = run.sheet().find(prefix + name);
      return found == nullptr ? std::nullopt : std::optional(formula::numbers_in_order(*found));
    });
    return {{"cross-attends-itself", [&bench = run.bench(), X = run.copy_of<double, 3>(X_query), weights] {
               return output_of_itself(bench, X, weights);
             }}};
  };
}

void give_about_heads(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const auto& input : inputs.lesson().inputs(inputs.options()))
    if (input.id.starts_with("W_")) inputs.give_named("", "layer=2/attention/", {input.id});
}

const LessonCode multihead_code = {
    .give = give_about_heads, .sharpen = sharpen_token, .prepare = [](DocumentRun& run, Functions&) {
      run.set("has_sentiment", attn::missing_model_file("sentiment").empty());
    }};

}  // namespace lessons
