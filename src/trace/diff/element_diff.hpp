#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "attn/tensor.hpp"
#include "trace/diff/tolerance.hpp"

namespace attn {

/// One element of a tensor. A floating-point number has the fewest digits that its type allows.
using Number = std::variant<bool, std::int64_t, double>;

/// "0.1", "-inf", "nan", "true".
std::string to_string(const Number& number);

/// How the elements of two tensors differ. Errors are |a − b| and |a − b| / |b|; they are infinite where one
/// of the two is no finite number, and the relative one also where b alone is 0.
struct ElementDiff {
  std::size_t unequal = 0;  ///< elements that are not the same number
  std::size_t beyond = 0;   ///< those of them that the tolerance does not accept
  double max_absolute = 0.0;
  double max_relative = 0.0;
  std::size_t farthest = 0;  ///< offset of the first element with the largest absolute error
  std::size_t first = 0;     ///< offset of the first element beyond the tolerance
  Number first_a{};          ///< and what both have there, in float64 where the element types differ
  Number first_b{};
};

/// Compares two tensors of the same shape, of whatever element types. −0 and 0 are the same number, and so
/// are two NaN. Throws std::invalid_argument where the shapes differ.
ElementDiff compare_elements(const TensorView& a, const TensorView& b, const Tolerance& tolerance);

}  // namespace attn
