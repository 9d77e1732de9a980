#include "attn/ops/positional_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace attn {

std::int64_t t5_bucket(std::int64_t distance) {
  constexpr std::int64_t per_direction = t5_bucket_count / 2, exact = per_direction / 2, farthest = 128;
  const std::int64_t first = distance > 0 ? per_direction : 0, length = std::abs(distance);
  if (length < exact) return first + length;
  // log2 is exact for powers of two, where a bucket begins.
  const double growth = std::log2(static_cast<double>(length) / exact) /
                        std::log2(static_cast<double>(farthest) / exact) * (per_direction - exact);
  return first + std::min(exact + static_cast<std::int64_t>(growth), per_direction - 1);
}

}  // namespace attn
