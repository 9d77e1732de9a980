#include "attn/efficient/flash_attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "attn/efficient/fused_attention.hpp"
#include "attn/ops/scoring.hpp"
#include "tests/unit/fast/plain_attention.hpp"

using attn::Meter;
using attn::Tensor;
using Catch::Contains;

namespace {

std::int64_t bytes_held(std::size_t n, std::size_t block) {
  const auto in = random_attention<double>(n, 3, 2);
  Meter meter;
  attn::flash_attention(in.Q, in.K, in.V, block, false, meter);
  return meter.work().score_bytes;
}

}  // namespace

TEST_CASE("flash attention equals plain attention for every size and block", "[flash_attention]") {
  const std::size_t n = GENERATE(1, 2, 7, 12), d_k = GENERATE(1, 5), d_v = GENERATE(1, 3);
  const std::size_t block = GENERATE(1, 2, 3, 5, 12, 1000);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, d_k, d_v, block, causal);
  const auto in = random_attention(n, d_k, d_v);
  const auto mask = causal ? attn::causal_mask(n, n) : Mask<2>({n, n}, true);
  Meter meter;
  const auto output = attn::flash_attention(in.Q, in.K, in.V, block, causal, meter);
  CHECK(attn::max_abs_difference(output, plain_attention(in, mask).output) <= rounding);
}

TEST_CASE("flash attention equals the fused kernel where there are more keys than queries",
          "[flash_attention]") {
  const std::size_t n_q = GENERATE(1, 3, 6), n_k = GENERATE(1, 4, 6), block = GENERATE(1, 2, 4);
  const bool causal = GENERATE(false, true);
  CAPTURE(n_q, n_k, block, causal);
  const auto Q = random_tensor<2>({n_q, 4}, 1), K = random_tensor<2>({n_k, 4}, 2),
             V = random_tensor<2>({n_k, 3}, 3);
  const auto mask = causal ? attn::causal_mask(n_q, n_k) : Mask<2>({n_q, n_k}, true);
  Meter meter;
  const auto output = attn::flash_attention(Q, K, V, block, causal, meter);
  const auto fused = attn::fused_attention(attn::as_batch(Q), attn::as_batch(K), attn::as_batch(V), 2.0,
                                           {attn::repeat_mask(mask, 1)});
  CHECK(attn::max_abs_difference(attn::as_batch(output), fused) <= rounding<double>);
}

TEST_CASE("scores far beyond what exp can take are no trouble in tiles", "[flash_attention]") {
  const double scale = GENERATE(100.0, 5000.0);
  const Tensor<2> Q = {{scale}, {-scale}}, K = {{1}, {2}, {3}, {2}, {1}, {3}};
  const AttentionInputs in = {Q, K, random_tensor<2>({6, 4}, 1)};
  Meter meter;
  const auto output = attn::flash_attention(in.Q, in.K, in.V, 2, false, meter);
  CHECK(attn::max_abs_difference(output, plain_attention(in, Mask<2>({2, 6}, true)).output) <=
        rounding<double>);
}

TEST_CASE("what flash attention holds is a tile, however long the sequence", "[flash_attention]") {
  CHECK(bytes_held(16, 4) == 4 * 4 * 8);
  CHECK(bytes_held(32, 4) == bytes_held(16, 4));
  CHECK(bytes_held(33, 4) == bytes_held(16, 4));
  CHECK(bytes_held(3, 4) == 3 * 3 * 8);
  CHECK(bytes_held(32, 32) == 4 * bytes_held(16, 16));
}

TEST_CASE("flash attention does the products of full attention and the rescaling", "[flash_attention]") {
  const auto in = random_attention<double>(6, 4, 3);
  Meter one_block, three_blocks, causal;
  attn::flash_attention(in.Q, in.K, in.V, 6, false, one_block);
  CHECK(one_block.work().multiply_adds == 36 * 7);
  attn::flash_attention(in.Q, in.K, in.V, 2, false, three_blocks);
  CHECK(three_blocks.work().multiply_adds == 36 * 7 + 6 * 2 * 4);
  attn::flash_attention(in.Q, in.K, in.V, 2, true, causal);
  CHECK(causal.work().multiply_adds == 21 * 7 + (2 * 1 + 2 * 2) * 4);
}

TEST_CASE("tiles in the future are not looked at", "[flash_attention]") {
  auto in = random_attention<double>(6, 3, 2);
  for (std::size_t c = 0; c < 3; ++c) in.K(4, c) = std::numeric_limits<double>::quiet_NaN();
  Meter meter;
  const auto output = attn::flash_attention(in.Q, in.K, in.V, 3, true, meter);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isfinite(output(i, 0)));
}

TEST_CASE("the history of flash attention ends with softmax and follows its own rules", "[flash_attention]") {
  const auto in = random_attention<double>(7, 4, 3);
  Meter meter;
  const auto history = attn::flash_history(in.Q, in.K, in.V, 3, false, meter);
  const auto plain =
      attn::scaled_dot_product_attention(attn::as_batch(in.Q), attn::as_batch(in.K), attn::as_batch(in.V));
  REQUIRE(history.maximum.shape(0) == 3);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto* row = &plain.scaled(0, i, 0);
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t block = 0; block < 3; ++block) {
      const std::size_t end = std::min<std::size_t>(7, 3 * block + 3);
      const double old = maximum;
      maximum = *std::max_element(row, row + end);
      double sum = 0.0;
      for (std::size_t j = 0; j < end; ++j) sum += std::exp(row[j] - maximum);
      CHECK(history.maximum(block, i) == Approx(maximum));
      CHECK(history.sum(block, i) == Approx(sum));
      CHECK(history.rescaling(block, i) == Approx(std::exp(old - maximum)));
    }
  }
  for (std::size_t c = 0; c < 3; ++c)
    CHECK(history.accumulated(2, c) / history.sum(2, 6) == Approx(history.output(6, c)));
}

TEST_CASE("a running output that is not rescaled is not exact", "[flash_attention]") {
  const Tensor<2> Q = {{1.0}}, K = {{0.0}, {3.0}}, V = {{1.0}, {2.0}};
  Meter meter;
  const auto history = attn::flash_history(Q, K, V, 1, false, meter);
  const double forgotten = (1.0 * 1.0 + 1.0 * 2.0) / (1.0 + 1.0);
  CHECK(history.rescaling(1, 0) == Approx(std::exp(-3.0)));
  CHECK(std::abs(history.output(0, 0) - forgotten) > 0.1);
}

TEST_CASE("a query that does not see a block keeps its state", "[flash_attention]") {
  const auto in = random_attention<double>(4, 3, 2);
  Meter meter;
  const auto history = attn::flash_history(in.Q, in.K, in.V, 2, true, meter);
  CHECK(history.maximum(1, 0) == history.maximum(0, 0));
  CHECK(history.sum(1, 0) == history.sum(0, 0));
  CHECK(history.rescaling(1, 0) == 1.0);
}

TEST_CASE("the history of flash attention counts its tiles, rescalings and what it skips",
          "[flash_attention]") {
  const Tensor<2> Q = {{1}, {1}, {1}, {1}, {1}}, K = {{0}, {1}, {3}, {2}, {4}};
  Meter meter;
  const auto all = attn::flash_history(Q, K, K, 2, false, meter);
  CHECK(all.tile == Integers<2>{
                        {1, 1, 2, 2, 3}, {1, 1, 2, 2, 3}, {4, 4, 5, 5, 6}, {4, 4, 5, 5, 6}, {7, 7, 8, 8, 9}});
  CHECK(all.scores(4, 2) == 3.0);
  CHECK(all.tiles == 9);
  CHECK(all.beginnings == 5);
  CHECK(all.rescalings == 10);
  CHECK(all.unchanged == 0);

  const auto causal = attn::flash_history(Q, K, K, 2, true, meter);
  CHECK(causal.tile ==
        Integers<2>{
            {1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {2, 2, 3, 0, 0}, {2, 2, 3, 3, 0}, {4, 4, 5, 5, 6}});
  CHECK(causal.scores(2, 3) == -std::numeric_limits<double>::infinity());
  CHECK(causal.tiles == 6);
  CHECK(causal.beginnings == 5);
  CHECK(causal.rescalings == 4);

  const auto falling = attn::flash_history(Q, Tensor<2>(-K), K, 1, true, meter);
  CHECK(falling.tiles == 15);
  CHECK(falling.rescalings == 0);
  CHECK(falling.unchanged == 10);
}

TEST_CASE("a query that sees nothing gets zeros from tiles", "[flash_attention]") {
  const auto Q = random_tensor<2>({3, 2}, 1), K = random_tensor<2>({1, 2}, 2);
  attn::Wiring wiring(3);
  Meter meter(wiring);
  const auto output = attn::flash_attention(Q, K, K, 1, true, meter);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(output(0, c) == 0.0);
    CHECK(output(2, c) == K(0, c));
  }
}

TEST_CASE("flash attention refuses what does not fit", "[flash_attention]") {
  const auto in = random_attention<double>(3, 4, 2), other = random_attention<double>(5, 6, 2);
  Meter meter;
  CHECK_THROWS_WITH(attn::flash_attention(in.Q, other.K, other.V, 2, false, meter),
                    Contains("3×4") && Contains("5×6"));
  CHECK_THROWS_AS(attn::flash_attention(in.Q, in.K, in.V, 0, false, meter), std::invalid_argument);
  CHECK_THROWS_AS(attn::flash_history(in.Q, in.K, in.V, 0, false, meter), std::invalid_argument);
}
