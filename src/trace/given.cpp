#include "trace/given.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

namespace attn {

namespace {

/// "(2, 3)": where the element at a row-major offset stands.
std::string index_of(std::size_t offset, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis]) index[axis] = offset % shape[axis];
  return fmt::format("({})", fmt::join(index, ", "));
}

/// Calls `use(offset, element)` for every element in the type that it is stored in.
template <class Use>
void for_each_element(const AnyTensor& tensor, Use use) {
  const auto view = tensor.view();
  const auto count = element_count(view.shape);
  const auto visit = [&](const auto* elements) {
    for (std::size_t i = 0; i < count; ++i) use(i, elements[i]);
  };
  switch (view.dtype) {
    case Dtype::int64:
      return visit(static_cast<const std::int64_t*>(view.data));
    case Dtype::boolean:
      return visit(static_cast<const bool*>(view.data));
    default:
      return visit(static_cast<const double*>(view.data));
  }
}

template <class Stored>
bool holds(Dtype dtype, Stored value) {
  if (dtype == Dtype::boolean) return value == Stored(0) || value == Stored(1);
  if (is_floating(dtype)) return std::isfinite(round_to(dtype, static_cast<double>(value)));
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  if constexpr (std::is_floating_point_v<Stored>)
    return std::trunc(value) == value && std::abs(value) <= static_cast<Stored>(largest_exact);
  return true;
}

std::string_view valid_elements(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return "finite numbers";
    case Dtype::float32:
      return "finite numbers up to 3.4e38, the largest of float32";
    case Dtype::float16:
      return "finite numbers up to 65504, the largest of float16";
    case Dtype::bfloat16:
      return "finite numbers up to 3.38e38, the largest of bfloat16";
    case Dtype::int64:
      return "whole numbers";
    case Dtype::boolean:
      return "0 or 1, where 1 means may be seen";
  }
  return "";
}

template <class T>
void copy_as(const std::string& name, const AnyTensor& given, Dtype dtype, T* elements) {
  for_each_element(given, [&](std::size_t offset, auto value) {
    if (!holds(dtype, value))
      throw Error(fmt::format("{} has {} at {}; valid: {}", name, value, index_of(offset, given.shape()),
                              valid_elements(dtype)));
    if constexpr (std::is_same_v<T, double>)
      elements[offset] = round_to(dtype, static_cast<double>(value));
    else
      elements[offset] = static_cast<T>(value);
  });
}

}  // namespace

AnyTensor identity_matrix(const Shape& shape) {
  AnyTensor matrix(Dtype::int64, shape);
  for (std::size_t i = 0; i < std::min(shape[0], shape[1]); ++i)
    matrix.elements<std::int64_t>()[i * shape[1] + i] = 1;
  return matrix;
}

void copy_elements(const std::string& name, const AnyTensor& given, Dtype dtype, void* elements) {
  switch (dtype) {
    case Dtype::int64:
      return copy_as(name, given, dtype, static_cast<std::int64_t*>(elements));
    case Dtype::boolean:
      return copy_as(name, given, dtype, static_cast<bool*>(elements));
    default:
      return copy_as(name, given, dtype, static_cast<double*>(elements));
  }
}

void require_at_most(const std::string& name, const TensorView& tensor, double largest) {
  if (!is_floating(tensor.dtype)) return;
  const auto count = element_count(tensor.shape);
  for (std::size_t i = 0; i < count; ++i)
    if (std::abs(tensor.at(i)) > largest)
      throw Error(fmt::format("{} has {} at {}; valid: numbers up to {}, whose products stay finite", name,
                              tensor.at(i), index_of(i, tensor.shape), largest));
}

std::string shape_with_axes(const Shape& shape, const std::vector<std::string>& axes) {
  if (shape.empty()) return "(scalar)";
  if (axes.size() != shape.size()) return to_string(shape);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shape.size(); ++i) parts.push_back(fmt::format("{} {}", shape[i], axes[i]));
  return fmt::format("({})", fmt::join(parts, " × "));
}

}  // namespace attn
