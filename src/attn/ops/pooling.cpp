#include "attn/ops/pooling.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

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

WorkedOut worked_mean_pool(Known<3> x, const std::vector<std::size_t>& lengths) {
  return [=](const Index& at) {
    std::vector<Worked> rows;
    for (std::size_t t = 0; t < lengths[at[0]]; ++t) rows.push_back(x({at[0], t, at[1]}));
    return Worked::sum(std::move(rows)) / Worked(static_cast<double>(lengths[at[0]]));
  };
}

}  // namespace attn
