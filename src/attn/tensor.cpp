#include "attn/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace attn {

std::string_view name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return "float64";
    case Dtype::float32:
      return "float32";
    case Dtype::int64:
      return "int64";
    case Dtype::boolean:
      return "bool";
  }
  return "";
}

std::size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return sizeof(double);
    case Dtype::float32:
      return sizeof(float);
    case Dtype::int64:
      return sizeof(std::int64_t);
    case Dtype::boolean:
      return sizeof(bool);
  }
  return 0;
}

std::size_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

double TensorView::at(std::size_t offset) const {
  switch (dtype) {
    case Dtype::float64:
      return static_cast<const double*>(data)[offset];
    case Dtype::float32:
      return static_cast<double>(static_cast<const float*>(data)[offset]);
    case Dtype::int64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[offset]);
    case Dtype::boolean:
      return static_cast<const bool*>(data)[offset] ? 1.0 : 0.0;
  }
  return 0.0;
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

}  // namespace attn
