#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/random/random.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Masks: true where a query may see a key. With n_q queries and n_k keys, query i sits at position
/// i + n_k − n_q, so that the last query sees the last key.

/// [query×key], true where the key's position is not after the query's.
Mask<2> causal_mask(std::size_t n_q, std::size_t n_k);

/// [query×key], true where the key is at most `window` positions away, on either side.
Mask<2> window_mask(std::size_t n_q, std::size_t n_k, std::size_t window);

/// [batch×query×key], true where the key is among the first `lengths[b]` of its sample: keys that are padding
/// are hidden, queries that are padding are not.
Mask<3> padding_mask(const std::vector<std::size_t>& lengths, std::size_t n_q, std::size_t n_k);

/// [batch×query×key]: the same mask for each sample.
Mask<3> repeat_mask(const Mask<2>& mask, std::size_t batch);

/// Whether some query may see no key at all.
bool has_empty_row(const Mask<3>& mask);

/// True where both are. Throws std::invalid_argument where the shapes differ.
Mask<3> both(const Mask<3>& a, const Mask<3>& b);

/// 1 where a weight is kept, 0 where it is dropped: binomial(1, 1 − p) for each element in C order, as
/// `np.random.binomial(1, 1 - p, shape)` draws it. Ranks 1, 3 and 4.
/// Throws std::invalid_argument unless 0 <= p < 1.
template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4>;

/// For each query the keys that it attends to, in rising order: a sparse mask as lists of rows, without the
/// pairs that are hidden.
using KeyLists = std::vector<std::vector<std::size_t>>;

/// Each of n_q queries attends to each of n_k keys.
KeyLists all_keys(std::size_t n_q, std::size_t n_k);

/// Query i of n attends to the keys i − before, …, i + after, as far as there are any.
KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after);

/// The keys where a mask [query×key] is true.
KeyLists keys_of(const Mask<2>& mask);

/// How many pairs of a query and a key there are.
std::size_t pair_count(const KeyLists& keys);

/// Patterns of Sparse Transformers and Big Bird: which of n keys each of n queries attends to, as masks
/// [query×key], true = computed.

/// The keys fewer than `stride` positions away, and every key a multiple of `stride` away (Child et al. 2019,
/// section 4.2, "strided", on both sides). The stride is at least 1.
Mask<2> strided_pattern(std::size_t n, std::size_t stride);

/// The query's own key, and for each query the first `count` of a permutation(n), as NumPy draws it.
Mask<2> random_pattern(Random& random, std::size_t n, std::size_t count);

/// A file of n lines with n digits 0 or 1 each, with or without spaces between them; line i is what query i
/// attends to. Empty lines are skipped. Throws Error, with the line, for a file that is anything else.
Mask<2> load_pattern(const std::string& path, std::size_t n);

}  // namespace attn
