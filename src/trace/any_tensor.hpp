#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Whether a tensor is there with its elements, of which there may be none, or as a shape only.
bool has_elements(const TensorView& tensor);

/// Bytes that an element takes in memory: floating-point numbers are doubles there.
std::size_t size_of(Dtype dtype);

/// A tensor of any rank and any of the trace's element types that owns its elements, in row-major order.
class AnyTensor {
 public:
  /// Elements are zero.
  AnyTensor(Dtype dtype, Shape shape);

  /// A copy of what is looked at. Throws std::invalid_argument where that has no elements.
  explicit AnyTensor(const TensorView& view);

  /// Takes over elements that are there. Throws std::invalid_argument unless they are as many bytes as the
  /// shape asks for.
  AnyTensor(Dtype dtype, Shape shape, std::vector<std::byte> elements);

  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  /// Valid as long as this tensor lives and is not moved. Its data is never null, even where the shape leaves
  /// no element.
  TensorView view() const { return {dtype_, shape_, bytes_.data()}; }

  /// The elements, for T double, std::int64_t or bool, as TensorView has them.
  template <class T>
  T* elements() {
    return reinterpret_cast<T*>(bytes_.data());
  }

 private:
  Dtype dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

/// Somebody's tensors by the ids of the lesson.
using Tensors = std::map<std::string, AnyTensor>;

/// A copy in which every NaN is the positive quiet one: which of the many a computation gives depends on the
/// processor.
AnyTensor with_one_nan(const TensorView& tensor);

}  // namespace attn
