#include "attn/ops/slice.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/unit/random_tensor.hpp"

using attn::Tensor;
using Catch::Contains;

TEST_CASE("columns and rows of a matrix are cut out") {
  const Tensor<2> x = {{1, 2, 3}, {4, 5, 6}};
  CHECK((attn::columns(x, 1, 3) == Tensor<2>{{2, 3}, {5, 6}}));
  CHECK((attn::rows(x, 1, 2) == Tensor<2>{{4, 5, 6}}));
}

TEST_CASE("a sample of a batch is its matrix", "[slice]") {
  const Tensor<3> x{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
  CHECK((attn::sample(x, 0) == Tensor<2>{{1, 2, 3}, {4, 5, 6}}));
  CHECK((attn::sample(x, 1) == Tensor<2>{{7, 8, 9}, {10, 11, 12}}));
}

TEST_CASE("a sample that is not in the batch is refused") {
  const Tensor<3> x{{{1.0}}, {{2.0}}};
  CHECK_THROWS_AS(attn::sample(x, 2), std::invalid_argument);
  CHECK_THROWS_WITH(attn::sample(x, 2), "[sample] there is no sample 2 in a batch of 2");
}

TEST_CASE("one head of several is taken out with its batch") {
  const Tensor<4> x = {{{{1, 2}}, {{3, 4}}}, {{{5, 6}}, {{7, 8}}}};
  CHECK((attn::head(x, 1) == Tensor<3>{{{3, 4}}, {{7, 8}}}));
}

TEST_CASE("a matrix becomes a batch of one sample, which is the matrix again") {
  const Tensor<2> x = {{1, 2, 3}, {4, 5, 6}};
  CHECK((attn::as_batch(x) == Tensor<3>{{{1, 2, 3}, {4, 5, 6}}}));
  CHECK((attn::sample(attn::as_batch(x), 0) == x));
}
