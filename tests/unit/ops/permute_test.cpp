#include "attn/ops/permute.hpp"

#include <catch2/catch.hpp>

using attn::Mask;
using attn::Tensor;

TEST_CASE("a reversal leaves the padding of each sample in place") {
  CHECK((attn::reversal({3, 2}, 3) == attn::RowOrder{{2, 1, 0}, {1, 0, 2}}));
}

TEST_CASE("rows are permuted sample by sample") {
  const Tensor<3> x = {{{1}, {2}, {3}}, {{4}, {5}, {6}}};
  CHECK((attn::permute_rows(x, attn::reversal({3, 2}, 3)) == Tensor<3>{{{3}, {2}, {1}}, {{5}, {4}, {6}}}));
}
