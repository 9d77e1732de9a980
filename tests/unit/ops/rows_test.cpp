#include "attn/ops/rows.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using attn::Tensor;
using Catch::Contains;

TEST_CASE("each row has its largest element and its sum", "[rows]") {
  const Tensor<2> x = {{1.0, 4.0, -2.0}, {-3.0, -1.0, -2.0}};
  CHECK((attn::row_max(x) == Tensor<1>{4.0, -1.0}));
  CHECK((attn::row_sums(x) == Tensor<1>{3.0, -6.0}));
}

TEST_CASE("each element meets the number of its row", "[rows]") {
  const Tensor<2> x = {{1.0, 4.0}, {-3.0, 6.0}};
  CHECK((attn::subtract_from_rows(x, {1.0, -3.0}) == Tensor<2>{{0.0, 3.0}, {0.0, 9.0}}));
  CHECK((attn::divide_rows(x, {2.0, 3.0}) == Tensor<2>{{0.5, 2.0}, {-1.0, 2.0}}));
  CHECK_THROWS_WITH(attn::divide_rows(x, {1.0}), Contains("[divide_rows]") && Contains("2×2"));
}
