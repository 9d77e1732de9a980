#include "lessons/scoring/mistakes.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/scoring.hpp"
#include "lessons/sdpa/mistakes.hpp"
#include "lessons/self_attention.hpp"

namespace lessons {

namespace {

std::optional<Tensor<3>> result_of(std::string_view id, const attn::Mistakes& mistakes) {
  for (const auto& mistake : mistakes) {
    if (mistake.id() != id) continue;
    if (const auto result = mistake.result(nullptr)) return attn::array_of<double, 3>(*result);
  }
  return std::nullopt;
}

std::optional<Tensor<3>> key_not_transposed(const Workbench& bench, const Tensor<3>& queries,
                                            const Tensor<3>& keys) {
  return result_of("key-not-transposed", mistakes_of_scores(bench, queries, keys));
}

}  // namespace

attn::Mistakes mistakes_of_dot(const Workbench& bench, const Tensor<3>& queries, const Tensor<3>& keys) {
  return {{"qk-swapped", [&] { return attn::dot_scores(keys, queries); }},
          {"key-not-transposed", [&] { return key_not_transposed(bench, queries, keys); }},
          {"scores-shifted",
           [&](const Tensor<3>& theirs) { return shifted_as(theirs, attn::dot_scores(queries, keys)); }}};
}

attn::Mistakes mistakes_of_scaled_dot(const Workbench& bench, const Tensor<3>& queries,
                                      const Tensor<3>& keys) {
  const auto d = static_cast<double>(queries.shape(2));
  const double root = std::sqrt(d);
  const auto over = [&](double divisor) { return attn::divide(attn::dot_scores(queries, keys), divisor); };
  return {{"no-scale", [=] { return over(1.0); }},
          {"scale-d-k", [=] { return over(d); }},
          {"scale-twice", [=] { return over(d); }},
          {"scale-multiplied", [=] { return over(1.0 / root); }},
          {"scale-keys", [=, n = static_cast<double>(keys.shape(1))] { return over(std::sqrt(n)); }},
          {"scale-after-softmax", [=] { return over(1.0); }},
          {"qk-swapped", [&, root] { return attn::divide(attn::dot_scores(keys, queries), root); }},
          {"key-not-transposed",
           [&, root]() -> std::optional<Tensor<3>> {
             auto product = key_not_transposed(bench, queries, keys);
             if (!product) return std::nullopt;
             return attn::divide(*product, root);
           }},
          {"scores-shifted", [=](const Tensor<3>& theirs) { return shifted_as(theirs, over(root)); }}};
}

attn::Mistakes mistakes_of_general(const Tensor<3>& queries, const Tensor<2>& W_a, const Tensor<3>& keys) {
  return {{"weight-transposed",
           [&] { return attn::dot_scores(attn::linear(queries, attn::transpose(W_a)), keys); }},
          {"qk-swapped", [&] { return attn::dot_scores(attn::linear(keys, W_a), queries); }},
          {"scores-shifted", [&](const Tensor<3>& theirs) {
             return shifted_as(theirs, attn::dot_scores(attn::linear(queries, W_a), keys));
           }}};
}

attn::Mistakes mistakes_of_pair_scores(const Tensor<4>& hidden, const Tensor<1>& v_a) {
  return {{"scores-shifted",
           [&](const Tensor<3>& theirs) { return shifted_as(theirs, attn::dot_last_axis(hidden, v_a)); }}};
}

attn::Mistakes mistakes_of_hidden_part(const Tensor<3>& x, LinearMap map, LinearMap other) {
  return {{"wrong-projection",
           [&x, map, other] {
             return LinearMap{other.W, map.b}(x);
           }},
          {"weight-transposed", [&x, map] {
             return LinearMap{read_as_transposed(map.W), map.b}(x);
           }}};
}

}  // namespace lessons
