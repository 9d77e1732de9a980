#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

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
/// fewer tokens than fewest_induction_tokens(length).
InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count = 26);

/// The smallest token count for sequences of that length: about two thirds of it.
std::size_t fewest_induction_tokens(std::size_t length);

}  // namespace corpora
