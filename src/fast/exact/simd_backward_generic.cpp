#include "fast/exact/simd_backward.hpp"

namespace attn::exact {

template GradientKernel<float> gradient_kernel<simd::Isa::generic>();
template GradientKernel<double> gradient_kernel<simd::Isa::generic>();

}  // namespace attn::exact
