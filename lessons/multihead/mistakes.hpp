#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

namespace lessons {

/// A split by a reshape without the transpose, [batch×token×head·d] → [batch×head×token×d], and a merge.
Tensor<4> split_by_reshape_alone(const Tensor<3>& x, std::size_t heads);
Tensor<3> merged_by_reshape_alone(const Tensor<4>& heads);

}  // namespace lessons
