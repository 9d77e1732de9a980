#pragma once

#include <cstddef>

#include "attn/worked.hpp"

namespace attn {

/// Shares without exp, for work by hand: xⱼ / Σₖ xₖ of `count` scores that stand `stride` numbers apart.
/// Scores below 0 count as 0. Where that leaves nothing to divide by, those that are not −∞ (masked) get
/// equal shares, and where all are −∞ all shares are 0, as softmax has it.
void sum_shares(const double* scores, double* shares, std::size_t count, std::size_t stride);

/// The same along the last axis, whose rows have `length` scores, worked out.
WorkedOut worked_sum_shares(WorkedOut scores, std::size_t length);

}  // namespace attn
