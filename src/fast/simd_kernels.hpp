// Compiled once for each instruction set, which ATTN_ISA names: see add_simd_sources.
#include "fast/bench/register_loop.hpp"
#include "fast/exact/simd_backward.hpp"
#include "fast/exact/simd_forward.hpp"
#include "fast/linear/chunk.hpp"

namespace attn {

template exact::ForwardKernel<float> exact::forward_kernel<simd::Isa::ATTN_ISA>();
template exact::ForwardKernel<double> exact::forward_kernel<simd::Isa::ATTN_ISA>();
template exact::BackwardKernel<float> exact::backward_kernel<simd::Isa::ATTN_ISA>();
template exact::BackwardKernel<double> exact::backward_kernel<simd::Isa::ATTN_ISA>();
template linear_time::SegmentKernel<float> linear_time::segment_kernel<simd::Isa::ATTN_ISA>();
template linear_time::SegmentKernel<double> linear_time::segment_kernel<simd::Isa::ATTN_ISA>();
template bench::RegisterKernel<float> bench::register_kernel<simd::Isa::ATTN_ISA>();
template bench::RegisterKernel<double> bench::register_kernel<simd::Isa::ATTN_ISA>();

}  // namespace attn
