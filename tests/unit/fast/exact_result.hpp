#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "fast/exact/kernels.hpp"
#include "tests/unit/fast/exact_problem.hpp"
#include "tests/unit/numbers.hpp"

/// All that a kernel computes.
template <class T>
struct ExactResult {
  std::vector<T> output, log_sum_exp, d_query, d_key, d_value;
};

/// The gradients are NaN.
template <class T>
ExactResult<T> run_forward(const attn::exact::Kernel& kernel, const ExactProblem& problem, int threads = 1);

/// Forward and then backward.
template <class T>
ExactResult<T> run(const attn::exact::Kernel& kernel, const ExactProblem& problem, int threads = 1);

/// Calls `check(kernel, name)` for every kernel that fits, and for kernel 4 with each instruction set that
/// this processor has.
using VersionCheck = std::function<void(const attn::exact::Kernel& kernel, const std::string& name)>;
void for_each_version(const attn::exact::Sizes& sizes, const VersionCheck& check);

/// The largest |actual − expected| relative to `scale`, once the smallest normal number of the type is
/// allowed for, which flushing denormals to zero may cost. Infinite where one is no finite number and the
/// other is not the same.
template <class T>
double relative_error(const std::vector<T>& actual, const std::vector<double>& expected, double scale);

/// The error of forward results: of outputs relative to the largest one, of log-sum-exps relative to the
/// largest one or to 1.
template <class T>
double forward_error(const ExactResult<T>& actual, const ExactResult<double>& expected);

/// How many decimal digits of the largest number are right: −log₁₀ of a relative error.
double digits(double relative_error);

/// How many every kernel has to get right.
template <class T>
constexpr double required_digits = std::is_same_v<T, double> ? 13.0 : 5.0;
