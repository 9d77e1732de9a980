#include "attn/ops/statistics.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using attn::Tensor;

TEST_CASE("the mean is the sum divided by the count") {
  CHECK(attn::mean(Tensor<1>{1.0, 2.0, 6.0}) == 3.0);
  CHECK(attn::mean(Tensor<float, 1>{-1.0F, 1.0F}) == 0.0);
}

TEST_CASE("the variance divides by the count, not by one less") {
  CHECK(attn::variance(Tensor<1>{1.0, 3.0}) == 1.0);
  CHECK(attn::variance(Tensor<float, 1>{2.0F, 4.0F, 6.0F, 8.0F}) == 5.0);
}

TEST_CASE("the variance is of the deviations from the mean, so a shift does not change it") {
  CHECK(attn::variance(Tensor<1>{1e9 + 1.0, 1e9 + 3.0}) == 1.0);
}

TEST_CASE("a sample of one has no variance") {
  CHECK(attn::mean(Tensor<1>{7.0}) == 7.0);
  CHECK(attn::variance(Tensor<1>{7.0}) == 0.0);
}

TEST_CASE("statistics of floats are summed in float64") {
  CHECK(attn::mean(Tensor<float, 1>{16777216.0F, 1.0F, 1.0F}) == 5592406.0);  // 2^24 + 1 is no float
}

TEST_CASE("an empty sample has no statistics") {
  CHECK_THROWS_AS(attn::mean(Tensor<1>::from_shape({0})), std::invalid_argument);
  CHECK_THROWS_AS(attn::variance(Tensor<1>::from_shape({0})), std::invalid_argument);
}
