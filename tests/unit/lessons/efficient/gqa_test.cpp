#include <catch2/catch.hpp>
#include <stdexcept>

#include "attn/ops/slice.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using Catch::Contains;

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
                                         attn::repeat_mask(attn::mask_of(keys, 5), batch));
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

TEST_CASE("the mean of a group is the mean of its heads", "[grouped_attention]") {
  const Tensor<4> heads = {{{{1, 2}}, {{3, 6}}, {{10, 20}}, {{30, 60}}}};
  CHECK((lessons::group_means(heads, 2) == Tensor<4>{{{{2, 4}}, {{20, 40}}}}));
  CHECK((lessons::group_means(heads, 1) == Tensor<4>{{{{11, 22}}}}));
  CHECK((lessons::group_means(heads, 4) == heads));
  CHECK_THROWS_AS(lessons::group_means(heads, 3), std::invalid_argument);
  CHECK_THROWS_AS(lessons::group_means(heads, 0), std::invalid_argument);
}

TEST_CASE("grouped attention refuses what does not fit", "[grouped_attention]") {
  const auto Q = random_tensor<4>({1, 4, 3, 2}, 1), three = random_tensor<4>({1, 3, 3, 2}, 2);
  const auto two = random_tensor<4>({1, 2, 3, 2}, 2), batch = random_tensor<4>({2, 2, 3, 2}, 2);
  CostCounter counter;
  const auto keys = attn::all_keys(3, 3);
  CHECK_THROWS_WITH(lessons::grouped_attention(Q, three, three, keys, counter),
                    Contains("Q is 1×4×3×2 but K is 1×3×3×2: the key and value heads must divide the heads"));
  CHECK_THROWS_WITH(lessons::grouped_attention(Q, two, Q, keys, counter),
                    Contains("K is 1×2×3×2 but V is 1×4×3×2: the batch axes must match"));
  CHECK_THROWS_WITH(lessons::grouped_attention(Q, batch, batch, keys, counter),
                    Contains("Q is 1×4×3×2 but K is 2×2×3×2: the batch axes must match"));
  CHECK_THROWS_AS(lessons::grouped_attention(Q, two, two, attn::all_keys(2, 2), counter),
                  std::invalid_argument);
}
