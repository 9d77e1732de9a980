#include "attn/ops/dropout.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "attn/ops/shape_mismatch.hpp"

namespace attn {

namespace {

void require_probability(const char* op, double p) {
  if (!(p >= 0.0 && p < 1.0))
    throw std::invalid_argument(fmt::format("[{}] p is {}: it must be at least 0 and less than 1", op, p));
}

}  // namespace

template <std::size_t N>
Integers<N> dropout_mask(Random& random, double p,
                         const std::array<std::size_t, N>& shape) requires Rank<N, 1, 4> {
  require_probability("dropout_mask", p);
  Integers<N> mask(shape);
  for (auto& kept : mask) kept = random.binomial(1, 1.0 - p);
  return mask;
}

template <std::size_t N>
Tensor<N> dropout(const Tensor<N>& weights, const Integers<N>& mask, double p) requires Rank<N, 1, 4> {
  require_probability("dropout", p);
  if (weights.shape() != mask.shape())
    throw shape_mismatch("dropout", "weights", weights, "mask", mask, "the shapes must be equal");
  Tensor<N> dropped(weights.shape());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double kept = weights.data()[i] * static_cast<double>(mask.data()[i]);
    dropped.data()[i] = kept / (1.0 - p);
  }
  return dropped;
}

template <std::size_t N>
WorkedOut worked_dropout(Known<N> weights, std::string mask_id, const Integers<N>& mask,
                         double p) requires Rank<N, 1, 4> {
  return [=, &mask](const Index& at) {
    return Worked::product({weights(at), whole_entry(mask_id, mask, at)}) / (Worked(1.0) - Worked(p));
  };
}

#define INSTANTIATE(N)                                                                   \
  template Integers<N> dropout_mask(Random&, double, const std::array<std::size_t, N>&); \
  template Tensor<N> dropout(const Tensor<N>&, const Integers<N>&, double);              \
  template WorkedOut worked_dropout(Known<N>, std::string, const Integers<N>&, double);
INSTANTIATE(1)
INSTANTIATE(2)
INSTANTIATE(3)
INSTANTIATE(4)
#undef INSTANTIATE

}  // namespace attn
