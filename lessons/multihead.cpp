/// Multi-head attention: several attentions side by side, each with its own view of the tokens. The lesson is
/// the document multihead.md.
/// Sources: Vaswani et al. 2017, section 3.2.2; shared key and value heads: Shazeer 2019 (multi-query) and
/// Ainslie et al. 2023 (grouped-query).

#include "lessons/multihead.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/mask.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/shipped_weights.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// A query that looks most at one key in head 0 and at another in head 1, with the shares.
std::string what_heads_disagree_on(const attn::Event& weights) {
  const auto& shape = weights.tensor->shape;
  const auto axis = shape.size() - 1;
  const std::size_t keys = shape[axis], queries = shape[axis - 1], heads = shape[axis - 2];
  const auto share = [&](std::size_t head, std::size_t query, std::size_t key) {
    return weights.tensor->at((head * queries + query) * keys + key);
  };
  for (std::size_t query = 0; heads > 1 && query < queries; ++query) {
    const auto first = strongest_in_row(weights, query), second = strongest_in_row(weights, queries + query);
    const auto first_name = name_along(weights, axis, first), second_name = name_along(weights, axis, second);
    if (first_name == second_name) continue;
    return fmt::format("In head 0 \"{}\" looks most at \"{}\" ({:.4f}), in head 1 at \"{}\" ({:.4f}).",
                       name_along(weights, axis - 1, query), first_name, share(0, query, first), second_name,
                       share(1, query, second));
  }
  return strongest_pair(weights);
}

}  // namespace

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

/// The weights of multi-head attention that stand in a run.
Views multihead_weights_of(const DocumentRun& run, const std::string& prefix) {
  Views weights;
  for (const auto& [name, axes] : multihead_weights())
    if (const auto* found = run.sheet().find(prefix + name)) weights.emplace(name, *found);
  return weights;
}

/// The queries' tokens as keys and values, too: the tables between have another shape, the output has not.
Tensor<3> output_of_itself(const Workbench& bench, const Named& X, const Views& weights) {
  const auto& tokens = bench.plan.target.size() > 0 ? bench.plan.target : bench.plan.sentence;
  const auto n = X.tensor.shape(1);
  std::optional<Mask<3>> mask;
  if (tokens.is_padded()) mask = attn::padding_mask(tokens.lengths(), n, n);
  PartRun run(bench);
  tell_multihead(run, X, X, weights, {bench.heads(), bench.kv_heads()}, mask);
  return run.take<3>("output");
}

}  // namespace

void set_multihead_weights(DocumentRun& run, const std::string& prefix, const Views& weights,
                           const Heads& heads) {
  const bool is_rotary = weights.count(prefix + "angles") > 0;
  std::map<std::string, formula::Axes> axes = {{"angles", {"position", "pair"}}};
  for (auto [name, of_name] : multihead_weights()) {
    for (auto& axis : of_name)  // where each query head has keys of its own, their axis is called `head`, too
      if (axis.starts_with("kv_head") && heads.key_value == heads.query)
        axis = axis.substr(axis.find("head"));
    axes.emplace(name, std::move(of_name));
  }
  run.set("many_heads", 1.0);
  run.axis("head", heads.query);
  run.axis("kv_head", heads.key_value);
  run.axis("d_k", weights.at(prefix + "W_Q").shape.at(1) / heads.query);
  run.axis("d_v", weights.at(prefix + "W_O").shape.at(0) / heads.query);
  run.set(prefix + "rotary", is_rotary);
  set_views(run, prefix, weights, axes);
}

void tell_multihead(DocumentRun& run, const Named& X_query, const Named& X_key, const Views& weights,
                    const Heads& heads, const std::optional<Mask<3>>& mask) {
  set_tokens(run, X_query, X_key);
  set_multihead_weights(run, "", weights, heads);
  run.set_mask(mask);
  run.tell_part("parts/attention_in_heads.md", {"X_query = " + X_query.id, "X_key = " + X_key.id});
}

namespace {

void run_multihead(Workbench& bench) {
  Functions functions;
  add_fused_kernel(functions);
  add_weights_of(functions, "sentiment", "sentiment");
  functions.remarks["what_heads_disagree_on"] = what_heads_disagree_on;
  DocumentRun run(bench, functions);
  run.set("has_sentiment", attn::missing_model_file("sentiment").empty());
  run.tell();
}

}  // namespace

void add_cross_attends_itself(Functions& functions, const std::string& X_query, const std::string& prefix) {
  functions.mistakes["output"] = [=](DocumentRun& run, const std::string& id) -> attn::Mistakes {
    if (id != prefix + "output") return {};
    return {{"cross-attends-itself",
             [&bench = run.bench(), X = Named{X_query, run.copy_of<double, 3>(X_query)},
              weights = multihead_weights_of(run, prefix)] { return output_of_itself(bench, X, weights); }}};
  };
}

void give_about_heads(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  for (const std::string id : {"W_Q", "W_K", "W_V", "W_O"})
    inputs.give(id, inputs.matrix("layer=2/attention/" + id));
}

const LessonCode multihead_code = {.give = give_about_heads, .sharpen = sharpen_token, .run = run_multihead};

}  // namespace lessons
