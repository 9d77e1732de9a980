#include "attn/ops/pooling.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace attn {

Tensor<2> mean_pool(const Tensor<3>& x, const std::vector<std::size_t>& lengths) {
  const std::size_t batch = x.shape(0), n = x.shape(1), d = x.shape(2);
  if (lengths.size() != batch)
    throw std::invalid_argument(
        fmt::format("[mean_pool] there are {} lengths for a batch of {}", lengths.size(), batch));
  auto pooled = Tensor<2>::from_shape({batch, d});
  for (std::size_t b = 0; b < batch; ++b) {
    if (lengths[b] == 0 || lengths[b] > n)
      throw std::invalid_argument(
          fmt::format("[mean_pool] a length of {} is not from 1 to {}", lengths[b], n));
    for (std::size_t c = 0; c < d; ++c) {
      double sum = 0.0;
      for (std::size_t i = 0; i < lengths[b]; ++i) sum += x(b, i, c);
      pooled(b, c) = sum / static_cast<double>(lengths[b]);
    }
  }
  return pooled;
}

}  // namespace attn
