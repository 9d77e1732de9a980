#include "fast/linear/segment_simd.hpp"

namespace attn::linear_time {

template SegmentKernel<float> segment_kernel<simd::Isa::avx512>();
template SegmentKernel<double> segment_kernel<simd::Isa::avx512>();

}  // namespace attn::linear_time
