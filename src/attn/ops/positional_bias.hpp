#pragma once

#include <cstddef>
#include <cstdint>

namespace attn {

/// T5's bucket for the distance from query to key, j − i (Raffel et al. 2020, section 2.1, and their code):
/// both directions have 16 buckets each, of which the first 8 hold one distance each and the others grow
/// logarithmically; from 128 on everything is in the last one. Keys before the query, and the query itself,
/// are in 0 to 15, keys after it in 17 to 31.
std::int64_t t5_bucket(std::int64_t distance);

/// The number of those buckets, bucket 16, which nothing falls into, included.
inline constexpr std::size_t t5_bucket_count = 32;

}  // namespace attn
