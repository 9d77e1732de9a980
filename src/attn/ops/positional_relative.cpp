#include "attn/ops/positional_relative.hpp"

#include <algorithm>
#include <cstdlib>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

Integers<2> clipped_distances(std::size_t n, std::size_t limit) {
  const auto most = static_cast<std::int64_t>(limit);
  Integers<2> distances({n, n});
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      distances(i, j) = std::clamp(static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i), -most, most);
  return distances;
}

Tensor<3> at_distances(const Tensor<3>& by_distance, const Integers<2>& distances) {
  const auto limit = static_cast<std::int64_t>(by_distance.shape(2) / 2);
  const bool fits = by_distance.shape(2) % 2 == 1 && by_distance.shape(1) == distances.shape(0) &&
                    std::all_of(distances.begin(), distances.end(),
                                [limit](std::int64_t distance) { return std::abs(distance) <= limit; });
  if (!fits)
    throw shape_mismatch("at_distances", "by_distance", by_distance, "distances", distances,
                         "each query needs an odd number of buckets, one for each distance");
  Tensor<3> picked({by_distance.shape(0), distances.shape(0), distances.shape(1)});
  for (std::size_t b = 0; b < picked.shape(0); ++b)
    for (std::size_t i = 0; i < picked.shape(1); ++i)
      for (std::size_t j = 0; j < picked.shape(2); ++j)
        picked(b, i, j) = by_distance(b, i, static_cast<std::size_t>(distances(i, j) + limit));
  return picked;
}

}  // namespace attn
