/// Self-attention: queries, keys and values all come from one sentence. The lesson is the document
/// self-attention.md.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.

#include "lessons/self_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/matmul.hpp"
#include "attn/text/width.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa/attention_parts.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

Tensor<3> LinearMap::operator()(const Tensor<3>& X) const {
  return b ? attn::linear(X, W, *b) : attn::linear(X, W);
}

Tensor<2> read_as_transposed(const Tensor<2>& W) {
  auto other = Tensor<2>::from_shape({W.shape(1), W.shape(0)});
  std::copy(W.begin(), W.end(), other.begin());
  return attn::transpose(other);
}

std::string bias_code(const Workbench& bench, const std::string& name, const std::string& group,
                      const std::string& prefix) {
  return bench.plan.given.count(group + "b_" + name) > 0 ? fmt::format(" + {}b_{}", prefix, name) : "";
}

Projections project(Workbench& bench, const Named& X_query, const Named& X_key,
                    const ProjectionWeights& weights) {
  Functions functions;
  add_fused_layouts(functions);
  DocumentRun run(bench, functions);
  set_tokens(run, X_query, X_key);
  set_view(run, "W_Q", {"d_model", "d_k"}, weights.W_Q);
  set_view(run, "W_K", {"d_model", "d_k"}, weights.W_K);
  set_view(run, "W_V", {"d_model", "d_v"}, weights.W_V);
  set_bias(run, "b_Q", "d_k", weights.b_Q);
  set_bias(run, "b_K", "d_k", weights.b_K);
  set_bias(run, "b_V", "d_v", weights.b_V);
  run.tell_part("parts/strongest_key.md");
  run.tell_part("parts/projections.md", {"X_query = " + X_query.id, "X_key = " + X_key.id, "head·d_k = d_k",
                                         "kv_head·d_k = d_k", "kv_head·d_v = d_v"});
  auto Q = run.take<3>("Q"), K = run.take<3>("K"), V = run.take<3>("V");
  return {std::move(Q), std::move(K), std::move(V)};
}

Attention<3> single_head_attention(Workbench& bench, const Named& X_query, const Named& X_key,
                                   const ProjectionWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto [Q, K, V] = project(bench, X_query, X_key, weights);
  return scaled_dot_product_attention(bench, Q, K, V, mask);
}

namespace {

/// Equal words have equal rows: without positions attention cannot tell them apart.
std::string equal_words(const attn::Event& weights) {
  const auto& labels = weights.labels[weights.axes.size() - 2];
  const auto tokens = labels.empty() ? std::vector<std::string>() : labels.of(0);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    for (std::size_t j = i + 1; j < tokens.size(); ++j)
      if (tokens[i] == tokens[j])
        return fmt::format(
            "The words \"{0}\" have the same vector in X. So their rows of Q, K, V, scores, weights and "
            "output are the same, and their columns of scores and weights: attention by itself does not know "
            "where a word stands (lesson positional).",
            tokens[i]);
  return strongest_pair(weights);
}

void run_self_attention(Workbench& bench) {
  Functions functions;
  add_fused_layouts(functions);
  add_fused_kernel<3>(functions);
  functions.remarks["who_is_about_whom"] = who_is_about_whom;
  functions.remarks["strongest_pair"] = strongest_pair;
  functions.remarks["equal_words"] = equal_words;
  DocumentRun(bench, functions).tell(document_named("self-attention.md"));
}

}  // namespace

const Lesson& self_attention_lesson() {
  static const auto lesson =
      lesson_of("self-attention", {.give = give_about, .sharpen = sharpen_token, .run = run_self_attention});
  return lesson;
}

}  // namespace lessons
