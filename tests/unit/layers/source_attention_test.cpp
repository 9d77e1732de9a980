#include "attn/layers/source_attention.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/scoring.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

constexpr double rounding = std::is_same_v<double, double> ? 1e-13 : 1e-5;

attn::SourceAttention attend(const Tensor<3>& queries, const Tensor<3>& states,
                                const attn::SourceAttentionWeights& weights) {
  const std::vector<std::size_t> all(states.shape(0), states.shape(1));
  return attn::attend_to_source(queries, attn::prepare_source(states, all, weights), weights);
}

/// The scores of the first sample.
Tensor<2> first_scores(const attn::SourceAttention& source) {
  return attn::sample(attn::head(source.attention.scores, 0), 0);
}

}  // namespace

TEST_CASE("every way of attending scores like the function of its name", "[source_attention]") {
  const auto queries = random_tensor<3>({1, 3, 4}, 1),
             states = random_tensor<3>({1, 5, 4}, 2);
  const auto q = attn::sample(queries, 0), k = attn::sample(states, 0);
  const auto W_q = random_tensor<2>({4, 2}, 3), W_k = random_tensor<2>({4, 2}, 4);
  const auto square = random_tensor<2>({4, 4}, 5), stacked = random_tensor<2>({8, 2}, 6);
  const auto v_a = random_tensor<1>({2}, 7);
  const auto difference = [&](const attn::SourceAttentionWeights& weights,
                              const Tensor<2>& scores) {
    return attn::max_abs_difference(first_scores(attend(queries, states, weights)), scores);
  };
  CHECK(difference(attn::bahdanau_attention(W_q, W_k, v_a),
                   attn::additive_scores(q, k, W_q, W_k, v_a).scores) <= rounding);
  CHECK(difference(attn::luong_dot_attention(), attn::dot_scores(q, k)) <= rounding);
  CHECK(difference(attn::luong_general_attention(square), attn::general_scores(q, square, k)) <=
        rounding);
  CHECK(difference(attn::luong_concat_attention(stacked, v_a),
                   attn::concat_scores(q, k, stacked, v_a).scores) <= rounding);
}

TEST_CASE("the context is the mixture of the states", "[source_attention]") {
  const auto states = random_tensor<3>({2, 5, 4}, 2);
  const auto source =
      attend(random_tensor<3>({2, 3, 4}, 1), states, attn::luong_dot_attention());
  CHECK((source.attention.weights == attn::softmax(source.attention.scores)));
  CHECK((source.context == attn::matmul(attn::head(source.attention.weights, 0), states)));
}

TEST_CASE("with several heads it is multi-head attention", "[source_attention]") {
  const auto queries = random_tensor<3>({2, 3, 6}, 1),
             states = random_tensor<3>({2, 5, 6}, 2);
  const attn::MultiHeadWeights weights = {
      random_tensor<2>({6, 6}, 3), random_tensor<2>({6, 6}, 4),
      random_tensor<2>({6, 6}, 5), random_tensor<2>({6, 6}, 6)};
  const auto expected = attn::multihead_attention(queries, states, weights, 3, 3,
                                                  std::optional(attn::padding_mask({5, 2}, 3, 5)));
  const auto attention = attn::multihead_source_attention(weights, 3);
  const auto source =
      attn::attend_to_source(queries, attn::prepare_source(states, {5, 2}, attention), attention);
  CHECK((source.attention.scaled == expected.attention.scaled));
  CHECK((source.attention.weights == expected.attention.weights));
  CHECK((source.context == expected.output));
}

TEST_CASE("padding gets no weight and changes no context", "[source_attention]") {
  const auto queries = random_tensor<3>({2, 3, 4}, 1);
  auto states = random_tensor<3>({2, 5, 4}, 2);
  const auto weights = attn::luong_dot_attention();
  const auto context = [&] {
    return attn::attend_to_source(queries, attn::prepare_source(states, {5, 2}, weights), weights).context;
  };
  const auto before = context();
  for (std::size_t j = 2; j < 5; ++j) states(1, j, 0) = double(100);
  CHECK((context() == before));
  CHECK_FALSE(attn::prepare_source(states, {5, 5}, weights).mask.has_value());
}

TEST_CASE("attention to a source refuses what does not fit with both shapes", "[source_attention]") {
  const auto states = random_tensor<3>({1, 5, 4}, 2);
  CHECK_THROWS_WITH(
      attend(random_tensor<3>({1, 3, 3}, 1), states, attn::luong_dot_attention<double>()),
      Contains("1×1×3×3") && Contains("1×1×4×5"));
  const auto additive =
      attn::bahdanau_attention(random_tensor<2>({4, 2}, 3), random_tensor<2>({4, 3}, 4),
                               random_tensor<1>({2}, 5));
  CHECK_THROWS_WITH(attend(random_tensor<3>({1, 3, 4}, 1), states, additive),
                    Contains("[additive_scores]") && Contains("1×1×3×2") && Contains("1×1×5×3"));
  const auto short_v =
      attn::bahdanau_attention(random_tensor<2>({4, 2}, 3), random_tensor<2>({4, 2}, 4),
                               random_tensor<1>({1}, 5));
  CHECK_THROWS_AS(attend(random_tensor<3>({1, 3, 4}, 1), states, short_v), std::invalid_argument);
}
