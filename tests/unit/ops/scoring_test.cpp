#include "attn/ops/scoring.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/central_difference.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/plain_scores.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;
using fixture::relative_error;

namespace {}  // namespace

TEST_CASE("scoring functions agree with PyTorch", "[scoring]") {
  const auto tolerance = fixture::tolerance<double>;
  for (const auto& one : fixture::cases("scoring")) {
    const auto matrix = [&](const char* name) { return fixture::tensor<2>(one[name]); };
    const auto vector = [&](const char* name) { return fixture::tensor<1>(one[name]); };
    const auto queries = matrix("queries"), keys = matrix("keys");

    CHECK(relative_error(attn::dot_scores(queries, keys), one["dot"]) <= tolerance);
    CHECK(relative_error(plain::general_scores(queries, matrix("W_a"), keys), one["general"]) <= tolerance);

    const auto additive =
        plain::additive_scores(queries, keys, matrix("W_q"), matrix("W_k"), vector("v_additive"));
    CHECK(relative_error(additive.hidden, one["additive/hidden"]) <= tolerance);
    CHECK(relative_error(additive.scores, one["additive"]) <= tolerance);

    const auto concat = plain::concat_scores(queries, keys, matrix("W_c"), vector("v_a"));
    CHECK((concat.pairs == fixture::tensor<3>(one["concat/pairs"])));
    CHECK(relative_error(concat.hidden, one["concat/hidden"]) <= tolerance);
    CHECK(relative_error(concat.scores, one["concat"]) <= tolerance);
  }
}

TEST_CASE("additive equals concat with the two weights on top of each other", "[scoring]") {
  const auto queries = random_tensor<2>({3, 4}, 1), keys = random_tensor<2>({5, 4}, 2);
  const auto W_q = random_tensor<2>({4, 6}, 3), W_k = random_tensor<2>({4, 6}, 4);
  const auto v_a = random_tensor<1>({6}, 5);
  const auto additive = plain::additive_scores(queries, keys, W_q, W_k, v_a);
  const auto concat = plain::concat_scores(queries, keys, attn::stack_rows(W_q, W_k), v_a);
  CHECK(attn::max_abs_difference(additive.scores, concat.scores) <= rounding);
  CHECK(attn::max_abs_difference(additive.hidden, concat.hidden) <= rounding);
}

TEST_CASE("general with the identity equals dot", "[scoring]") {
  const auto queries = random_tensor<2>({3, 4}, 1), keys = random_tensor<2>({5, 4}, 2);
  const Tensor<2> identity = xt::eye<double>(4);
  CHECK((plain::general_scores(queries, identity, keys) == attn::dot_scores(queries, keys)));
}

TEST_CASE("general scores read queries from the left and keys from the right of W_a", "[scoring]") {
  const Tensor<2> query = {{1.0, 0.0}}, key = {{0.0, 1.0}}, W_a = {{0.0, 7.0}, {3.0, 0.0}};
  CHECK(plain::general_scores(query, W_a, key)(0, 0) == 7.0);
}

TEST_CASE("every query meets every key", "[scoring]") {
  const Tensor<2> a = {{1, 2}, {3, 4}}, b = {{10, 20}, {30, 40}, {50, 60}};
  CHECK((attn::pairwise_sum(a, b) ==
         Tensor<3>{{{11, 22}, {31, 42}, {51, 62}}, {{13, 24}, {33, 44}, {53, 64}}}));
  CHECK((attn::pairwise_concat(a, b) == Tensor<3>{{{1, 2, 10, 20}, {1, 2, 30, 40}, {1, 2, 50, 60}},
                                                  {{3, 4, 10, 20}, {3, 4, 30, 40}, {3, 4, 50, 60}}}));
}

TEST_CASE("in a batch the pairs are those of each sample", "[scoring]") {
  const auto queries = random_tensor<3>({2, 3, 4}, 1), keys = random_tensor<3>({2, 5, 4}, 2);
  const auto v = random_tensor<1>({4}, 3);
  const auto sums = attn::pairwise_sum(queries, keys);
  const auto is_sample = [](const auto& batch, std::size_t b, const auto& alone) {
    return batch.size() == 2 * alone.size() &&
           std::equal(alone.begin(), alone.end(), batch.data() + b * alone.size());
  };
  for (std::size_t b = 0; b < 2; ++b) {
    const auto q = attn::sample(queries, b), k = attn::sample(keys, b);
    const auto own = attn::pairwise_sum(q, k);
    CHECK(is_sample(attn::dot_scores(queries, keys), b, attn::dot_scores(q, k)));
    CHECK(is_sample(sums, b, own));
    CHECK(is_sample(attn::pairwise_concat(queries, keys), b, attn::pairwise_concat(q, k)));
    CHECK(is_sample(attn::dot_last_axis(sums, v), b, attn::dot_last_axis(own, v)));
  }
  CHECK_THROWS_WITH(attn::pairwise_sum(queries, random_tensor<3>({3, 5, 4}, 2)),
                    Contains("2×3×4") && Contains("3×5×4") && Contains("as many samples"));
}

TEST_CASE("rows are stacked in order, and vectors meet v along the last axis", "[scoring]") {
  CHECK(
      (attn::stack_rows(Tensor<2>{{1, 2}}, Tensor<2>{{3, 4}, {5, 6}}) == Tensor<2>{{1, 2}, {3, 4}, {5, 6}}));
  CHECK((attn::dot_last_axis(Tensor<3>{{{1, 2}, {3, 4}}}, {10.0, 1.0}) == Tensor<2>{{12, 34}}));
}

TEST_CASE("scoring refuses what does not fit with both shapes", "[scoring]") {
  const auto a = random_tensor<2>({2, 3}, 1), b = random_tensor<2>({5, 4}, 2);
  CHECK_THROWS_AS(attn::dot_scores(a, b), std::invalid_argument);
  CHECK_THROWS_WITH(attn::pairwise_sum(a, b),
                    Contains("[pairwise_sum]") && Contains("2×3") && Contains("5×4"));
  CHECK_THROWS_WITH(attn::pairwise_concat(a, b),
                    Contains("[pairwise_concat]") && Contains("2×3") && Contains("5×4"));
  CHECK_THROWS_WITH(attn::stack_rows(a, b), Contains("[stack_rows]") && Contains("2×3") && Contains("5×4"));
  CHECK_THROWS_WITH(attn::dot_last_axis(random_tensor<3>({2, 3, 4}, 1), {1.0}),
                    Contains("[dot_last_axis]") && Contains("2×3×4") && Contains("v is 1"));
}

TEST_CASE("additive scores go back as central differences say", "[scoring]") {
  const auto queries = random_tensor<3>({2, 3, 4}, 1), keys = random_tensor<3>({2, 5, 4}, 2),
             d_scores = random_tensor<3>({2, 3, 5}, 3);
  const auto v_a = random_tensor<1>({4}, 4);
  const auto [d_queries, d_keys, d_v_a] = attn::additive_scores_backward(queries, keys, v_a, d_scores);
  const auto of_queries = [&](const attn::Tensor<3>& x) { return attn::additive_scores(x, keys, v_a); };
  const auto of_keys = [&](const attn::Tensor<3>& x) { return attn::additive_scores(queries, x, v_a); };
  CHECK(attn::deviation_entry_by_entry<3>({of_queries, queries, d_scores, d_queries, 1e-5}) <= 1e-8);
  CHECK(attn::deviation_entry_by_entry<3>({of_keys, keys, d_scores, d_keys, 1e-5}) <= 1e-8);
  for (std::size_t c = 0; c < 4; ++c) {
    auto up = v_a, down = v_a;
    up(c) += 0.5;
    down(c) -= 0.5;
    CHECK(d_v_a(c) == Approx(attn::sum_of_products(attn::additive_scores(queries, keys, up), d_scores) -
                             attn::sum_of_products(attn::additive_scores(queries, keys, down), d_scores)));
  }
  CHECK_THROWS_AS(attn::additive_scores_backward(queries, keys, v_a, random_tensor<3>({2, 5, 3}, 1)),
                  std::invalid_argument);
}
