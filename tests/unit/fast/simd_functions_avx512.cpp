#include "tests/unit/fast/simd_functions_of.hpp"

template SimdFunctions<float> simd_functions<attn::simd::Isa::avx512>();
template SimdFunctions<double> simd_functions<attn::simd::Isa::avx512>();
