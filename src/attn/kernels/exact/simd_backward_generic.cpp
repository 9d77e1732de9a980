#include "attn/kernels/exact/simd_backward.hpp"

namespace attn::exact {

template GradientKernel<float> gradient_kernel<Isa::generic>();
template GradientKernel<double> gradient_kernel<Isa::generic>();

}  // namespace attn::exact
