#pragma once

#include <string>

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Which of n keys each of n queries attends to: masks [query×key], true = computed.

/// The keys fewer than `stride` positions away, and every key a multiple of `stride` away (Child et al. 2019,
/// section 4.2, "strided", on both sides). All throw std::invalid_argument for a stride or block of 0.
Mask<2> strided_pattern(std::size_t n, std::size_t stride);

/// The keys of the query's own block, and the last key of every block, which sums its block up for the others
/// (Child et al. 2019, section 4.2, "fixed", on both sides).
Mask<2> fixed_pattern(std::size_t n, std::size_t block);

/// The query's own key, and for each query the first `count` of a permutation(n), as NumPy draws it.
Mask<2> random_pattern(Random& random, std::size_t n, std::size_t count);

/// A file of n lines with n digits 0 or 1 each, with or without spaces between them; line i is what query i
/// attends to. Empty lines are skipped. Throws Error, with the line, for a file that is anything else.
Mask<2> load_pattern(const std::string& path, std::size_t n);

}  // namespace attn
