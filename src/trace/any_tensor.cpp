#include "trace/any_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace attn {

namespace {

/// At least one byte, so that there is somewhere to point to.
std::vector<std::byte> room_for(Dtype dtype, const Shape& shape) {
  return std::vector<std::byte>(std::max<std::size_t>(1, element_count(shape) * size_of(dtype)));
}

}  // namespace

bool has_elements(const TensorView& tensor) {
  return tensor.data != nullptr || element_count(tensor.shape) == 0;
}

std::size_t size_of(Dtype dtype) {
  if (dtype == Dtype::boolean) return sizeof(bool);
  return dtype == Dtype::int64 ? sizeof(std::int64_t) : sizeof(double);
}

AnyTensor::AnyTensor(Dtype dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(room_for(dtype_, shape_)) {}

AnyTensor::AnyTensor(const TensorView& view) : AnyTensor(view.dtype, view.shape) {
  if (!has_elements(view)) throw std::invalid_argument("[AnyTensor] a tensor without its elements");
  const auto size = element_count(shape_) * size_of(dtype_);
  if (size > 0) std::memcpy(bytes_.data(), view.data, size);
}

AnyTensor::AnyTensor(Dtype dtype, Shape shape, std::vector<std::byte> elements)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(std::move(elements)) {
  if (bytes_.size() != element_count(shape_) * size_of(dtype_))
    throw std::invalid_argument("[AnyTensor] the elements are not as many as the shape asks for");
  if (bytes_.empty()) bytes_.resize(1);
}

AnyTensor with_one_nan(const TensorView& tensor) {
  AnyTensor copy(tensor);
  if (!is_floating(tensor.dtype)) return copy;
  auto* const elements = copy.elements<double>();
  std::replace_if(
      elements, elements + element_count(tensor.shape), [](double element) { return std::isnan(element); },
      std::numeric_limits<double>::quiet_NaN());
  return copy;
}

}  // namespace attn
