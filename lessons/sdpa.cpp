/// Scaled dot-product attention on its own: no words, no weight matrices, only Q, K and V.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1, equation 1.

#include "lessons/sdpa.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/ops/matmul.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa/attention_parts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

double divisor_of(std::size_t d_k, double temperature) {
  return std::sqrt(static_cast<double>(d_k)) * temperature;
}

namespace {

/// Of several heads each name says so, and what they give is called `heads`.
template <std::size_t N>
std::vector<std::string> names_of() {
  if constexpr (has_heads<N>) return {"Q = Q_heads", "K = K_heads", "V = V_heads", "output = heads"};
  return {};
}

template <std::size_t N>
void begin_attention(DocumentRun& run, const Tensor<N>& Q, const Tensor<N>& K) {
  const std::string suffix = has_heads<N> ? "_heads" : "";
  run.set("many_heads", has_heads<N>);
  run.set("Q" + suffix, formula::view_of(axes_of<N>("query", "d_k"), attn::view_of(Q)));
  run.set("K" + suffix, formula::view_of(axes_of<N>("key", "d_k"), attn::view_of(K)));
}

}  // namespace

template <std::size_t N>
std::pair<Tensor<N>, Tensor<N>> scaled_scores(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K) {
  const Functions none;
  DocumentRun run(bench, none);
  begin_attention(run, Q, K);
  run.tell_part("parts/scores.md", names_of<N>());
  return {run.take<N>("scores"), run.take<N>("scaled")};
}

template <std::size_t N>
Attention<N> scaled_dot_product_attention(Workbench& bench, const Tensor<N>& Q, const Tensor<N>& K,
                                          const Tensor<N>& V, const std::optional<Mask<3>>& mask) {
  Attention<N> attention;
  const Functions none;
  DocumentRun run(bench, none);
  begin_attention(run, Q, K);
  run.set(has_heads<N> ? "V_heads" : "V", formula::view_of(axes_of<N>("key", "d_v"), attn::view_of(V)));
  run.set_mask(mask);
  run.tell_part("parts/scores.md", names_of<N>());
  run.tell_part("parts/mixture.md", names_of<N>());

  attention.scores = run.take<N>("scores");
  attention.scaled = run.take<N>("scaled");
  if (mask) attention.masked = run.take<N>("masked");
  attention.weights = run.take<N>("weights");
  if (run.sheet().definition_of("dropped") != nullptr) {
    attention.dropout_mask = xt::cast<std::int64_t>(run.copy_of<double, N>("dropout_mask"));
    attention.dropped = run.take<N>("dropped");
  }
  attention.output = run.take<N>(has_heads<N> ? "heads" : "output");
  return attention;
}

#define INSTANTIATE(N)                                                                                    \
  template std::pair<Tensor<N>, Tensor<N>> scaled_scores(Workbench&, const Tensor<N>&, const Tensor<N>&); \
  template Attention<N> scaled_dot_product_attention(Workbench&, const Tensor<N>&, const Tensor<N>&,      \
                                                     const Tensor<N>&, const std::optional<Mask<3>>&);
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

namespace {

/// The queries, keys and values of one head of the model, for each word of the sentence.
void give_head_of_about(ModelInputs& inputs) {
  const auto X = input_of_second_layer(inputs);
  for (const std::string id : {"Q", "K", "V"})
    inputs.give_rows(id, attn::linear(X, inputs.columns_of_head("layer=2/attention/W_" + id, 0)));
}

void run_sdpa(Workbench& bench) {
  Functions functions;
  add_fused_kernel<3>(functions);
  functions.remarks["who_is_about_whom"] = who_is_about_whom;
  DocumentRun(bench, functions).tell();
}

}  // namespace

const Lesson& sdpa_lesson() {
  static const auto lesson =
      lesson_of("sdpa", {.give = give_head_of_about, .sharpen = sharpen_queries_and_keys, .run = run_sdpa});
  return lesson;
}

}  // namespace lessons
