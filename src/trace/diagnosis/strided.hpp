#pragma once

#include <vector>

#include "trace/any_tensor.hpp"

/// Tensors made of the elements of another one.
namespace attn {

/// By how many elements a step along each axis moves on, in row-major order.
std::vector<std::size_t> strides_of(const Shape& shape);

/// The tensor of that shape whose element (i, j, …) is the one of `given` at the offset `start` +
/// i·strides[0]
/// + j·strides[1] + …; a stride of 0 repeats it along an axis.
AnyTensor strided(const AnyTensor& given, Shape shape, const std::vector<std::size_t>& strides,
                  std::size_t start = 0);

/// Axis i of the result is axis order[i] of `given`.
AnyTensor permuted(const AnyTensor& given, const std::vector<std::size_t>& order);

/// The same elements in a shape that has as many.
AnyTensor reshaped(const AnyTensor& given, Shape shape);

/// The `count` entries of the last axis from `begin` on.
AnyTensor part_of_last_axis(const AnyTensor& given, std::size_t begin, std::size_t count);

/// Whether type, shape and elements are the same, bit for bit.
bool are_identical(const AnyTensor& a, const AnyTensor& b);

}  // namespace attn
