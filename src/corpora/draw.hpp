#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

/// Uniform on 0, …, count − 1. Throws attn::Error for a count of 0.
inline std::size_t draw_index(attn::Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count)));
}

/// Uniform on low, …, high, both included. Throws attn::Error where high is less.
inline std::size_t draw_between(attn::Random& random, std::size_t low, std::size_t high) {
  return static_cast<std::size_t>(
      random.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high) + 1));
}

/// True once in `times` draws on average.
inline bool draw_once_in(attn::Random& random, std::size_t times) {
  return draw_index(random, times) == 0;
}

/// One of the items, of which there is at least one.
template <class Item>
const Item& draw_from(attn::Random& random, const std::vector<Item>& items) {
  return items[draw_index(random, items.size())];
}

/// 0, …, count − 1 in a random order.
inline std::vector<std::size_t> draw_order(attn::Random& random, std::size_t count) {
  const auto order = random.permutation(static_cast<std::int64_t>(count));
  return {order.begin(), order.end()};
}

}  // namespace corpora
