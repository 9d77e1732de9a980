#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

/// A sequence of symbols to be said backwards.
struct ReverseExample {
  std::vector<std::size_t> source;  ///< symbols from 0; symbol_labels names them
  std::vector<std::size_t> target;
  std::vector<std::size_t> right_keys;  ///< for each position of the target, the one of the source to look at
};

/// The example with that source.
ReverseExample reverse_example(std::vector<std::size_t> source);

/// A source of `length` symbols, each uniform on 0, …, symbol_count − 1. Throws attn::Error for a length or a
/// symbol count of 0.
ReverseExample draw_reverse_of_length(attn::Random& random, std::size_t length,
                                      std::size_t symbol_count = 26);

/// A source whose length is uniform on 1, …, longest. Throws attn::Error as draw_reverse_of_length does.
ReverseExample draw_reverse(attn::Random& random, std::size_t longest, std::size_t symbol_count = 26);

/// Names for the symbols 0, …, count − 1 of a task: a, b, …, z, a1, b1, …, z1, a2, ….
std::vector<std::string> symbol_labels(std::size_t count);

}  // namespace corpora
