#include "fast/exact/simd_forward.hpp"

namespace attn::exact {

template BlockKernel<float> block_kernel<simd::Isa::generic>();
template BlockKernel<double> block_kernel<simd::Isa::generic>();

}  // namespace attn::exact
