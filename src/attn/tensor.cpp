#include "attn/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace attn {

std::string_view name_of(Dtype dtype) {
  constexpr std::string_view names[] = {"float64", "float32", "float16", "bfloat16", "int64", "bool"};
  return names[static_cast<std::size_t>(dtype)];
}

std::size_t item_size(Dtype dtype) {
  constexpr std::size_t sizes[] = {8, 4, 2, 2, 8, 1};
  return sizes[static_cast<std::size_t>(dtype)];
}

bool is_floating(Dtype dtype) {
  return dtype != Dtype::int64 && dtype != Dtype::boolean;
}

std::size_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

double TensorView::at(std::size_t offset) const {
  switch (dtype) {
    case Dtype::int64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[offset]);
    case Dtype::boolean:
      return static_cast<const bool*>(data)[offset] ? 1.0 : 0.0;
    default:
      return static_cast<const double*>(data)[offset];
  }
}

std::vector<double> TensorView::numbers() const {
  std::vector<double> numbers(element_count(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = at(i);
  return numbers;
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

}  // namespace attn
