#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/unit/lessons/efficient/attention.hpp"
#include "tests/unit/numbers.hpp"

using attn::CostCounter;
using attn::Mask;
using attn::Tensor;
using Catch::Contains;

namespace {

std::int64_t bytes_held(std::size_t n, std::size_t block) {
  const auto in = random_matrices(n, 3, 2);
  CostCounter counter;
  lessons::flash_attention(in.Q, in.K, in.V, block, false, counter);
  return counter.cost().score_bytes;
}

}  // namespace

TEST_CASE("flash attention equals plain attention for every size and block", "[flash_attention]") {
  const std::size_t n = GENERATE(1, 2, 7, 12), d_k = GENERATE(1, 5), d_v = GENERATE(1, 3);
  const std::size_t block = GENERATE(1, 2, 3, 5, 12, 1000);
  const bool causal = GENERATE(false, true);
  CAPTURE(n, d_k, d_v, block, causal);
  const auto in = random_matrices(n, d_k, d_v);
  const auto mask = causal ? attn::causal_mask(n, n) : Mask<2>({n, n}, true);
  CostCounter counter;
  const auto output = lessons::flash_attention(in.Q, in.K, in.V, block, causal, counter);
  CHECK(attn::max_abs_difference(output, masked_attention(in, mask).output) <= rounding);
}

TEST_CASE("flash attention equals masked attention where there are more keys than queries",
          "[flash_attention]") {
  const std::size_t n_q = GENERATE(1, 3, 6), n_k = GENERATE(1, 4, 6), block = GENERATE(1, 2, 4);
  const bool causal = GENERATE(false, true);
  CAPTURE(n_q, n_k, block, causal);
  const auto Q = random_tensor<2>({n_q, 4}, 1), K = random_tensor<2>({n_k, 4}, 2),
             V = random_tensor<2>({n_k, 3}, 3);
  const auto mask = causal ? attn::causal_mask(n_q, n_k) : Mask<2>({n_q, n_k}, true);
  CostCounter counter;
  const auto output = lessons::flash_attention(Q, K, V, block, causal, counter);
  CHECK(attn::max_abs_difference(output, masked_attention({Q, K, V}, mask).output) <= rounding);
}

TEST_CASE("scores far beyond what exp can take are no trouble in tiles", "[flash_attention]") {
  const double scale = GENERATE(100.0, 5000.0);
  const Tensor<2> Q = {{scale}, {-scale}}, K = {{1}, {2}, {3}, {2}, {1}, {3}};
  const Matrices in = {Q, K, random_tensor<2>({6, 4}, 1)};
  CostCounter counter;
  const auto output = lessons::flash_attention(in.Q, in.K, in.V, 2, false, counter);
  CHECK(attn::max_abs_difference(output, masked_attention(in, Mask<2>({2, 6}, true)).output) <= rounding);
}

TEST_CASE("what flash attention holds is a tile, however long the sequence", "[flash_attention]") {
  CHECK(bytes_held(16, 4) == 4 * 4 * 8);
  CHECK(bytes_held(32, 4) == bytes_held(16, 4));
  CHECK(bytes_held(33, 4) == bytes_held(16, 4));
  CHECK(bytes_held(3, 4) == 3 * 3 * 8);
  CHECK(bytes_held(32, 32) == 4 * bytes_held(16, 16));
}

TEST_CASE("flash attention does the products of full attention and the rescaling", "[flash_attention]") {
  const auto in = random_matrices(6, 4, 3);
  CostCounter one_block, three_blocks, causal;
  lessons::flash_attention(in.Q, in.K, in.V, 6, false, one_block);
  CHECK(one_block.cost().multiply_adds == 36 * 7);
  lessons::flash_attention(in.Q, in.K, in.V, 2, false, three_blocks);
  CHECK(three_blocks.cost().multiply_adds == 36 * 7 + 6 * 2 * 4);
  lessons::flash_attention(in.Q, in.K, in.V, 2, true, causal);
  CHECK(causal.cost().multiply_adds == 21 * 7 + (2 * 1 + 2 * 2) * 4);
}

TEST_CASE("tiles in the future are not looked at", "[flash_attention]") {
  auto in = random_matrices(6, 3, 2);
  for (std::size_t c = 0; c < 3; ++c) in.K(4, c) = not_a_number;
  CostCounter counter;
  const auto output = lessons::flash_attention(in.Q, in.K, in.V, 3, true, counter);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isfinite(output(i, 0)));
}

TEST_CASE("the steps of flash attention end with softmax and follow their own rules", "[flash_attention]") {
  const auto in = random_matrices(7, 4, 3);
  const auto told = told_of("flash", in, {.block = 3});
  const auto maximum = told.elements("flash/maximum"), sum = told.elements("flash/sum"),
             rescaling = told.elements("flash/rescaling"), accumulated = told.elements("flash/accumulated"),
             output = told.elements("flash/output");
  const auto plain = masked_attention<3>(attn::as_batch(in.Q), attn::as_batch(in.K), attn::as_batch(in.V));
  REQUIRE(maximum.size() == 3 * 7);
  for (std::size_t i = 0; i < 7; ++i) {
    const auto* row = &plain.scaled(0, i, 0);
    double largest = -infinity;
    for (std::size_t block = 0; block < 3; ++block) {
      const std::size_t end = std::min<std::size_t>(7, 3 * block + 3);
      const double old = largest;
      largest = *std::max_element(row, row + end);
      double expected = 0.0;
      for (std::size_t j = 0; j < end; ++j) expected += std::exp(row[j] - largest);
      CHECK(maximum[block * 7 + i] == Approx(largest));
      CHECK(sum[block * 7 + i] == Approx(expected));
      CHECK(rescaling[block * 7 + i] == Approx(std::exp(old - largest)));
    }
  }
  for (std::size_t c = 0; c < 3; ++c)
    CHECK(accumulated[2 * 3 + c] / sum[2 * 7 + 6] == Approx(output[6 * 3 + c]));
}

TEST_CASE("a running output that is not rescaled is not exact", "[flash_attention]") {
  const Matrices in = {{{0.0}, {1.0}}, {{0.0}, {3.0}}, {{1.0}, {2.0}}};
  const auto told = told_of("flash", in, {.block = 1});
  const double forgotten = (1.0 * 1.0 + 1.0 * 2.0) / (1.0 + 1.0);
  CHECK(told.elements("flash/rescaling")[3] == Approx(std::exp(-3.0)));
  CHECK(std::abs(told.elements("flash/output")[1] - forgotten) > 0.1);
}

TEST_CASE("a query that does not see a block keeps its state", "[flash_attention]") {
  const auto told = told_of("flash", random_matrices(4, 3, 2), {.causal = true, .block = 2});
  CHECK(told.elements("flash/maximum")[4] == told.elements("flash/maximum")[0]);
  CHECK(told.elements("flash/sum")[4] == told.elements("flash/sum")[0]);
  CHECK(told.elements("flash/rescaling")[4] == 1.0);
}

TEST_CASE("flash attention counts its tiles, rescalings and what it skips", "[flash_attention]") {
  const Tensor<2> Q = {{1}, {1}, {1}, {1}, {1}}, K = {{0}, {1}, {3}, {2}, {4}};
  const auto all = told_of("flash", {Q, K, K}, {.block = 2});
  CHECK(all.elements("flash/tile") ==
        std::vector<double>{1, 1, 2, 2, 3, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9});
  CHECK(all.elements("flash/scores")[4 * 5 + 2] == 3.0);
  CHECK_THAT(all.formulas.at("flash/savings"),
             Contains("9 computed, 0 skipped") && Contains("5 first, 10 that raised m, 0 with c = 1"));

  const auto causal = told_of("flash", {Q, K, K}, {.causal = true, .block = 2});
  CHECK(causal.elements("flash/tile") ==
        std::vector<double>{1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 2, 2, 3, 0, 0, 2, 2, 3, 3, 0, 4, 4, 5, 5, 6});
  CHECK(causal.elements("flash/scores")[2 * 5 + 3] == -infinity);
  CHECK_THAT(causal.formulas.at("flash/savings"),
             Contains("6 computed, 3 skipped") && Contains("5 first, 4 that raised m"));

  const auto falling = told_of("flash", {Q, Tensor<2>(-K), K}, {.causal = true, .block = 1});
  CHECK_THAT(falling.formulas.at("flash/savings"),
             Contains("15 computed, 10 skipped") && Contains("0 that raised m, 10 with c = 1"));
}

TEST_CASE("each step of flash attention goes on from the one before", "[flash_attention]") {
  const auto in = random_matrices(5, 3, 2);
  for (const auto* step : {"flash/scores", "flash/rescaling", "flash/sum", "flash/accumulated"}) {
    INFO(step);
    const auto told = told_of("flash", in, {.block = 2}, one_percent_more(step));
    CHECK_FALSE(told.holds("flash-is-exact"));
    CHECK_FALSE(told.holds("flash-equals-kernel"));
  }
}

TEST_CASE("any number in the place of the maximum changes the sums and not the output", "[flash_attention]") {
  const auto in = random_matrices(5, 3, 2);
  const auto told = told_of("flash", in, {.block = 2}, one_percent_more("flash/maximum"));
  const auto plain = told_of("flash", in, {.block = 2});
  CHECK(largest_difference(told.elements("flash/rescaling"), plain.elements("flash/rescaling")) > 1e-3);
  CHECK(largest_difference(told.elements("flash/sum"), plain.elements("flash/sum")) > 1e-3);
  CHECK(told.holds("flash-is-exact"));
}

TEST_CASE("a query that sees nothing gets zeros from tiles", "[flash_attention]") {
  const auto Q = random_tensor<2>({3, 2}, 1), K = random_tensor<2>({1, 2}, 2);
  attn::DependencyGraph graph(3);
  CostCounter counter(attn::Dtype::float64, &graph);
  const auto output = lessons::flash_attention(Q, K, K, 1, true, counter);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(output(0, c) == 0.0);
    CHECK(output(2, c) == K(0, c));
  }
}
