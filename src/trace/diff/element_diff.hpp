#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "attn/tensor.hpp"

namespace attn {

/// How far two numbers a and b may be apart and still count as equal, as numpy.isclose has it:
/// |a − b| ≤ absolute + relative · |b|. Equal infinities, and NaN beside NaN, count as equal.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  /// In a tensor, relative to the largest number of the row of b: sums of which terms cancel out are as far
  /// off as the others.
  bool is_of_row = false;

  bool accepts(double a, double b) const;

  /// The same for numbers of which |a − b| is known already, infinite where there is no such number.
  bool allows(double distance, double b) const;
};

/// What rounding explains for an element type, by NumPy's name for it. It is relative to the row. Integers
/// and booleans must be equal.
Tolerance default_tolerance(std::string_view dtype);

/// What rounding explains where the one tensor has the one type and the other the other: the coarser counts.
Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b);

/// One element of a tensor. A floating-point number has the fewest digits that its type allows.
using Number = std::variant<bool, std::int64_t, double>;

/// "0.1", "-inf", "nan", "true".
std::string to_string(const Number& number);

/// How the elements of two tensors differ. Errors are |a − b| and |a − b| / |b|; they are infinite where one
/// of the two is no finite number. Where b is 0, as in padding, there is no relative one.
struct ElementDiff {
  std::size_t unequal = 0;  ///< elements that are not the same number
  std::size_t beyond = 0;   ///< those of them that the tolerance does not accept
  double max_absolute = 0.0;
  double max_relative = 0.0;  ///< 0 where no unequal element has one
  std::size_t farthest = 0;   ///< offset of the first element with the largest absolute error
  std::size_t first = 0;      ///< offset of the first element beyond the tolerance
  Number first_a{};           ///< and what both have there, in float64 where the element types differ
  Number first_b{};
};

/// Compares two tensors of the same shape, of whatever element types. −0 and 0 are the same number, and so
/// are two NaN. Throws std::invalid_argument where the shapes differ.
ElementDiff compare_elements(const TensorView& a, const TensorView& b, const Tolerance& tolerance);

}  // namespace attn
