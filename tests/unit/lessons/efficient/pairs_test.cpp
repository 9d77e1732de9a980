#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/lessons/efficient/attention.hpp"

using attn::CostCounter;
using attn::KeyLists;
using attn::Mask;
using attn::Tensor;

namespace {

Tensor<2> sparse_attention(const Matrices& in, const KeyLists& keys, CostCounter& counter) {
  return lessons::sparse_attention(in.Q, in.K, in.V, keys, counter);
}

Tensor<2> chunked_attention(const Matrices& in, const KeyLists& keys, std::size_t chunk,
                            CostCounter& counter) {
  return lessons::chunked_attention(in.Q, in.K, in.V, keys, chunk, counter);
}

}  // namespace

TEST_CASE("sparse attention equals full attention under its mask", "[sparse_attention]") {
  const std::size_t n = GENERATE(1, 2, 9), d_k = GENERATE(1, 5), d_v = GENERATE(1, 4);
  const auto in = random_matrices(n, d_k, d_v);
  for (const auto& keys : {attn::all_keys(n, n), attn::window_keys(n, 2, 2), attn::window_keys(n, 3, 0),
                           attn::window_keys(n, 0, 0)}) {
    CostCounter counter;
    const auto output = lessons::sparse_attention(in.Q, in.K, in.V, keys, counter);
    const auto plain = masked_attention(in, mask_of(keys, n));
    CHECK(attn::max_abs_difference(output, plain.output) <= rounding);
    const auto pairs = static_cast<std::int64_t>(attn::pair_count(keys));
    CHECK(counter.cost().multiply_adds == pairs * static_cast<std::int64_t>(d_k + d_v));
    CHECK(counter.cost().score_bytes == pairs * static_cast<std::int64_t>(sizeof(double)));
  }
}

TEST_CASE("what is left out is not even looked at", "[sparse_attention]") {
  auto in = random_matrices(6, 3, 2);
  const auto keys = attn::window_keys(6, 1, 1);
  for (std::size_t c = 0; c < 3; ++c) in.K(5, c) = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t c = 0; c < 2; ++c) in.V(5, c) = std::numeric_limits<double>::quiet_NaN();
  CostCounter counter;
  const auto output = sparse_attention(in, keys, counter);
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::isnan(output(i, 0)) == (i >= 4));
}

TEST_CASE("a window that excludes its end is not the band", "[sparse_attention]") {
  const auto in = random_matrices(6, 3, 2);
  CostCounter counter;
  const auto excluding = sparse_attention(in, attn::window_keys(6, 2, 1), counter);
  CHECK(attn::max_abs_difference(excluding, masked_attention(in, attn::window_mask(6, 6, 2)).output) > 0.01);
}

TEST_CASE("a query without keys gets zeros", "[sparse_attention]") {
  const auto in = random_matrices(2, 3, 2);
  CostCounter counter;
  const auto output = sparse_attention(in, {{}, {1}}, counter);
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(output(0, c) == 0.0);
    CHECK(output(1, c) == in.V(1, c));
  }
}

TEST_CASE("chunks change nothing but what is held", "[chunked_attention]") {
  const std::size_t n = 7, chunk = GENERATE(1, 2, 3, 7, 100);
  const auto in = random_matrices(n, 4, 3);
  const auto keys = GENERATE(false, true) ? attn::window_keys(7, 7, 0) : attn::all_keys(7, 7);
  CostCounter whole, chunked;
  const auto expected = sparse_attention(in, keys, whole);
  CHECK((chunked_attention(in, keys, chunk, chunked) == expected));
  CHECK(chunked.cost().multiply_adds == whole.cost().multiply_adds);
  std::size_t largest = 0;
  for (std::size_t begin = 0; begin < n; begin += chunk) {
    std::size_t pairs = 0;
    for (std::size_t i = begin; i < std::min(n, begin + chunk); ++i) pairs += keys[i].size();
    largest = std::max(largest, pairs);
  }
  CHECK(chunked.cost().score_bytes == static_cast<std::int64_t>(largest * sizeof(double)));
}
