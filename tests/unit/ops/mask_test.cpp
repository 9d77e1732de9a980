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

/// Whether each score is kept where `visible(b, h, i, j)` and −1 elsewhere.
template <class Visible>
bool is_masked_by(const Tensor<4>& masked, const Tensor<4>& scores, Visible visible) {
  for (std::size_t b = 0; b < scores.shape(0); ++b)
    for (std::size_t h = 0; h < scores.shape(1); ++h)
      for (std::size_t i = 0; i < scores.shape(2); ++i)
        for (std::size_t j = 0; j < scores.shape(3); ++j)
          if (masked(b, h, i, j) != (visible(b, h, i, j) ? scores(b, h, i, j) : double{-1})) return false;
  return true;
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
  const Mask<2> a = {{true, true, false, false}}, b = {{true, false, true, false}};
  CHECK((attn::both(a, b) == Mask<2>{{true, false, false, false}}));
  CHECK_THROWS_WITH(attn::both(a, attn::causal_mask(2, 3)), Contains("1×4") && Contains("2×3"));
}

TEST_CASE("hidden scores become −∞ and the others stay", "[mask]") {
  const Tensor<3> scores = {{{1, 2}, {3, 4}}};
  const auto hidden = -std::numeric_limits<double>::infinity();
  CHECK((attn::apply_mask(scores, attn::causal_mask(2, 2)) == Tensor<3>{{{1, hidden}, {3, 4}}}));
  CHECK((attn::apply_mask(scores, attn::causal_mask(2, 2), -1e9) == Tensor<3>{{{1, double(-1e9)}, {3, 4}}}));
}

TEST_CASE("a mask without heads holds for every head, one without a batch for every sample", "[mask]") {
  const auto scores = random_tensor<4>({2, 3, 4, 5}, 1);
  const auto per_pair = random_mask<2>({4, 5}, 2);
  const auto per_sample = random_mask<3>({2, 4, 5}, 3);
  const auto per_head = random_mask<4>({2, 3, 4, 5}, 4);
  CHECK(is_masked_by(attn::apply_mask(scores, per_pair, -1.0), scores,
                     [&](std::size_t, std::size_t, std::size_t i, std::size_t j) { return per_pair(i, j); }));
  CHECK(is_masked_by(
      attn::apply_mask(scores, per_sample, -1.0), scores,
      [&](std::size_t b, std::size_t, std::size_t i, std::size_t j) { return per_sample(b, i, j); }));
  CHECK(is_masked_by(
      attn::apply_mask(scores, per_head, -1.0), scores,
      [&](std::size_t b, std::size_t h, std::size_t i, std::size_t j) { return per_head(b, h, i, j); }));
}

TEST_CASE("a mask axis of length 1 is repeated", "[mask]") {
  const auto scores = random_tensor<4>({2, 3, 4, 5}, 1);
  const auto keys = random_mask<4>({2, 1, 1, 5}, 2);
  const auto queries = random_mask<3>({1, 4, 1}, 3);
  CHECK(
      is_masked_by(attn::apply_mask(scores, keys, -1.0), scores,
                   [&](std::size_t b, std::size_t, std::size_t, std::size_t j) { return keys(b, 0, 0, j); }));
  CHECK(is_masked_by(attn::apply_mask(scores, queries, -1.0), scores,
                     [&](std::size_t, std::size_t, std::size_t i, std::size_t) { return queries(0, i, 0); }));
}

TEST_CASE("without heads a mask belongs to its own sample", "[mask]") {
  const Tensor<3> scores = {{{1, 2}}, {{3, 4}}};
  const Mask<3> mask = {{{true, false}}, {{false, true}}};
  CHECK((attn::apply_mask(scores, mask, -1.0) == Tensor<3>{{{1, -1}}, {{-1, 4}}}));
}

TEST_CASE("a mask that does not fit the scores is refused with both shapes", "[mask]") {
  const auto scores = random_tensor<4>({2, 3, 4, 5}, 1);
  CHECK_THROWS_AS(attn::apply_mask(scores, attn::causal_mask(5, 4)), std::invalid_argument);
  CHECK_THROWS_WITH(attn::apply_mask(scores, attn::causal_mask(5, 4)),
                    Contains("[apply_mask]") && Contains("2×3×4×5") && Contains("mask is 5×4"));
  CHECK_THROWS_WITH(attn::apply_mask(scores, attn::padding_mask({1, 2, 3}, 4, 5)), Contains("mask is 3×4×5"));
  CHECK_THROWS_WITH(attn::apply_mask(scores, random_mask<4>({2, 2, 4, 5}, 1)), Contains("mask is 2×2×4×5"));
}

TEST_CASE("A mask tells whether a query is left with nothing to see") {
  CHECK(attn::has_empty_row(attn::repeat_mask(attn::causal_mask(3, 2), 2)));
  CHECK_FALSE(attn::has_empty_row(attn::repeat_mask(attn::causal_mask(2, 3), 2)));
}
