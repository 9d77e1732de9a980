#include "attn/ops/feed_forward.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/measure.hpp"
#include "attn/ops/permute.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::Activation;
using attn::Tensor;
using Catch::Contains;

namespace {

attn::FeedForwardWeights random_weights() {
  return {random_tensor<2>({4, 6}, 1), random_tensor<1>({6}, 2), random_tensor<2>({6, 4}, 3),
          random_tensor<1>({4}, 4)};
}

}  // namespace

TEST_CASE("the feed-forward network by hand", "[feed_forward]") {
  const attn::FeedForwardWeights<double> weights = {
      {{1, -1, 2}, {0, 1, 1}}, {0, 1, -10}, {{1, 2}, {3, 4}, {5, 6}}, {10, 20}};
  const auto result = attn::feed_forward<double>({{{1, 2}, {-3, 1}}}, weights, Activation::relu);
  CHECK((result.hidden == Tensor<3>{{{1, 2, 0}, {0, 5, 0}}}));
  CHECK((result.output == Tensor<3>{{{17, 30}, {25, 40}}}));
}

TEST_CASE("the feed-forward network treats every token by itself", "[feed_forward]") {
  const auto activation = GENERATE(Activation::relu, Activation::gelu);
  const auto x = random_tensor<3>({2, 5, 4}, 5);
  const auto order = attn::reversal({5, 3}, 5);
  const auto weights = random_weights();
  CHECK((attn::feed_forward(attn::permute_rows(x, order), weights, activation).output ==
         attn::permute_rows(attn::feed_forward(x, weights, activation).output, order)));
}

TEST_CASE("the claim that no tokens are mixed fails where they are", "[feed_forward]") {
  const auto x = random_tensor<3>({1, 3, 4}, 5);
  const auto order = attn::reversal({3}, 3);
  auto mixed = attn::feed_forward(x, random_weights<double>(), Activation::relu).output;
  const auto reversed =
      attn::feed_forward(attn::permute_rows(x, order), random_weights<double>(), Activation::relu);
  mixed(0, 0, 0) += mixed(0, 1, 0);
  CHECK(attn::max_abs_difference(attn::permute_rows(reversed.output, order), mixed) > 1e-3);
}

TEST_CASE("a bias of another length is refused with both shapes", "[feed_forward]") {
  auto weights = random_weights<double>();
  weights.b_1 = random_tensor<1>({5}, 1);
  const auto x = random_tensor<3>({1, 2, 4}, 5);
  CHECK_THROWS_AS(attn::feed_forward(x, weights, Activation::relu), std::invalid_argument);
  CHECK_THROWS_WITH(attn::feed_forward(x, weights, Activation::relu),
                    Contains("[linear]") && Contains("4×6") && Contains("bias is 5"));
}
