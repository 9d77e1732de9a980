#include "attn/ops/positional_relative.hpp"

#include <algorithm>
#include <cmath>

#include "attn/ops/matmul.hpp"
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

RelativeScores relative_scores(const Tensor<3>& Q, const Tensor<3>& K, const Tensor<2>& keys) {
  if (Q.shape() != K.shape())
    throw shape_mismatch("relative_scores", "Q", Q, "K", K, "the shapes must be equal");
  if (keys.shape(0) % 2 == 0)
    throw shape_mismatch("relative_scores", "Q", Q, "keys", keys, "the number of rows of keys must be odd");
  const std::size_t n = Q.shape(1), limit = keys.shape(0) / 2;
  RelativeScores relative;
  relative.distances = clipped_distances(n, limit);
  relative.by_distance = linear(Q, transpose(keys));
  relative.scores = matmul(Q, transpose(K));

  const double divisor = std::sqrt(static_cast<double>(Q.shape(2)));
  for (std::size_t b = 0; b < Q.shape(0); ++b)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        const auto row =
            static_cast<std::size_t>(relative.distances(i, j) + static_cast<std::int64_t>(limit));
        auto& score = relative.scores(b, i, j);
        score = static_cast<double>(
            (static_cast<double>(score) + static_cast<double>(relative.by_distance(b, i, row))) / divisor);
      }
  return relative;
}


}  // namespace attn
