#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// How far key j stands after query i, clip(j − i, −limit, limit), for n tokens: [query×key] (Shaw et al.
/// 2018, section 3.2).
Integers<2> clipped_distances(std::size_t n, std::size_t limit);

/// Picks for each query and key the entry of their distance: [batch×query×bucket], a bucket for each distance
/// from −limit to limit, and distances [query×key] → [batch×query×key]. Throws std::invalid_argument, with
/// both shapes, for an even number of buckets and for a distance or a query that has none.
Tensor<3> at_distances(const Tensor<3>& by_distance, const Integers<2>& distances);

}  // namespace attn
