#include "fast/exact/simd_forward.hpp"

namespace attn::exact {

template BlockKernel<float> block_kernel<simd::Isa::avx512>();
template BlockKernel<double> block_kernel<simd::Isa::avx512>();

}  // namespace attn::exact
