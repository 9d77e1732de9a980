#pragma once

#include <cstdint>

#include "attn/tensor.hpp"

namespace attn {

/// The learning rate of the first transformer (Vaswani et al. 2017, equation 3), and what it is made of: it
/// rises in a straight line for `warmup` steps and falls with the root of the step from there on.
struct WarmupSchedule {
  double rising = 0.0;   ///< step · warmup^−1.5
  double falling = 0.0;  ///< step^−0.5; infinity for step 0
  double rate = 0.0;     ///< d_model^−0.5 · min(falling, rising); 0 for step 0
};

/// Throws std::invalid_argument where the step is negative or d_model or warmup is not positive.
WarmupSchedule warmup_schedule(std::int64_t step, std::int64_t d_model, std::int64_t warmup);

/// The step [step] that has the largest rate [step], the first of several. Throws std::invalid_argument where
/// there are not as many rates as steps, or none.
std::int64_t step_of_largest(const Integers<1>& steps, const Tensor<1>& rates);

}  // namespace attn
