#include "fast/linear/kernels.hpp"

#include "fast/linear/plain.hpp"
#include "fast/linear/simd.hpp"

namespace attn::linear_time {

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {
      {1, "plain", "the formula as loops, one token after the other", plain_forward, plain_forward},
      {2, "simd",
       "chunks of tokens as products of small matrices, which stay in SIMD registers and the nearest caches",
       simd_forward, simd_forward},
  };
  return table;
}

double operations(const Sizes& sizes) {
  const auto heads = static_cast<double>(sizes.samples * sizes.heads);
  const auto tokens = static_cast<double>(sizes.n_q + sizes.n_k);
  return heads * tokens * 2.0 * static_cast<double>(sizes.d_k * sizes.d_v);
}

}  // namespace attn::linear_time
