#include "attn/kernels/linear/segment_simd.hpp"

namespace attn::linear_time {

template SegmentKernel<float> segment_kernel<exact::Isa::generic>();
template SegmentKernel<double> segment_kernel<exact::Isa::generic>();

}  // namespace attn::linear_time
