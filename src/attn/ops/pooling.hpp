#pragma once

#include <vector>

#include "attn/tensor.hpp"
#include "attn/worked.hpp"

namespace attn {

/// The mean of the first `lengths[b]` rows of each sample, which leaves padding out: [batch×n×d] → [batch×d].
/// Throws std::invalid_argument unless there is a length from 1 to n for each sample.
Tensor<2> mean_pool(const Tensor<3>& x, const std::vector<std::size_t>& lengths);

/// The mean over the real tokens, worked out.
WorkedOut worked_mean_pool(Known<3> x, const std::vector<std::size_t>& lengths);

}  // namespace attn
