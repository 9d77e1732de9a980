#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// One sample of a batch, as a copy: [batch×n×d] → [n×d]. Throws std::invalid_argument where there is no such
/// sample.
template <class T>
Tensor<T, 2> sample(const Tensor<T, 3>& x, std::size_t index);

}  // namespace attn
