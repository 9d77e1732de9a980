#pragma once

#include <string>
#include <vector>

#include "fast/exact/kernels.hpp"

/// A call of the kernels. Its numbers are such that float32 holds them, so that one problem serves both
/// types; those that are denormal in float64 only become 0.
struct ExactProblem {
  attn::exact::Sizes sizes;
  attn::exact::Visibility visible;
  double scale = 1.0;
  std::vector<double> query, key, value, d_output;
  std::string description;

  /// Sets query, key, value and d_output to normal numbers.
  void draw(unsigned seed);
};

/// A problem of any kind: one token or hundreds, odd and unequal axes, all sorts of visibility, scores of
/// ±10⁴, scores that rise from key to key, denormal inputs.
ExactProblem random_problem(unsigned seed);

#ifdef __SANITIZE_ADDRESS__
constexpr unsigned random_problems = 150;
#else
constexpr unsigned random_problems = 600;
#endif
