#include "fast/exact/kernels.hpp"

#include <algorithm>

namespace attn::exact {

namespace {

bool always(const Sizes&) {
  return true;
}

/// Up to 2^29 scores of a head, which are 4 GiB in float64.
bool scores_fit_in_memory(const Sizes& sizes) {
  return sizes.n_k == 0 || sizes.n_q <= (std::size_t{1} << 29) / sizes.n_k;
}

bool rows_fit_in_cache(const Sizes& sizes) {
  return std::max(sizes.d_k, sizes.d_v) <= 256;
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {
      {"plain", always, "", plain_forward, plain_forward, plain_backward, plain_backward},
      {"blas", scores_fit_in_memory, "up to 2^29 scores of a head", blas_forward, blas_forward, blas_backward,
       blas_backward},
      {"tiled", always, "", tiled_forward, tiled_forward, tiled_backward, tiled_backward},
      {"simd", rows_fit_in_cache, "d_k and d_v up to 256", simd_forward, simd_forward, simd_backward,
       simd_backward},
  };
  return table;
}

const Kernel& fastest(const Sizes& sizes) {
  return *std::find_if(kernels().rbegin(), kernels().rend(),
                       [&](const Kernel& kernel) { return kernel.fits(sizes); });
}

}  // namespace attn::exact
