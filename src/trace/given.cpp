#include "trace/given.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"
#include "trace/entry.hpp"

namespace attn {

namespace {

/// "(2, 3)": where the element at a row-major offset stands.
std::string index_of(std::size_t offset, const Shape& shape) {
  return fmt::format("({})", fmt::join(index_at(offset, shape), ", "));
}

bool holds(Dtype dtype, double value) {
  if (dtype == Dtype::boolean) return value == 0.0 || value == 1.0;
  return dtype == Dtype::int64 ? is_whole_number(value) : std::isfinite(round_to(dtype, value));
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

}  // namespace

AnyTensor identity_matrix(const Shape& shape) {
  AnyTensor matrix(Dtype::int64, shape);
  for (std::size_t i = 0; i < std::min(shape[0], shape[1]); ++i)
    matrix.elements<std::int64_t>()[i * shape[1] + i] = 1;
  return matrix;
}

void copy_elements(const std::string& name, const AnyTensor& given, Dtype dtype, void* elements) {
  const auto view = given.view();
  const auto count = element_count(view.shape);
  if (view.dtype == Dtype::int64 && dtype == Dtype::int64) {  // of which double has not all
    std::copy_n(static_cast<const std::int64_t*>(view.data), count, static_cast<std::int64_t*>(elements));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double value = view.at(i);
    if (!holds(dtype, value))
      throw Error(fmt::format("{} has {} at {}; valid: {}", name, value, index_of(i, view.shape),
                              valid_elements(dtype)));
    store(dtype, elements, i, round_to(dtype, value));
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
