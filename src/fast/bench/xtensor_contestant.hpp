#pragma once

#include "fast/bench/contestant.hpp"

namespace attn::bench {

/// Attention as the lessons compute and show it: `scaled_dot_product_attention`, with every step kept.
/// Instantiated for float and double.
template <class T>
Contestant<T> xtensor_contestant();

}  // namespace attn::bench
