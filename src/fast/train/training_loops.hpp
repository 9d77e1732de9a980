// Compiled once for each instruction set, which ATTN_ISA names: see add_simd_sources.
#include "fast/train/simd_loops.hpp"

namespace attn::train {

template const Loops<float>* loops_for<simd::Isa::ATTN_ISA>();
template const Loops<double>* loops_for<simd::Isa::ATTN_ISA>();

}  // namespace attn::train
