#include "fast/linear/segment_simd.hpp"

namespace attn::linear_time {

template SegmentKernel<float> segment_kernel<simd::Isa::generic>();
template SegmentKernel<double> segment_kernel<simd::Isa::generic>();

}  // namespace attn::linear_time
