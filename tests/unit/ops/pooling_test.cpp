#include "attn/ops/pooling.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

using attn::Tensor;

TEST_CASE("the mean counts real tokens only", "[pooling]") {
  const Tensor<3> x = {{{1, 2}, {3, 6}, {100, 100}}, {{1, 1}, {2, 2}, {6, 6}}};
  CHECK((attn::mean_pool(x, {2, 3}) == Tensor<2>{{2, 4}, {3, 3}}));
  CHECK((attn::mean_pool(x, {1, 1}) == Tensor<2>{{1, 2}, {1, 1}}));
}

TEST_CASE("lengths that do not fit the batch are refused", "[pooling]") {
  const Tensor<3> x = {{{1, 2}, {3, 4}}};
  CHECK_THROWS_WITH(attn::mean_pool(x, {2, 2}), "[mean_pool] there are 2 lengths for a batch of 1");
  CHECK_THROWS_WITH(attn::mean_pool(x, {0}), "[mean_pool] a length of 0 is not from 1 to 2");
  CHECK_THROWS_AS(attn::mean_pool(x, {3}), std::invalid_argument);
}
