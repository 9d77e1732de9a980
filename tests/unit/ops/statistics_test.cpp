#include "attn/ops/statistics.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using attn::Tensor;

TEST_CASE("the mean is the sum divided by the count") {
  CHECK(attn::mean(Tensor<1>{1.0, 2.0, 6.0}) == 3.0);
  CHECK(attn::mean(Tensor<1>{-1.0, 1.0}) == 0.0);
}

TEST_CASE("the variance divides by the count, not by one less") {
  CHECK(attn::variance(Tensor<1>{1.0, 3.0}) == 1.0);
  CHECK(attn::variance(Tensor<1>{2.0, 4.0, 6.0, 8.0}) == 5.0);
}

TEST_CASE("the variance is of the deviations from the mean, so a shift does not change it") {
  CHECK(attn::variance(Tensor<1>{1e9 + 1.0, 1e9 + 3.0}) == 1.0);
}

TEST_CASE("a sample of one has no variance") {
  CHECK(attn::mean(Tensor<1>{7.0}) == 7.0);
  CHECK(attn::variance(Tensor<1>{7.0}) == 0.0);
}

TEST_CASE("an empty sample has no statistics") {
  CHECK_THROWS_AS(attn::mean(Tensor<1>::from_shape({0})), std::invalid_argument);
  CHECK_THROWS_AS(attn::variance(Tensor<1>::from_shape({0})), std::invalid_argument);
}
