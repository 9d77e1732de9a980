#pragma once

#include <fmt/format.h>

#include <variant>

#include "attn/tensor.hpp"
#include "fast/attention.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/trace.hpp"

namespace lessons {

/// How far two ways of computing numbers up to `magnitude` may differ by rounding alone: 1e-12 in float64,
/// 1e-5 in float32, 1e-2 in float16 and 1e-1 in bfloat16, times the power of ten next above the magnitude.
attn::Limit rounding(attn::Dtype dtype, double magnitude = 1.0);
attn::Limit rounding(const attn::Trace& trace, double magnitude = 1.0);

/// At most the power of ten next above a bound, or 1e-307: for an error of rounding that is bounded only
/// roughly.
attn::Limit roughly_at_most(double bound);

/// What rounding does to the weights softmax(Q Kᵀ / divisor) is relative to: the largest Σ |q| |k| / divisor,
/// since terms of a score may cancel, or 1. Ranks 2 and 4.
template <std::size_t N>
double magnitude_of_scores(const attn::Tensor<N>& Q, const attn::Tensor<N>& K, double divisor);

/// What a fast kernel makes of the rule by which the lesson hides keys; unsupported where a mask of
/// its own is given.
template <class Compute>
auto with_rule(const Workbench& bench, const Compute& compute) {
  using Outcome = decltype(compute(attn::fast::Visibility()));
  if (const auto visible = bench.visibility()) return compute(*visible);
  return Outcome(attn::fast::Unsupported{"the mask is a given one, and they know rules only"});
}

/// Makes the claim, whose formula has "{}" for the kernel's name, with the deviation from what a fast kernel
/// computed. Where it computed nothing, or where rounding alone may change numbers of size `magnitude` by
/// more than 1 %, a note of the same id says so.
template <class Result, class Deviation>
void claim_equals_kernel(attn::Trace& trace, attn::Claim claim, double magnitude,
                         const attn::fast::Outcome<Result>& outcome, const Deviation& deviation) {
  if (claim.limit.bound > 0.01 * magnitude && magnitude > 0.0)
    return trace.note(
        claim.id, "Not compared with a fast kernel",
        "The scores of this run are so large that rounding alone may change more than the hundredth "
        "part of what they lead to.");
  if (const auto* unsupported = std::get_if<attn::fast::Unsupported>(&outcome))
    return trace.note(claim.id, "Not compared with a fast kernel",
                      "The fast kernels do not compute this run: " + unsupported->reason + ".");
  const auto& result = std::get<Result>(outcome);
  claim.formula = fmt::format(fmt::runtime(claim.formula), result.kernel);
  claim.value = deviation(result);
  trace.claim(claim);
}

}  // namespace lessons
