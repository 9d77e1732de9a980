#include "attn/ops/batch.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using attn::Tensor;

TEMPLATE_TEST_CASE("a sample of a batch is its matrix", "[batch]", float, double) {
  const Tensor<TestType, 3> x{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
  CHECK((attn::sample(x, 0) == Tensor<TestType, 2>{{1, 2, 3}, {4, 5, 6}}));
  CHECK((attn::sample(x, 1) == Tensor<TestType, 2>{{7, 8, 9}, {10, 11, 12}}));
}

TEST_CASE("a sample that is not in the batch is refused", "[batch]") {
  const Tensor<double, 3> x{{{1.0}}, {{2.0}}};
  CHECK_THROWS_AS(attn::sample(x, 2), std::invalid_argument);
  CHECK_THROWS_WITH(attn::sample(x, 2), "[sample] there is no sample 2 in a batch of 2");
}
