#include "fast/linear/segment_simd.hpp"

namespace attn::linear_time {

template SegmentKernel<float> segment_kernel<simd::Isa::avx2>();
template SegmentKernel<double> segment_kernel<simd::Isa::avx2>();

}  // namespace attn::linear_time
