#pragma once

#include "attn/random/pcg64.hpp"

namespace attn {

/// One number normal(0, 1) by the ziggurat of Marsaglia & Tsang 2000: the area under the density is covered
/// with 256 layers of equal area, a layer and a point in it are drawn, and nearly always the point lies below
/// the density. The layers are those of NumPy, bit for bit.
double ziggurat_normal(Pcg64& bits);

}  // namespace attn
