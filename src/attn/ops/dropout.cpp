#include "attn/ops/dropout.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace attn {

template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4> {
  if (!(p >= 0.0 && p < 1.0))
    throw std::invalid_argument(
        fmt::format("[dropout_mask] p is {}: it must be at least 0 and less than 1", p));
  Integers<N> mask(shape);
  for (auto& kept : mask) kept = random.binomial(1, 1.0 - p);
  return mask;
}

#define INSTANTIATE(N) template Integers<N> dropout_mask(Random&, double, const std::array<std::size_t, N>&);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn
