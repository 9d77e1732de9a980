#include "attn/efficient/fused_attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attn/layers/attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "tests/unit/fixture.hpp"
#include "tests/unit/random_tensor.hpp"

using attn::fused_attention;
using attn::Tensor;
using Catch::Contains;

namespace {

constexpr double rounding = std::is_same_v<double, double> ? 1e-13 : 1e-5;

template <std::size_t N>
double difference_from_plain(const Tensor<N>& Q, const Tensor<N>& K, const Tensor<N>& V,
                             const std::optional<Mask<3>>& mask = std::nullopt) {
  const double divisor = std::sqrt(static_cast<double>(Q.shape(N - 1)));
  const auto plain = attn::scaled_dot_product_attention(Q, K, V, mask);
  return attn::max_abs_difference(fused_attention(Q, K, V, divisor, mask), plain.output);
}

}  // namespace

TEST_CASE("fused attention agrees with PyTorch", "[fused_attention]") {
  for (const auto& one : fixture::cases("attention")) {
    INFO(one["name"]);
    const auto Q = fixture::tensor<3>(one["Q"]);
    const double divisor = std::sqrt(static_cast<double>(Q.shape(2))) * one["temperature"].get<double>();
    const auto output =
        fused_attention(Q, fixture::tensor<3>(one["K"]), fixture::tensor<3>(one["V"]),
                        divisor, fixture::mask(one["mask"]));
    CHECK(fixture::relative_error(output, one["output"]) <= fixture::tolerance);
  }
}

TEST_CASE("fused attention equals the plain one for every size", "[fused_attention]") {
  const std::size_t n_q = GENERATE(1, 4), n_k = GENERATE(1, 2, 33), d_k = GENERATE(1, 7),
                    d_v = GENERATE(1, 5);
  CAPTURE(n_q, n_k, d_k, d_v);
  const auto Q = random_tensor<3>({2, n_q, d_k}, 1),
             K = random_tensor<3>({2, n_k, d_k}, 2);
  CHECK(difference_from_plain(Q, K, random_tensor<3>({2, n_k, d_v}, 3)) <= rounding);
}

TEST_CASE("a mask of a sample holds for all its heads", "[fused_attention]") {
  const auto Q = random_tensor<4>({2, 3, 4, 5}, 1), K = random_tensor<4>({2, 3, 6, 5}, 2);
  const auto V = random_tensor<4>({2, 3, 6, 2}, 3);
  const auto causal = attn::repeat_mask(attn::causal_mask(4, 6), 2),
             padding = attn::padding_mask({6, 3}, 4, 6);
  CHECK(difference_from_plain(Q, K, V) <= rounding);
  CHECK(difference_from_plain(Q, K, V, {causal}) <= rounding);
  CHECK(difference_from_plain(Q, K, V, {padding}) <= rounding);
  CHECK(difference_from_plain(Q, K, V, {attn::both(causal, padding)}) <= rounding);
}

TEST_CASE("a mask axis of length 1 is repeated by the fused kernel, too", "[fused_attention]") {
  const auto x = random_tensor<4>({2, 3, 4, 5}, 1);
  CHECK(difference_from_plain(x, x, x, {attn::padding_mask({3}, 1, 4)}) <= rounding);
  CHECK(difference_from_plain(x, x, x, {attn::padding_mask({4, 2}, 1, 4)}) <= rounding);
  CHECK(difference_from_plain(x, x, x, {attn::repeat_mask(attn::causal_mask(4, 4), 1)}) <=
        rounding);
}

TEST_CASE("a query that may see nothing gets zeros from the fused kernel", "[fused_attention]") {
  const auto x = random_tensor<3>({1, 2, 3}, 1);
  const Mask<3> mask = {{{false, false}, {false, true}}};
  const auto output = fused_attention(x, x, x, 1.0, {mask});
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(output(0, 0, c) == 0);
    CHECK(output(0, 1, c) == x(0, 1, c));
  }
}

TEST_CASE("the running maximum may rise, fall and be far beyond what exp can take", "[fused_attention]") {
  const auto scale = double(GENERATE(1, 100, 5000));
  const Tensor<3> Q = {{{scale}, {-scale}}}, K = {{{1}, {2}, {3}, {2}, {1}, {3}}};
  const auto V = random_tensor<3>({1, 6, 4}, 1);
  CHECK(difference_from_plain(Q, K, V) <= rounding);
}

TEST_CASE("infinite and undefined scores do in the fused kernel what they do in the plain one",
          "[fused_attention]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double odd = GENERATE_COPY(-infinity, infinity, std::numeric_limits<double>::quiet_NaN());
  const Tensor<3> Q = {{{1.0}}}, V = {{{1.0}, {2.0}, {3.0}}};
  Tensor<3> K = {{{1.0}, {3.0}, {2.0}}};
  K(0, GENERATE(0U, 1U, 2U), 0) = odd;
  const double fused = fused_attention(Q, K, V, 1.0)(0, 0, 0);
  const double plain = attn::scaled_dot_product_attention(Q, K, V).output(0, 0, 0);
  if (std::isnan(plain))
    CHECK(std::isnan(fused));
  else
    CHECK(fused == Approx(plain));
}

TEST_CASE("the fused kernel refuses what does not fit with both shapes", "[fused_attention]") {
  const auto x = random_tensor<3>({2, 3, 4}, 1);
  const auto narrow = random_tensor<3>({2, 3, 5}, 1), lone = random_tensor<3>({1, 3, 4}, 1);
  const auto longer = random_tensor<3>({2, 6, 4}, 1);
  CHECK_THROWS_AS(fused_attention(x, narrow, x, 1.0), std::invalid_argument);
  CHECK_THROWS_WITH(fused_attention(x, narrow, x, 1.0), Contains("2×3×4") && Contains("2×3×5"));
  CHECK_THROWS_WITH(fused_attention(x, x, longer, 1.0), Contains("2×3×4") && Contains("2×6×4"));
  CHECK_THROWS_WITH(fused_attention(x, lone, lone, 1.0), Contains("Q is 2×3×4") && Contains("K is 1×3×4"));
  CHECK_THROWS_WITH(fused_attention(x, x, lone, 1.0), Contains("K is 2×3×4") && Contains("V is 1×3×4"));
  CHECK_THROWS_WITH(fused_attention(x, x, x, 1.0, {attn::padding_mask({1, 2, 3}, 3, 3)}),
                    Contains("2×3×4") && Contains("mask is 3×3×3"));
  CHECK_THROWS_WITH(fused_attention(x, x, x, 1.0, {attn::padding_mask({1, 2}, 3, 4)}),
                    Contains("2×3×4") && Contains("mask is 2×3×4"));
}
