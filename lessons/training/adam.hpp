#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How slowly the two means of Adam forget, and what keeps it from dividing by 0 (Vaswani et al. 2017,
/// section 5.3).
constexpr double beta_1 = 0.9, beta_2 = 0.98, epsilon = 1e-9;

/// What Adam remembers of the gradients so far, in the shape of the parameters; zeros before the first step.
struct Moments {
  Tensor<2> m;  ///< a running mean of the gradient
  Tensor<2> v;  ///< a running mean of its square
};

Moments no_moments(const Tensor<2>& parameters);

/// What one step of Adam works on.
struct AdamStep {
  attn::Known<2> parameters;
  attn::Known<2> gradient;
  std::vector<std::string> axes;  ///< of both
  std::int64_t step;              ///< 1, 2, 3 …
  double rate;                    ///< the learning rate, `rate` in the trace
};

/// One step of Adam (Kingma and Ba 2015, algorithm 1): `m`, `v` and `updated`. Returns the new parameters.
/// Throws std::invalid_argument, with both shapes, where parameters, gradient and moments differ in shape,
/// and where the step is not positive.
Tensor<2> adam(Workbench& bench, const AdamStep& of, Moments& moments);

}  // namespace lessons
