#include "fast/sparse/kernels.hpp"

#include <algorithm>

#include "fast/sparse/plain.hpp"
#include "fast/sparse/simd.hpp"

namespace attn::block_sparse {

namespace {

bool always(const exact::Sizes&) {
  return true;
}

bool rows_fit_in_cache(const exact::Sizes& sizes) {
  return std::max(sizes.d_k, sizes.d_v) <= 256;
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {
      {1, "plain", "the formula as loops, one query after the other", always, "", plain_forward,
       plain_forward},
      {2, "simd", "the SIMD tiles of exact attention, which visit the listed blocks only", rows_fit_in_cache,
       "d_k and d_v up to 256", simd_forward, simd_forward},
  };
  return table;
}

}  // namespace attn::block_sparse
