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

void store(Dtype dtype, void* elements, std::size_t i, double number) {
  if (is_floating(dtype)) static_cast<double*>(elements)[i] = number;
  if (dtype == Dtype::int64) static_cast<std::int64_t*>(elements)[i] = static_cast<std::int64_t>(number);
  if (dtype == Dtype::boolean) static_cast<bool*>(elements)[i] = number != 0.0;
}

bool is_whole_number(double x) {
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  return std::trunc(x) == x && std::abs(x) <= largest_exact;
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

std::vector<std::size_t> strides_of(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

AnyTensor strided(const AnyTensor& given, Shape shape, const std::vector<std::size_t>& strides,
                  std::size_t start) {
  const auto size = size_of(given.dtype());
  std::vector<std::byte> elements(element_count(shape) * size);
  const auto* const from = static_cast<const std::byte*>(given.view().data);
  Shape index(shape.size());
  for (std::size_t to = 0, offset = start; to < elements.size(); to += size) {
    std::memcpy(elements.data() + to, from + offset * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * std::exchange(index[axis], 0);
    }
  }
  return {given.dtype(), std::move(shape), std::move(elements)};
}

AnyTensor permuted(const AnyTensor& given, const std::vector<std::size_t>& order) {
  const auto given_strides = strides_of(given.shape());
  Shape shape;
  std::vector<std::size_t> strides;
  for (const auto axis : order) {
    shape.push_back(given.shape()[axis]);
    strides.push_back(given_strides[axis]);
  }
  return strided(given, std::move(shape), strides);
}

AnyTensor reshaped(const AnyTensor& given, Shape shape) {
  const auto strides = strides_of(shape);
  return strided(given, std::move(shape), strides);
}

AnyTensor part_of_last_axis(const AnyTensor& given, std::size_t begin, std::size_t count) {
  auto shape = given.shape();
  shape.back() = count;
  return strided(given, std::move(shape), strides_of(given.shape()), begin);
}

bool are_identical(const AnyTensor& a, const AnyTensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return std::memcmp(a.view().data, b.view().data, element_count(a.shape()) * size_of(a.dtype())) == 0;
}

}  // namespace attn
