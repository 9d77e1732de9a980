#include "attn/efficient/low_rank_attention.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/matmul.hpp"
#include "tests/unit/fast/plain_attention.hpp"

using attn::Meter;
using attn::Tensor;

TEST_CASE("Linformer is plain attention to mixtures of the keys", "[low_rank_attention]") {
  const std::size_t n = GENERATE(1, 7), r = GENERATE(1, 3, 9), d_k = GENERATE(1, 4), d_v = GENERATE(1, 5);
  const auto in = random_attention(n, d_k, d_v);
  const auto E = random_tensor<2>({r, n}, 4), F = random_tensor<2>({r, n}, 5);
  Meter meter;
  const auto attention = attn::low_rank_attention(in.Q, in.K, in.V, E, F, meter);
  const AttentionInputs mixed = {in.Q, attn::matmul(E, in.K), attn::matmul(F, in.V)};
  const auto plain = plain_attention(mixed, Mask<2>({n, r}, true));
  CHECK(attn::max_abs_difference(attention.projected_keys, mixed.K) <= rounding);
  CHECK(attn::max_abs_difference(attention.projected_values, mixed.V) <= rounding);
  CHECK(attn::max_abs_difference(attention.weights, plain.weights) <= rounding);
  CHECK(attn::max_abs_difference(attention.output, plain.output) <= 10 * rounding);
  CHECK(meter.work().multiply_adds == static_cast<std::int64_t>(2 * n * r * (d_k + d_v)));
  CHECK(meter.work().score_bytes == static_cast<std::int64_t>(n * r * sizeof(double)));
}

TEST_CASE("with all keys unmixed Linformer is full attention, and not with one of them missing",
          "[low_rank_attention]") {
  const auto in = random_attention<double>(4, 3, 2);
  Tensor<2> identity = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  const auto full = plain_attention(in, Mask<2>({4, 4}, true)).output;
  Meter meter;
  CHECK(attn::max_abs_difference(attn::low_rank_attention(in.Q, in.K, in.V, identity, identity, meter).output,
                                 full) <= rounding<double>);
  identity(3, 3) = 0.0;
  CHECK(attn::max_abs_difference(attn::low_rank_attention(in.Q, in.K, in.V, identity, identity, meter).output,
                                 full) > 0.01);
}

TEST_CASE("Linformer refuses what does not fit", "[low_rank_attention]") {
  const auto in = random_attention<double>(4, 3, 2);
  const auto E = random_tensor<2>({2, 4}, 1), wide = random_tensor<2>({2, 5}, 1),
             tall = random_tensor<2>({3, 4}, 1);
  Meter meter;
  CHECK_THROWS_WITH(attn::low_rank_attention(in.Q, in.K, in.V, wide, E, meter),
                    Catch::Contains("E is 2×5 but K is 4×3: the inner axes must match"));
  CHECK_THROWS_WITH(attn::low_rank_attention(in.Q, in.K, in.V, E, wide, meter),
                    Catch::Contains("F is 2×5 but V is 4×2: the inner axes must match"));
  CHECK_THROWS_AS(attn::low_rank_attention(in.Q, in.K, in.V, E, tall, meter), std::invalid_argument);
}
