#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// For each query the keys that it attends to, in rising order: a sparse mask as lists of rows, without the
/// pairs that are hidden.
using KeyLists = std::vector<std::vector<std::size_t>>;

/// Each of n_q queries attends to each of n_k keys.
KeyLists all_keys(std::size_t n_q, std::size_t n_k);

/// Query i of n attends to the keys i − before, …, i + after, as far as there are any.
KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after);

/// The keys where a mask [query×key] is true.
KeyLists keys_of(const Mask<2>& mask);

/// The mask [query×key] that is true at these keys. Throws std::invalid_argument where a key is n_k or more.
Mask<2> mask_of(const KeyLists& keys, std::size_t n_k);

/// How many pairs of a query and a key there are.
std::size_t pair_count(const KeyLists& keys);

/// Throws std::invalid_argument, with the name of the op, unless there is a list for each of n_q queries and
/// all keys are less than n_k.
void require_listed(const std::string& op, const KeyLists& keys, std::size_t n_q, std::size_t n_k);

/// Patterns of Sparse Transformers and Big Bird: which of n keys each of n queries attends to, as masks
/// [query×key], true = computed.

/// The keys fewer than `stride` positions away, and every key a multiple of `stride` away (Child et al. 2019,
/// section 4.2, "strided", on both sides). All throw std::invalid_argument for a stride or block of 0.
Mask<2> strided_pattern(std::size_t n, std::size_t stride);

/// The query's own key, and for each query the first `count` of a permutation(n), as NumPy draws it.
Mask<2> random_pattern(Random& random, std::size_t n, std::size_t count);

/// A file of n lines with n digits 0 or 1 each, with or without spaces between them; line i is what query i
/// attends to. Empty lines are skipped. Throws Error, with the line, for a file that is anything else.
Mask<2> load_pattern(const std::string& path, std::size_t n);

}  // namespace attn
