#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/element_type.hpp"

namespace attn {

/// Where a member is read from.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Throws Error where there are no `count` bytes left.
  virtual void read(void* to, std::size_t count) = 0;
};

/// The .npy format, versions 1.0 to 3.0
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
struct Npy {
  Layout layout;
  std::uint64_t header_size = 0;  ///< bytes before the elements
};

/// Reads the header of an array and leaves the stream at its elements. `size` is the number of bytes of
/// header and elements together. Throws Error, with `place`, for a header that is none or does not fit that
/// size, and for elements of a type that no tensor has: objects, complex numbers, texts, records.
Npy read_npy_header(ByteStream& stream, std::uint64_t size, std::string_view place);

/// The array as NumPy's `save` writes it, in version 1.0; bfloat16, which it has not, as float32.
std::string npy_bytes(const TensorView& tensor);

/// A text as an array of its bytes (uint8).
std::string npy_bytes(const std::string& text);

}  // namespace attn
