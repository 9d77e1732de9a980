#include "attn/ops/slice.hpp"

#include <catch2/catch.hpp>

using attn::Tensor;

TEST_CASE("columns and rows of a matrix are cut out") {
  const Tensor<double, 2> x = {{1, 2, 3}, {4, 5, 6}};
  CHECK((attn::columns(x, 1, 3) == Tensor<double, 2>{{2, 3}, {5, 6}}));
  CHECK((attn::rows(x, 1, 2) == Tensor<double, 2>{{4, 5, 6}}));
}

TEST_CASE("one head of several is taken out with its batch") {
  const Tensor<double, 4> x = {{{{1, 2}}, {{3, 4}}}, {{{5, 6}}, {{7, 8}}}};
  CHECK((attn::head(x, 1) == Tensor<double, 3>{{{3, 4}}, {{7, 8}}}));
}

TEST_CASE("each block of columns is repeated in place, not the matrix as a whole") {
  const Tensor<double, 2> x = {{1, 2, 3, 4}};
  CHECK((attn::repeat_column_blocks(x, 2, 2) == Tensor<double, 2>{{1, 2, 1, 2, 3, 4, 3, 4}}));
}

TEST_CASE("rows and columns of each sample are taken and doubled") {
  const Tensor<float, 3> x = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  CHECK((attn::first_rows(x, 1) == Tensor<float, 3>{{{1, 2}}, {{5, 6}}}));
  CHECK((attn::rows_twice(attn::first_rows(x, 1)) == Tensor<float, 3>{{{1, 2}, {1, 2}}, {{5, 6}, {5, 6}}}));
  CHECK((attn::columns_twice(attn::first_rows(x, 1)) == Tensor<float, 3>{{{1, 2, 1, 2}}, {{5, 6, 5, 6}}}));
}
