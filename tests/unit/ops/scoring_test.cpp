#include <catch2/catch.hpp>
#include <xtensor/xbuilder.hpp>

#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/numbers.hpp"
#include "tests/unit/plain_scores.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using fixture::relative_error;

TEST_CASE("scoring functions agree with PyTorch", "[scoring]") {
  const auto tolerance = fixture::tolerance<double>;
  for (const auto& one : fixture::cases("scoring")) {
    const auto matrix = [&](const char* name) { return fixture::tensor<2>(one[name]); };
    const auto vector = [&](const char* name) { return fixture::tensor<1>(one[name]); };
    const auto queries = matrix("queries"), keys = matrix("keys");

    CHECK(relative_error(plain::dot_scores(queries, keys), one["dot"]) <= tolerance);
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
  const auto concat = plain::concat_scores(queries, keys, xt::concatenate(xt::xtuple(W_q, W_k)), v_a);
  CHECK(attn::max_abs_difference(additive.scores, concat.scores) <= rounding);
  CHECK(attn::max_abs_difference(additive.hidden, concat.hidden) <= rounding);
}

TEST_CASE("general with the identity equals dot", "[scoring]") {
  const auto queries = random_tensor<2>({3, 4}, 1), keys = random_tensor<2>({5, 4}, 2);
  const Tensor<2> identity = xt::eye<double>(4);
  CHECK((plain::general_scores(queries, identity, keys) == plain::dot_scores(queries, keys)));
}

TEST_CASE("general scores read queries from the left and keys from the right of W_a", "[scoring]") {
  const Tensor<2> query = {{1.0, 0.0}}, key = {{0.0, 1.0}}, W_a = {{0.0, 7.0}, {3.0, 0.0}};
  CHECK(plain::general_scores(query, W_a, key)(0, 0) == 7.0);
}
