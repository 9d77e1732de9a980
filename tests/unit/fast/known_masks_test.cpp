#include "fast/known_masks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "attn/ops/mask.hpp"
#include "attn/ops/sparse_pattern.hpp"
#include "fast/visibility.hpp"

using attn::Array;
using attn::coarsest_pattern;
using attn::visibility_of;
using attn::exact::Sizes;
using attn::exact::Visibility;
using attn::fast::BlockPattern;

namespace {

Sizes sizes_of(const Array<bool, 3>& mask) {
  return {.samples = mask.shape(0), .n_q = mask.shape(1), .n_k = mask.shape(2)};
}

/// What the kernels make of it.
Array<bool, 3> mask_of(const Visibility& visible, const Sizes& sizes) {
  Array<bool, 3> mask({sizes.samples, sizes.n_q, sizes.n_k}, false);
  for (std::size_t b = 0; b < sizes.samples; ++b)
    for (std::size_t i = 0; i < sizes.n_q; ++i) {
      const auto keys = attn::fast::visible_keys(sizes, visible, b, i);
      for (std::size_t j = keys.begin; j < keys.end; ++j) mask(b, i, j) = true;
    }
  return mask;
}

bool is_known(const Array<bool, 3>& mask) {
  const auto visible = visibility_of(mask);
  return visible && mask_of(*visible, sizes_of(mask)) == mask;
}

/// Every mask of one sample that some visibility makes.
std::vector<Array<bool, 3>> all_known(std::size_t n_q, std::size_t n_k) {
  std::vector<Array<bool, 3>> masks;
  const Sizes sizes = {.n_q = n_q, .n_k = n_k};
  for (const bool causal : {false, true})
    for (std::size_t window = 0; window <= n_q + n_k; ++window)
      for (std::size_t length = 0; length <= n_k; ++length)
        masks.push_back(mask_of({.causal = causal, .window = window, .key_lengths = {length}}, sizes));
  return masks;
}

/// The mask [1×n_q×n_k] whose elements are the bits of a number.
Array<bool, 3> mask_of_bits(unsigned bits, std::size_t n_q, std::size_t n_k) {
  Array<bool, 3> mask({1, n_q, n_k});
  for (bool& element : mask) {
    element = bits % 2 == 1;
    bits /= 2;
  }
  return mask;
}

Array<bool, 2> pairs_of(const BlockPattern& pattern, std::size_t n_q, std::size_t n_k, bool causal) {
  Array<bool, 2> mask({n_q, n_k}, false);
  for (std::size_t i = 0; i < n_q; ++i)
    for (std::size_t j = 0; j < n_k; ++j) {
      const auto& kept = pattern.key_blocks[i / pattern.block];
      mask(i, j) = std::find(kept.begin(), kept.end(), j / pattern.block) != kept.end();
    }
  return causal ? attn::both(mask, attn::causal_mask(n_q, n_k)) : mask;
}

}  // namespace

TEST_CASE("a mask of each kind, and of all together, is what its visibility makes", "[known_masks]") {
  const std::size_t n_q = GENERATE(1, 4, 7), n_k = GENERATE(1, 5, 7);
  const bool causal = GENERATE(false, true);
  const int window = GENERATE(-1, 0, 1, 3);
  const bool padded = GENERATE(false, true);
  CAPTURE(n_q, n_k, causal, window, padded);
  Array<bool, 3> mask({2, n_q, n_k}, true);
  if (causal) mask = attn::both(mask, attn::repeat_mask(attn::causal_mask(n_q, n_k), 2));
  if (window >= 0)
    mask =
        attn::both(mask, attn::repeat_mask(attn::window_mask(n_q, n_k, static_cast<std::size_t>(window)), 2));
  if (padded) mask = attn::both(mask, attn::padding_mask({n_k, (n_k + 1) / 2}, n_q, n_k));
  CHECK(is_known(mask));
}

TEST_CASE("of all small masks those are known that some visibility makes, and no others", "[known_masks]") {
  const auto [n_q, n_k] =
      GENERATE(std::pair<std::size_t, std::size_t>{3, 3}, std::pair<std::size_t, std::size_t>{2, 4},
               std::pair<std::size_t, std::size_t>{4, 2}, std::pair<std::size_t, std::size_t>{1, 5});
  const auto known = all_known(n_q, n_k);
  std::size_t found = 0;
  for (unsigned bits = 0; bits < 1U << (n_q * n_k); ++bits) {
    const auto mask = mask_of_bits(bits, n_q, n_k);
    const bool expected = std::find(known.begin(), known.end(), mask) != known.end();
    CAPTURE(n_q, n_k, bits);
    if (visibility_of(mask).has_value() != expected || (expected && !is_known(mask))) FAIL_CHECK();
    found += expected ? 1 : 0;
  }
  CHECK(found > 3);
}

TEST_CASE("each sample has lengths of its own, but no causality and no window", "[known_masks]") {
  CHECK(is_known(attn::padding_mask({3, 0, 1}, 2, 3)));
  auto mask = attn::repeat_mask(attn::causal_mask(3, 3), 2);
  mask(1, 0, 1) = true;
  CHECK_FALSE(visibility_of(mask));
  mask = attn::repeat_mask(attn::window_mask(4, 4, 1), 2);
  mask(1, 0, 2) = mask(1, 2, 0) = mask(1, 1, 3) = mask(1, 3, 1) = true;
  CHECK_FALSE(visibility_of(mask));
}

TEST_CASE("masks that are almost known are not known", "[known_masks]") {
  Array<bool, 3> hole({1, 5, 5}, true);
  hole(0, 2, 2) = false;
  CHECK_FALSE(visibility_of(hole));
  Array<bool, 3> padding_in_front({1, 5, 5}, true);
  for (std::size_t i = 0; i < 5; ++i) padding_in_front(0, i, 0) = false;
  CHECK_FALSE(visibility_of(padding_in_front));
  auto glimpse = attn::repeat_mask(attn::causal_mask(5, 5), 1);
  glimpse(0, 1, 2) = true;
  CHECK_FALSE(visibility_of(glimpse));
  auto blink = attn::repeat_mask(attn::causal_mask(5, 5), 1);
  blink(0, 3, 3) = false;
  CHECK_FALSE(visibility_of(blink));
}

TEST_CASE("the coarsest pattern keeps just the pairs of any mask", "[known_masks]") {
  const bool causal = GENERATE(false, true);
  const auto [n_q, n_k] =
      GENERATE(std::pair<std::size_t, std::size_t>{3, 4}, std::pair<std::size_t, std::size_t>{4, 3});
  const auto hidden = attn::causal_mask(n_q, n_k);
  for (unsigned bits = 0; bits < 1U << (n_q * n_k); ++bits) {
    Array<bool, 2> mask({n_q, n_k});
    const auto whole = mask_of_bits(bits, n_q, n_k);
    std::copy(whole.begin(), whole.end(), mask.begin());
    const auto expected = causal ? attn::both(mask, hidden) : mask;
    CAPTURE(n_q, n_k, causal, bits);
    if (pairs_of(coarsest_pattern(mask, causal), n_q, n_k, causal) != expected) FAIL_CHECK();
  }
}

TEST_CASE("blocks are as large as they can be", "[known_masks]") {
  const auto block_of = [](const Array<bool, 2>& mask, bool causal = false) {
    return coarsest_pattern(mask, causal).block;
  };
  CHECK(block_of(Array<bool, 2>({5, 5}, true)) == 5);
  CHECK(block_of(Array<bool, 2>({5, 7}, false)) == 7);
  CHECK(block_of(attn::causal_mask(6, 6)) == 1);
  CHECK(block_of(attn::causal_mask(6, 6), true) == 6);
  CHECK(block_of(attn::fixed_pattern(6, 2)) == 1);
  Array<bool, 2> diagonal({8, 8});
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) diagonal(i, j) = i / 3 == j / 3;
  CHECK(block_of(diagonal) == 3);
  CHECK(block_of(attn::both(diagonal, attn::causal_mask(8, 8)), true) == 3);
  CHECK(coarsest_pattern(diagonal, false).key_blocks == std::vector<std::vector<std::size_t>>{{0}, {1}, {2}});
}
