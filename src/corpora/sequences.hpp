#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/random/random.hpp"

/// Sequences of symbols 0, 1, … for tasks of attention alone.
namespace corpora {

/// Names for the symbols 0, …, count − 1 of a task: a, b, …, z, a1, b1, …, z1, a2, ….
std::vector<std::string> symbol_labels(std::size_t count);

/// A sequence to be said backwards: `length` symbols, each uniform on 0, …, symbol_count − 1. Throws
/// attn::Error for a length or a symbol count of 0.
std::vector<std::size_t> draw_reverse(attn::Random& random, std::size_t length,
                                      std::size_t symbol_count = 26);

/// A sequence of random tokens in which some pairs come twice, so that after A … A B … A the next one is B.
///
/// The tokens of the first half are all different. In the second half some of its pairs of neighbours come
/// again, in a random order and between tokens that are new. Nothing but the first occurrence of a pair tells
/// its second token: which token follows which, and how far away, is drawn anew for each sequence; and a
/// third of the first half does not come again, so that the last pair is not simply what is left.
struct InductionSequence {
  std::vector<std::size_t> tokens;  ///< from 0; symbol_labels names them

  /// For each position, where to find its next token if that is determined: just after the only earlier
  /// occurrence of the token here. None where this is not the first token of a pair that comes again.
  std::vector<std::optional<std::size_t>> right_keys;
};

/// One pair comes again for every six tokens of the length. Throws attn::Error for a length below 6 and for
/// fewer tokens than come in such a sequence, about two thirds of it.
InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count = 26);

}  // namespace corpora
