#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trace/any_tensor.hpp"

namespace attn {

/// What an element may be in a file.
enum class ElementType {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64
};

/// "float16": as NumPy calls it.
std::string_view name_of(ElementType type);

std::size_t size_of(ElementType type);

/// The type of a tensor that is read from such elements: int64 for all whole numbers.
Dtype dtype_for(ElementType type);

/// The type of the same name.
ElementType element_type_of(Dtype dtype);

/// How the elements of a tensor lie in a file.
struct Layout {
  ElementType type = ElementType::float64;
  bool big_endian = false;
  bool fortran_order = false;  ///< the first axis runs fastest, not the last
  Shape shape{};
};

/// Bytes that the elements take in a file. Throws Error, with `place`, for more than 32 axes and for a shape
/// whose elements nothing could hold.
std::size_t stored_size(const Layout& layout, std::string_view place);

/// The tensor whose elements are these bytes, as many as `stored_size` says. Throws Error, with `place`, for
/// a whole number beyond int64 and for a bool that is neither 0 nor 1.
AnyTensor decode(const Layout& layout, std::vector<std::byte> stored, std::string_view place);

/// The elements of a tensor as such bytes, the lowest first. Floating-point numbers are rounded to `type`,
/// which is one of the floating-point types for them and the type of the same name for all others.
std::string encode(const TensorView& tensor, ElementType type);

}  // namespace attn
