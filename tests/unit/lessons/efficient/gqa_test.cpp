#include <catch2/catch.hpp>

#include "attn/ops/slice.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using attn::CostCounter;
using attn::Tensor;

TEST_CASE("a shared head read in place equals the head repeated", "[grouped_attention]") {
  const std::size_t kv_heads = GENERATE(1, 2, 3, 6), batch = GENERATE(1, 2);
  const bool causal = GENERATE(false, true);
  const auto Q = random_tensor<4>({batch, 6, 5, 3}, 1);
  const auto K = random_tensor<4>({batch, kv_heads, 5, 3}, 2);
  const auto V = random_tensor<4>({batch, kv_heads, 5, 2}, 3);
  const auto keys = causal ? attn::window_keys(5, 5, 0) : attn::all_keys(5, 5);
  CostCounter counter;
  const auto output = lessons::grouped_attention(Q, K, V, keys, counter);
  const auto plain = masked_attention<4>(Q, attn::repeat_heads(K, 6), attn::repeat_heads(V, 6),
                                         attn::repeat_mask(mask_of(keys, 5), batch));
  CHECK(attn::max_abs_difference(output, attn::merge_heads(plain.output)) <= rounding);
  const auto pairs = static_cast<std::int64_t>(batch * 6 * attn::pair_count(keys));
  CHECK(counter.cost().multiply_adds == pairs * 5);
  CHECK(counter.cost().score_bytes == pairs * static_cast<std::int64_t>(sizeof(double)));
}

TEST_CASE("heads tiled over the groups are another attention", "[grouped_attention]") {
  const auto Q = random_tensor<4>({1, 4, 3, 2}, 1), K = random_tensor<4>({1, 2, 3, 2}, 2);
  Tensor<4> tiled({1, 4, 3, 2});
  for (std::size_t i = 0; i < tiled.size(); ++i) tiled.data()[i] = K.data()[i % K.size()];
  CostCounter counter;
  const auto output = lessons::grouped_attention(Q, K, K, attn::all_keys(3, 3), counter);
  CHECK(attn::max_abs_difference(output, attn::merge_heads(masked_attention<4>(Q, tiled, tiled).output)) >
        0.01);
}
