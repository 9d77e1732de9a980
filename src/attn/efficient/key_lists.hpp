#pragma once

#include <cstddef>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// For each query the keys that it attends to, in order: all that a sparse kernel knows about a mask.
using KeyLists = std::vector<std::vector<std::size_t>>;

/// n queries and n keys, each query attending to every key.
KeyLists all_keys(std::size_t n);

/// Query i attends to the keys i − before, …, i + after, as far as there are any.
KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after);

/// The keys where a mask [query×key] is true.
KeyLists keys_of(const Mask<2>& mask);

/// The mask [query×key] that is true at these keys. Throws std::invalid_argument where a key is n_k or more.
Mask<2> mask_of(const KeyLists& keys, std::size_t n_k);

/// How many pairs of a query and a key there are.
std::size_t pair_count(const KeyLists& keys);

}  // namespace attn
