#include "attn/efficient/sparse_attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "tests/unit/fast/plain_attention.hpp"

using attn::KeyLists;
using attn::Meter;
using attn::Tensor;
using Catch::Contains;

TEST_CASE("a window has the keys on both sides and fewer at the ends", "[key_lists]") {
  CHECK(attn::window_keys(4, 1, 1) == KeyLists{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}});
  CHECK(attn::window_keys(4, 2, 0) == KeyLists{{0}, {0, 1}, {0, 1, 2}, {1, 2, 3}});
  CHECK(attn::window_keys(2, std::numeric_limits<std::size_t>::max(), 0) == KeyLists{{0}, {0, 1}});
  CHECK(attn::window_keys(3, 0, 0) == KeyLists{{0}, {1}, {2}});
  CHECK(attn::all_keys(2) == KeyLists{{0, 1}, {0, 1}});
}

TEST_CASE("lists of keys and masks say the same", "[key_lists]") {
  const auto window = attn::window_mask(5, 5, 2);
  CHECK(attn::keys_of(window) == attn::window_keys(5, 2, 2));
  CHECK((attn::mask_of(attn::window_keys(5, 2, 2), 5) == window));
  CHECK(attn::pair_count(attn::window_keys(5, 1, 1)) == 13);
  CHECK_THROWS_AS(attn::mask_of({{0, 3}}, 3), std::invalid_argument);
}

TEST_CASE("sparse attention equals full attention under its mask", "[sparse_attention]") {
  const std::size_t n = GENERATE(1, 2, 9), d_k = GENERATE(1, 5), d_v = GENERATE(1, 4);
  const auto in = random_attention(n, d_k, d_v);
  for (const auto& keys : {attn::all_keys(n), attn::window_keys(n, 2, 2), attn::window_keys(n, 3, 0),
                           attn::window_keys(n, 0, 0)}) {
    Meter meter;
    const auto attention = attn::sparse_attention(in.Q, in.K, in.V, keys, meter);
    const auto plain = plain_attention(in, attn::mask_of(keys, n));
    CHECK(attn::max_abs_difference(attention.output, plain.output) <= rounding);
    CHECK(attn::max_abs_difference(attn::scatter(attention, keys, n), plain.weights) <= rounding);
    const auto pairs = static_cast<std::int64_t>(attn::pair_count(keys));
    CHECK(meter.work().multiply_adds == pairs * static_cast<std::int64_t>(d_k + d_v));
    CHECK(meter.work().score_bytes == pairs * static_cast<std::int64_t>(sizeof(double)));
  }
}

TEST_CASE("what is left out is not even looked at", "[sparse_attention]") {
  auto in = random_attention<double>(6, 3, 2);
  const auto keys = attn::window_keys(6, 1, 1);
  for (std::size_t c = 0; c < 3; ++c) in.K(5, c) = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t c = 0; c < 2; ++c) in.V(5, c) = std::numeric_limits<double>::quiet_NaN();
  Meter meter;
  const auto output = attn::sparse_attention(in.Q, in.K, in.V, keys, meter).output;
  for (std::size_t i = 0; i < 6; ++i) CHECK(std::isnan(output(i, 0)) == (i >= 4));
}

TEST_CASE("a window that excludes its end is not the band", "[sparse_attention]") {
  const auto in = random_attention<double>(6, 3, 2);
  Meter meter;
  const auto excluding = attn::sparse_attention(in.Q, in.K, in.V, attn::window_keys(6, 2, 1), meter).output;
  CHECK(attn::max_abs_difference(excluding, plain_attention(in, attn::window_mask(6, 6, 2)).output) > 0.01);
}

TEST_CASE("a query without keys gets zeros", "[sparse_attention]") {
  const auto in = random_attention<double>(2, 3, 2);
  Meter meter;
  const auto output = attn::sparse_attention(in.Q, in.K, in.V, {{}, {1}}, meter).output;
  for (std::size_t c = 0; c < 2; ++c) {
    CHECK(output(0, c) == 0.0);
    CHECK(output(1, c) == in.V(1, c));
  }
}

TEST_CASE("chunks change nothing but what is held", "[chunked_attention]") {
  const std::size_t n = 7, chunk = GENERATE(1, 2, 3, 7, 100);
  const auto in = random_attention(n, 4, 3);
  const auto keys = GENERATE(false, true) ? attn::window_keys(7, 7, 0) : attn::all_keys(7);
  Meter whole, chunked;
  const auto expected = attn::sparse_attention(in.Q, in.K, in.V, keys, whole).output;
  CHECK((attn::chunked_attention(in.Q, in.K, in.V, keys, chunk, chunked) == expected));
  CHECK(chunked.work().multiply_adds == whole.work().multiply_adds);
  std::size_t largest = 0;
  for (std::size_t begin = 0; begin < n; begin += chunk) {
    std::size_t pairs = 0;
    for (std::size_t i = begin; i < std::min(n, begin + chunk); ++i) pairs += keys[i].size();
    largest = std::max(largest, pairs);
  }
  CHECK(chunked.work().score_bytes == static_cast<std::int64_t>(largest * sizeof(double)));
}

TEST_CASE("sparse and chunked attention refuse what does not fit", "[sparse_attention]") {
  const auto in = random_attention<double>(3, 4, 2), other = random_attention<double>(5, 6, 2);
  const auto keys = attn::all_keys(3);
  Meter meter;
  CHECK_THROWS_WITH(attn::sparse_attention(in.Q, other.K, other.V, keys, meter),
                    Contains("3×4") && Contains("5×6"));
  CHECK_THROWS_WITH(attn::sparse_attention(in.Q, in.K, other.V, keys, meter), Contains("5×2"));
  CHECK_THROWS_WITH(attn::sparse_attention(in.Q, in.K, in.V, {{0}}, meter), Contains("1 lists"));
  CHECK_THROWS_WITH(attn::sparse_attention(in.Q, in.K, in.V, {{0}, {1}, {3}}, meter), Contains("key 3"));
  CHECK_THROWS_AS(attn::chunked_attention(in.Q, in.K, in.V, keys, 0, meter), std::invalid_argument);
}
