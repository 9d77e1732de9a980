#include <catch2/catch.hpp>
#include <cmath>

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/matmul.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using attn::CostCounter;
using attn::Mask;
using attn::Tensor;
using lessons::causal_linear_attention;
using lessons::linear_attention;

namespace {

/// φ(Q), φ(K) and V.
Matrices random_features(std::size_t n, std::size_t features, std::size_t d_v) {
  const auto in = random_matrices(n, features, d_v);
  return {attn::elu_plus_one(in.Q), attn::elu_plus_one(in.K), in.V};
}

/// The output of all weights that the features amount to.
Tensor<2> weighted(const Matrices& in, const Mask<2>& mask) {
  return attn::matmul(implied_weights(in.Q, in.K, mask), in.V);
}

}  // namespace

TEST_CASE("the summary of all keys gives what all weights give", "[linear_attention]") {
  const std::size_t n = GENERATE(1, 2, 9), features = GENERATE(1, 5), d_v = GENERATE(1, 4);
  const auto in = random_features(n, features, d_v);
  CostCounter counter, causal_counter;
  const auto linear = linear_attention(in.Q, in.K, in.V, counter);
  const auto causal = causal_linear_attention(in.Q, in.K, in.V, causal_counter);
  const Mask<2> all({n, n}, true);
  CHECK(attn::max_abs_difference(linear, weighted(in, all)) <= rounding);
  CHECK(attn::max_abs_difference(causal, weighted(in, attn::causal_mask(n, n))) <= rounding);
  CHECK(attn::row_sum_deviation(implied_weights(in.Q, in.K, all)) <= rounding);
  const auto expected = static_cast<std::int64_t>(n * features * (2 * d_v + 1));
  CHECK(counter.cost().multiply_adds == expected);
  CHECK(causal_counter.cost().multiply_adds == expected);
  const auto summary = static_cast<std::int64_t>(features * (d_v + 1) * sizeof(double));
  CHECK(counter.cost().score_bytes == summary);
  CHECK(causal_counter.cost().score_bytes == summary);
}

TEST_CASE("a recurrence that reads before it adds is not causal attention", "[linear_attention]") {
  const auto in = random_features(5, 3, 2);
  CostCounter counter;
  const auto causal = causal_linear_attention(in.Q, in.K, in.V, counter);
  auto without_own_key = attn::causal_mask(5, 5);
  for (std::size_t i = 1; i < 5; ++i) without_own_key(i, i) = false;
  const auto late = weighted(in, without_own_key);
  CHECK(attn::max_abs_difference(causal, late) > 0.01);
  const auto everything = weighted(in, Mask<2>({5, 5}, true));
  CHECK(attn::max_abs_difference(causal, everything) > 0.01);
}

TEST_CASE("a later token does not change an earlier output of the recurrence", "[linear_attention]") {
  auto in = random_features(5, 3, 2);
  CostCounter counter;
  const auto before = causal_linear_attention(in.Q, in.K, in.V, counter);
  in.V(4, 0) = 100.0;
  const auto after = causal_linear_attention(in.Q, in.K, in.V, counter);
  CHECK(attn::max_abs_difference(attn::rows(before, 0, 4), attn::rows(after, 0, 4)) == 0.0);
}

TEST_CASE("a query whose features are all 0 gets zeros", "[linear_attention]") {
  auto in = random_features(3, 4, 2);
  attn::Tensor<2> zeros({3, 2}, 0.0);
  in.Q.fill(0.0);
  attn::DependencyGraph graph(3);
  CostCounter counter(attn::Dtype::float64, &graph);
  CHECK((linear_attention(in.Q, in.K, in.V, counter) == zeros));
  CHECK((causal_linear_attention(in.Q, in.K, in.V, counter) == zeros));
  CHECK((weighted(in, attn::causal_mask(3, 3)) == zeros));
}

TEST_CASE("features that have underflowed are not compared", "[linear_attention]") {
  auto in = random_matrices(4, 3, 2);
  in.K.fill(-200.0);
  const auto told = told_of("linear", in, {.dtype = "float32"});
  for (const auto* id : {"linear-equals-all-weights", "linear-equals-kernel",
                         "causal-linear-equals-recurrence", "linear/causal-equals-kernel"}) {
    INFO(id);
    CHECK(told.kinds.count(id) == 0);
  }
  CHECK(told.kinds.at("linear/not-compared") == attn::Kind::note);
  CHECK(largest_difference(told.elements("linear/output"), std::vector<double>(8, 0.0)) == 0.0);
  CHECK(told_of("linear", in).holds("linear-equals-kernel"));

  in.K(0, 0) = 1.0;
  CHECK(told_of("linear", in, {.dtype = "float32"}).holds("linear-equals-kernel"));
}

TEST_CASE("features that have overflowed are not compared, and it is said that they have",
          "[linear_attention]") {
  const auto options = lesson_called("efficient").defaults;
  const auto plain = told_by("efficient", options);
  auto omega = plain.elements("performer/omega");
  for (double& number : omega) number *= 1e3;
  const auto told =
      told_by("efficient", options,
              given_tensor("performer/omega", plain.tensors.at("performer/omega").shape(), omega));
  CHECK(told.kinds.at("performer/not-compared") == attn::Kind::note);
  CHECK(told.notes.at("performer/not-compared").find("infinite in float64") != std::string::npos);
}

TEST_CASE("each step of linear attention goes on from the one before", "[linear_attention]") {
  const auto in = random_matrices(5, 3, 2);
  const auto holds_without = [&](const char* step, bool causal, const char* claim) {
    return told_of("linear", in, {.causal = causal}, one_percent_more(step)).holds(claim);
  };
  for (const auto* step : {"linear/weights", "linear/S", "linear/z", "linear/output"}) {
    INFO(step);
    CHECK_FALSE(holds_without(step, false, "linear-equals-all-weights"));
  }
  for (const auto* step : {"linear/weights", "linear/output"})
    CHECK_FALSE(holds_without(step, true, "linear-equals-all-weights"));
  CHECK_FALSE(holds_without("linear/causal/output", false, "causal-linear-equals-recurrence"));
}
