#include "tests/unit/fast/simd_functions_of.hpp"

template SimdFunctions<float> simd_functions<attn::simd::Isa::generic>();
template SimdFunctions<double> simd_functions<attn::simd::Isa::generic>();
