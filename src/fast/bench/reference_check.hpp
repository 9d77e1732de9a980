#pragma once

#include <optional>

#include "fast/bench/operands.hpp"

namespace attn::bench {

/// Checks of the results of a kernel against kernel 1 of its family in float64, at the `checked_queries`. An
/// error is the largest deviation of a number. Instantiated for float and double.
template <class T>
double output_error(const Task& task, const Operands<T>& operands);

/// How far the output is off from that of full attention in float64, at the `checked_queries`: the largest
/// difference, relative to the largest number there. Nothing of full attention itself.
template <class T>
std::optional<double> relative_error(const Task& task, const Operands<T>& operands);

/// The largest of the errors of the three gradients.
template <class T>
double gradient_error(const Task& task, const Operands<T>& operands);

}  // namespace attn::bench
