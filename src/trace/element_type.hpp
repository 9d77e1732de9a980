#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// What a type is called and how large it is.
struct StoredType {
  std::string_view name;         ///< as NumPy calls it: "float16"
  std::string_view npy;          ///< in the header of an .npy file, behind the order of the bytes; none: ""
  std::string_view safetensors;  ///< in the header of a .safetensors file
  std::size_t size;              ///< in bytes
  Dtype dtype;                   ///< of a tensor that is read from such elements: int64 for all whole numbers
};

const StoredType& properties_of(ElementType type);

/// The type that has this name: `element_type_called("F16", &StoredType::safetensors)`.
std::optional<ElementType> element_type_called(std::string_view name,
                                               std::string_view StoredType::*of = &StoredType::name);

/// The type of the same name.
ElementType element_type_of(Dtype dtype);

/// A number of as many bytes, the lowest first, and these bytes.
std::uint64_t little_endian(std::string_view bytes);
std::string little_endian(std::uint64_t number, std::size_t size);

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
AnyTensor decode(const Layout& layout, std::string_view stored, std::string_view place);

/// The elements of a tensor as such bytes, the lowest first. Floating-point numbers are rounded to `type`,
/// which is one of the floating-point types for them and the type of the same name for all others.
std::string encode(const TensorView& tensor, ElementType type);

}  // namespace attn
