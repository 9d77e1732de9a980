#include "attn/ops/lookup.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

using attn::Tensor;
using Keys = std::vector<std::size_t>;

TEST_CASE("a hard lookup returns the value of the key with the best score", "[lookup]") {
  const Tensor<1> scores{-1, 2, 1.5};
  const Tensor<2> values{{1, 2}, {3, 4}, {5, 6}};
  const auto lookup = attn::hard_lookup(scores, values);
  CHECK(lookup.keys == Keys{1});
  CHECK(lookup.best_score == 2.0);
  CHECK(lookup.gap == 0.5);
  CHECK((lookup.output == Tensor<1>{3, 4}));
}

TEST_CASE("after a tie a hard lookup returns the mean of the best keys' values", "[lookup]") {
  const auto lookup = attn::hard_lookup({7.0, 3.0, 7.0}, {{1.0, 2.0}, {100.0, 100.0}, {3.0, -2.0}});
  CHECK(lookup.keys == Keys{0, 2});
  CHECK(lookup.gap == 4.0);
  CHECK((lookup.output == Tensor<1>{2.0, 0.0}));
}

TEST_CASE("where no key scores less than the best the gap is infinite", "[lookup]") {
  CHECK(std::isinf(attn::hard_lookup({-3.0}, {{5.0}}).gap));
  CHECK(std::isinf(attn::hard_lookup({1.0, 1.0}, {{5.0}, {7.0}}).gap));
}

TEST_CASE("the best value is returned to the last bit", "[lookup]") {
  CHECK(attn::hard_lookup({0.0, 1.0}, {{1.0}, {0.1}}).output(0) == 0.1);
}

TEST_CASE("a hard lookup refuses scores that do not belong to the values, and no scores", "[lookup]") {
  CHECK_THROWS_WITH(attn::hard_lookup({1.0, 2.0}, {{1.0}}),
                    "[hard_lookup] scores is 2 but values is 1×1: the first axes must match");
  const auto no_scores = Tensor<1>::from_shape({0});
  const auto no_values = Tensor<2>::from_shape({0, 3});
  CHECK_THROWS_AS(attn::hard_lookup(no_scores, no_values), std::invalid_argument);
}
