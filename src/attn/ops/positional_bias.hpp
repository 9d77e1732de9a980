#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// Positions as a bias on the scores, one for each head, that depends on the distance alone.

/// T5's bucket for the distance from query to key, j − i (Raffel et al. 2020, section 2.1, and their code):
/// both directions have 16 buckets each, of which the first 8 hold one distance each and the others grow
/// logarithmically; from 128 on everything is in the last one. Keys before the query, and the query itself,
/// are in 0 to 15, keys after it in 17 to 31.
std::int64_t t5_bucket(std::int64_t distance);

/// The number of those buckets, bucket 16, which nothing falls into, included.
inline constexpr std::size_t t5_bucket_count = 32;

/// The buckets of each pair of n tokens: [query×key].
Integers<2> t5_buckets(std::size_t n);

/// The bias of each pair, read from a learned table [bucket×head]: [head×query×key]. Throws
/// std::invalid_argument unless the table has a row for each of T5's buckets.
Tensor<3> t5_bias(const Tensor<2>& table, const Integers<2>& buckets);

/// The slopes 2^(−8h/heads), h = 1, …, heads, of ALiBi (Press et al. 2022, section 3): [head].
Tensor<1> alibi_slopes(std::size_t heads);

/// ALiBi's bias −slopeₕ · |i − j| for n tokens: [head×query×key].
Tensor<3> alibi_bias(const Tensor<1>& slopes, std::size_t n);

/// The same scores [batch×query×key] for every head, plus the bias [head×query×key] of each:
/// [batch×head×query×key]. Throws std::invalid_argument, with both shapes, where they do not match.
Tensor<4> add_bias(const Tensor<3>& scores, const Tensor<3>& bias);

}  // namespace attn
