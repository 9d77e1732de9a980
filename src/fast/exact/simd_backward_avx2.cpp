#include "fast/exact/simd_backward.hpp"

namespace attn::exact {

template GradientKernel<float> gradient_kernel<simd::Isa::avx2>();
template GradientKernel<double> gradient_kernel<simd::Isa::avx2>();

}  // namespace attn::exact
