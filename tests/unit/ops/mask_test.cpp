#include "attn/ops/mask.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "tests/unit/fixture.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Mask;
using attn::Tensor;
using Catch::Contains;

namespace {

template <std::size_t N>
Mask<N> random_mask(const std::array<std::size_t, N>& shape, unsigned seed) {
  const auto numbers = random_tensor<N>(shape, seed);
  Mask<N> mask(shape);
  for (std::size_t i = 0; i < mask.size(); ++i) mask.data()[i] = numbers.data()[i] > 0.0;
  return mask;
}

}  // namespace

TEST_CASE("causal, window and padding masks agree with PyTorch", "[mask]") {
  for (const auto& one : fixture::cases("mask")) {
    const std::size_t n_q = one["n_q"], n_k = one["n_k"];
    CAPTURE(n_q, n_k);
    CHECK((attn::causal_mask(n_q, n_k) == fixture::tensor<bool, 2>(one["causal"])));
    CHECK((attn::window_mask(n_q, n_k, one["window"]) == fixture::tensor<bool, 2>(one["windowed"])));
    CHECK((attn::padding_mask(one["lengths"], n_q, n_k) == fixture::tensor<bool, 3>(one["padding"])));
  }
}

TEST_CASE("the first of as many queries as keys sees one key, the last sees all", "[mask]") {
  CHECK((attn::causal_mask(3, 3) == Mask<2>{{true, false, false}, {true, true, false}, {true, true, true}}));
}

TEST_CASE("with fewer queries than keys the causal mask ends in the last corner", "[mask]") {
  CHECK((attn::causal_mask(1, 4) == Mask<2>{{true, true, true, true}}));
  CHECK((attn::causal_mask(2, 4) == Mask<2>{{true, true, true, false}, {true, true, true, true}}));
}

TEST_CASE("with more queries than keys the first queries see nothing", "[mask]") {
  CHECK((attn::causal_mask(3, 2) == Mask<2>{{false, false}, {true, false}, {true, true}}));
}

TEST_CASE("a window reaches equally far on both sides of the query's position", "[mask]") {
  CHECK(
      (attn::window_mask(3, 3, 1) == Mask<2>{{true, true, false}, {true, true, true}, {false, true, true}}));
  CHECK((attn::window_mask(1, 4, 1) == Mask<2>{{false, false, true, true}}));
}

TEST_CASE("a window of any size shows at most everything", "[mask]") {
  const auto mask = attn::window_mask(4, 2, std::numeric_limits<std::size_t>::max());
  CHECK((mask == Mask<2>{{true, true}, {true, true}, {true, true}, {true, true}}));
}

TEST_CASE("a repeated mask is the same for each sample", "[mask]") {
  const Mask<2> mask = {{true, false}};
  CHECK((attn::repeat_mask(mask, 2) == Mask<3>{{{true, false}}, {{true, false}}}));
}

TEST_CASE("what both masks show is shown", "[mask]") {
  const Mask<3> a = {{{true, true, false, false}}}, b = {{{true, false, true, false}}};
  CHECK((attn::both(a, b) == Mask<3>{{{true, false, false, false}}}));
  CHECK_THROWS_WITH(attn::both(a, attn::repeat_mask(attn::causal_mask(2, 3), 1)),
                    Contains("1×1×4") && Contains("1×2×3"));
}

TEST_CASE("A mask tells whether a query is left with nothing to see") {
  CHECK(attn::has_empty_row(attn::repeat_mask(attn::causal_mask(3, 2), 2)));
  CHECK_FALSE(attn::has_empty_row(attn::repeat_mask(attn::causal_mask(2, 3), 2)));
}
