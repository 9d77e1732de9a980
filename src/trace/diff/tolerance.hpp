#pragma once

#include <string_view>

namespace attn {

/// How far two numbers a and b may be apart and still count as equal, as numpy.isclose has it:
/// |a − b| ≤ absolute + relative · |b|. Equal infinities, and NaN beside NaN, count as equal.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;

  bool accepts(double a, double b) const;

  /// The same for numbers of which |a − b| is known already, infinite where there is no such number.
  bool allows(double distance, double b) const;
};

/// What rounding explains for an element type, by NumPy's name for it. Integers and booleans must be equal.
Tolerance default_tolerance(std::string_view dtype);

/// What rounding explains where the one tensor has the one type and the other the other: the coarser counts.
Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b);

}  // namespace attn
