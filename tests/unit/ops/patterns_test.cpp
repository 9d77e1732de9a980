#include "attn/ops/patterns.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Spread;
using attn::Tensor;
using Catch::Contains;

namespace {

Mask<3> everything_visible(std::size_t batch, std::size_t n) {
  return Mask<3>({batch, n, n}, true);
}

Integers<3> first_key(std::size_t batch, std::size_t heads, std::size_t n) {
  return xt::zeros<std::int64_t>({batch, heads, n});
}

}  // namespace

TEST_CASE("the patterns of a small table are what they are by hand", "[patterns]") {
  const auto half = double(0.5), quarter = double(0.25);
  const Tensor<4> weights = {{{{half, half, 0}, {quarter, half, quarter}, {0, 0, 1}}}};
  const auto patterns = attn::attention_patterns(weights, {3});
  CHECK(static_cast<double>(patterns.diagonal(0, 0)) == Approx(2.0 / 3.0));
  CHECK(static_cast<double>(patterns.local(0, 0)) == Approx((0.5 + 0.25 + 0.25 + 0.0) / 4.0));
  CHECK(static_cast<double>(patterns.sparse_ratio(0, 0)) == Approx(6.0 / 9.0));
  CHECK(static_cast<double>(patterns.entropy(0, 0)) == Approx((std::log(2.0) + 1.5 * std::log(2.0)) / 3.0));
  CHECK((patterns.strongest == Integers<3>{{{0, 1, 2}}}));
}

TEST_CASE("each head of each sample has numbers of its own", "[patterns]") {
  auto weights = attn::softmax(random_tensor<4>({2, 3, 4, 4}, 1));
  const auto all = attn::attention_patterns(weights, {4, 4});
  for (std::size_t b = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 3; ++h) {
      auto one = Tensor<4>::from_shape({1, 1, 4, 4});
      std::copy_n(&weights(b, h, 0, 0), 16, one.begin());
      const auto alone = attn::attention_patterns(one, {4});
      CHECK(alone.diagonal(0, 0) == all.diagonal(b, h));
      CHECK(alone.local(0, 0) == all.local(b, h));
      CHECK(alone.sparse_ratio(0, 0) == all.sparse_ratio(b, h));
      CHECK(alone.entropy(0, 0) == all.entropy(b, h));
      CHECK(alone.entropy(0, 0) == Approx(attn::mean_entropy(one)));
      CHECK(alone.strongest(0, 0, 3) == all.strongest(b, h, 3));
    }
}

TEST_CASE("padding is left out of the averages", "[patterns]") {
  Tensor<4> weights = xt::zeros<double>({1, 1, 3, 3});
  weights(0, 0, 0, 0) = weights(0, 0, 1, 1) = 1.0;
  weights(0, 0, 2, 0) = weights(0, 0, 2, 1) = 0.5;
  const auto patterns = attn::attention_patterns(weights, {2});
  CHECK(patterns.diagonal(0, 0) == 1.0);
  CHECK(patterns.local(0, 0) == 0.0);
  CHECK(patterns.sparse_ratio(0, 0) == 0.5);
  CHECK(patterns.entropy(0, 0) == 0.0);
}

TEST_CASE("a single token has no neighbours", "[patterns]") {
  const auto patterns = attn::attention_patterns(Tensor<4>{{{{1.0}}}}, {1});
  CHECK(patterns.diagonal(0, 0) == 1.0);
  CHECK(patterns.local(0, 0) == 0.0);
}

TEST_CASE("0.1 itself is no large weight", "[patterns]") {
  const auto ends = attn::extreme_attention<double>(first_key(1, 1, 10), everything_visible(1, 10), {10});
  CHECK(attn::attention_patterns(ends.uniform, {10}).sparse_ratio(0, 0) == 0.0);
}

TEST_CASE("of several strongest keys the first is named", "[patterns]") {
  const Tensor<4> weights = {{{{0.2, 0.4, 0.4}, {0.3, 0.3, 0.4}, {0.0, 0.5, 0.5}}}};
  CHECK((attn::attention_patterns(weights, {3}).strongest == Integers<3>{{{1, 2, 1}}}));
}

TEST_CASE("equal shares have the entropy ln n, a single key has none", "[patterns]") {
  const std::size_t n = GENERATE(1, 2, 6, 50);
  const auto mask = everything_visible(2, n);
  const auto ends = attn::extreme_attention(first_key(2, 3, n), mask, {n, n});
  const auto largest = attn::largest_entropy(mask, {n, n}, 3);
  CHECK(static_cast<double>(largest(1, 2)) == Approx(std::log(static_cast<double>(n))).margin(1e-12));
  CHECK(attn::max_abs_difference(ends.uniform_entropy, largest) <= 1e-6);
  CHECK(attn::max_abs(ends.one_hot_entropy) == 0.0);
  CHECK(attn::row_sum_deviation(ends.uniform) <= 1e-6);
  CHECK(attn::row_sum_deviation(ends.one_hot) == 0.0);
}

TEST_CASE("under a causal mask equal shares have the mean of ln(i + 1)", "[patterns]") {
  const auto mask = attn::repeat_mask(attn::causal_mask(3, 3), 1);
  const auto ends = attn::extreme_attention<double>(first_key(1, 1, 3), mask, {3});
  CHECK(ends.uniform(0, 0, 0, 1) == 0.0);
  CHECK(ends.uniform(0, 0, 1, 1) == 0.5);
  CHECK(attn::largest_entropy<double>(mask, {3}, 1)(0, 0) == Approx(std::log(6.0) / 3.0));
  CHECK(ends.uniform_entropy(0, 0) == Approx(std::log(6.0) / 3.0));
}

TEST_CASE("1e-9 inside the logarithm takes up to 1e-9 off for each key and makes one-hot weights negative",
          "[patterns]") {
  const auto ends = attn::extreme_attention<double>(first_key(1, 1, 4), everything_visible(1, 4), {4});
  CHECK(attn::entropy_bias(ends.uniform, {4}, 1e-9)(0, 0) == Approx(-4e-9).epsilon(1e-6));
  CHECK(attn::entropy_bias(ends.one_hot, {4}, 1e-9)(0, 0) == Approx(-1e-9).epsilon(1e-6));
  CHECK(attn::entropy_bias(ends.uniform, {4}, 0.0)(0, 0) == 0.0);
}

TEST_CASE("spread is judged by its distance from both ends", "[patterns]") {
  const double largest = std::log(6.0);
  CHECK(attn::spread_of(largest, largest) == Spread::collapsed);
  CHECK(attn::spread_of(largest - 0.04, largest) == Spread::collapsed);
  CHECK(attn::spread_of(largest - 0.06, largest) == Spread::selective);
  CHECK(attn::spread_of(0.21, largest) == Spread::selective);
  CHECK(attn::spread_of(0.19, largest) == Spread::over_sparse);
  CHECK(attn::spread_of(0.0, 0.0) == Spread::undecided);
  CHECK(attn::name_of(Spread::over_sparse) == "over-sparse");
  CHECK(attn::name_of(Spread::undecided) == "undecided");
}

TEST_CASE("heads that are judged to be something else are counted", "[patterns]") {
  const Tensor<2> entropy = {{1.79, 0.9, 0.0}}, largest = {{1.79, 1.79, 1.79}};
  CHECK(attn::count_misjudged(entropy, largest, Spread::collapsed) == 2);
  CHECK(attn::count_misjudged(largest, largest, Spread::collapsed) == 0);
  CHECK(attn::count_misjudged(largest, largest, Spread::over_sparse) == 3);
  CHECK(attn::count_misjudged(Tensor<2>{{0.0}}, Tensor<2>{{0.0}}, Spread::collapsed) == 0);
  CHECK_THROWS_AS(attn::count_misjudged(entropy, Tensor<2>{{1.0}}, Spread::collapsed),
                  std::invalid_argument);
}

TEST_CASE("weights of one sequence on another, and lengths that do not fit, are refused", "[patterns]") {
  const auto cross = random_tensor<4>({1, 1, 2, 3}, 1),
             self = random_tensor<4>({2, 1, 3, 3}, 1);
  CHECK_THROWS_WITH(attn::attention_patterns(cross, {2}),
                    Contains("1×1×2×3") && Contains("as many queries as keys"));
  CHECK_THROWS_WITH(attn::attention_patterns(self, {3}), Contains("2×1×3×3") && Contains("length"));
  CHECK_THROWS_AS(attn::attention_patterns(self, {3, 4}), std::invalid_argument);
  CHECK_THROWS_AS(attn::attention_patterns(self, {3, 0}), std::invalid_argument);
}
