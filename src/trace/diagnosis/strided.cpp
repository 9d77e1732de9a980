#include "trace/diagnosis/strided.hpp"

#include <cstring>
#include <utility>

namespace attn {

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
