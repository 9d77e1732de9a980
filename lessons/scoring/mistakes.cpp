#include "lessons/scoring/mistakes.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/self_attention/mistakes.hpp"

namespace lessons {

namespace {

/// The tensor of the mistake `id` in a batch of one sample, without the batch.
std::optional<Tensor<2>> result_of(std::string_view id, const attn::Mistakes& of_one_sample) {
  for (const auto& mistake : of_one_sample) {
    if (mistake.id() != id) continue;
    if (const auto result = mistake.result(nullptr))
      return attn::sample(attn::array_of<double, 3>(*result), 0);
  }
  return std::nullopt;
}

std::optional<Tensor<2>> key_not_transposed(const Workbench& bench, const Tensor<2>& queries,
                                            const Tensor<2>& keys) {
  const auto Q = attn::as_batch(queries), K = attn::as_batch(keys);
  const auto scores = attn::matmul(Q, attn::transpose(K));
  return result_of("key-not-transposed", mistakes_of_scores(bench, Q, K, scores, 1.0));
}

}  // namespace

attn::Mistakes mistakes_of_dot(const Workbench& bench, const Tensor<2>& queries, const Tensor<2>& keys) {
  return {{"qk-swapped", [&] { return attn::dot_scores(keys, queries); }},
          {"key-not-transposed", [&] { return key_not_transposed(bench, queries, keys); }},
          {"scores-shifted",
           [&](const Tensor<2>& theirs) { return shifted_as(theirs, attn::dot_scores(queries, keys)); }}};
}

attn::Mistakes mistakes_of_scaled_dot(const Workbench& bench, const Tensor<2>& queries,
                                      const Tensor<2>& keys) {
  const auto d = static_cast<double>(queries.shape(1));
  const double root = std::sqrt(d);
  const auto over = [&](double divisor) { return attn::divide(attn::dot_scores(queries, keys), divisor); };
  return {{"no-scale", [=] { return over(1.0); }},
          {"scale-d-k", [=] { return over(d); }},
          {"scale-twice", [=] { return over(d); }},
          {"scale-multiplied", [=] { return over(1.0 / root); }},
          {"scale-keys", [=, n = static_cast<double>(keys.shape(0))] { return over(std::sqrt(n)); }},
          {"scale-after-softmax", [=] { return over(1.0); }},
          {"qk-swapped", [&, root] { return attn::divide(attn::dot_scores(keys, queries), root); }},
          {"key-not-transposed",
           [&, root]() -> std::optional<Tensor<2>> {
             auto product = key_not_transposed(bench, queries, keys);
             if (!product) return std::nullopt;
             return attn::divide(*product, root);
           }},
          {"scores-shifted", [=](const Tensor<2>& theirs) { return shifted_as(theirs, over(root)); }}};
}

attn::Mistakes mistakes_of_general(const Tensor<2>& queries, const Tensor<2>& W_a, const Tensor<2>& keys) {
  return {{"weight-transposed",
           [&] { return attn::dot_scores(attn::matmul(queries, attn::transpose(W_a)), keys); }},
          {"qk-swapped", [&] { return attn::dot_scores(attn::matmul(keys, W_a), queries); }},
          {"scores-shifted", [&](const Tensor<2>& theirs) {
             return shifted_as(theirs, attn::dot_scores(attn::matmul(queries, W_a), keys));
           }}};
}

attn::Mistakes mistakes_of_pair_scores(const Tensor<3>& hidden, const Tensor<1>& v_a) {
  return {{"scores-shifted",
           [&](const Tensor<2>& theirs) { return shifted_as(theirs, attn::dot_last_axis(hidden, v_a)); }}};
}

attn::Mistakes mistakes_of_hidden_part(const Tensor<2>& x, const Tensor<2>& W, const Tensor<2>& other) {
  return {{"wrong-projection", [&] { return attn::linear(x, other); }},
          {"weight-transposed", [&] { return attn::linear(x, read_as_transposed(W)); }}};
}

attn::Mistakes mistakes_of_scored(const Workbench& bench, const Tensor<2>& scores, double divisor) {
  const auto made = [&](std::string_view id) {
    return [&bench, &scores, id, divisor]() {
      const auto seen = attn::as_batch(scores);
      const std::optional<Mask<3>> no_mask;
      return result_of(id, mistakes_of_weights(bench, seen, seen, no_mask, divisor));
    };
  };
  attn::Mistakes mistakes;
  for (const auto* id : {"softmax-axis", "softmax-not-divided", "softmax-not-divided:no-shift",
                         "softmax-no-shift", "softmax-no-shift:float16"})
    mistakes.emplace_back(id, made(id));
  if (divisor != 1.0) mistakes.emplace_back("scale-after-softmax", made("scale-after-softmax"));
  return mistakes;
}

}  // namespace lessons
