#include <catch2/catch.hpp>

#include "attn/ops/matmul.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using attn::CostCounter;
using attn::Mask;
using attn::Tensor;

TEST_CASE("Linformer is plain attention to mixtures of the keys", "[linformer]") {
  const std::size_t n = GENERATE(1, 7), r = GENERATE(1, 3, 9), d_k = GENERATE(1, 4), d_v = GENERATE(1, 5);
  const auto in = random_matrices(n, d_k, d_v);
  const auto E = random_tensor<2>({r, n}, 4), F = random_tensor<2>({r, n}, 5);
  CostCounter counter;
  const auto output = lessons::linformer_attention(in.Q, in.K, in.V, E, F, counter);
  const Matrices mixed = {in.Q, attn::matmul(E, in.K), attn::matmul(F, in.V)};
  const auto plain = masked_attention(mixed, Mask<2>({n, r}, true));
  CHECK(attn::max_abs_difference(output, plain.output) <= 10 * rounding);
  CHECK(counter.cost().multiply_adds == static_cast<std::int64_t>(2 * n * r * (d_k + d_v)));
  CHECK(counter.cost().score_bytes == static_cast<std::int64_t>(n * r * sizeof(double)));
}

TEST_CASE("with all keys unmixed Linformer is full attention, and not with one of them missing",
          "[linformer]") {
  const auto in = random_matrices(4, 3, 2);
  Tensor<2> identity = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  const auto full = masked_attention(in, Mask<2>({4, 4}, true)).output;
  CostCounter counter;
  CHECK(attn::max_abs_difference(lessons::linformer_attention(in.Q, in.K, in.V, identity, identity, counter),
                                 full) <= rounding);
  identity(3, 3) = 0.0;
  CHECK(attn::max_abs_difference(lessons::linformer_attention(in.Q, in.K, in.V, identity, identity, counter),
                                 full) > 0.01);
}
