#include "trace/npz/npy.hpp"

#include <fmt/format.h>

#include <vector>
#include <xtensor/xadapt.hpp>
#include <xtensor/xnpy.hpp>

#include "trace/file.hpp"
#include "trace/npz/npy_header.hpp"

namespace attn {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view valid_array = "an array of the .npy format";
constexpr std::uint64_t longest_header = std::uint64_t{1} << 20;

/// Reads `count` bytes as a little-endian number.
std::uint64_t read_number(ByteStream& stream, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char byte = 0;
    stream.read(&byte, 1);
    number |= std::uint64_t{byte} << (8 * i);
  }
  return number;
}

/// Bytes that the field of the header's length takes, by the version.
std::size_t read_preamble(ByteStream& stream, std::uint64_t size, std::string_view place) {
  if (size < magic.size() + 4) refuse(place, fmt::format("it has {} bytes", size), valid_array);
  std::string found(magic.size(), '\0');
  stream.read(found.data(), found.size());
  if (found != magic) refuse(place, fmt::format("it begins with {}", in_message(found)), valid_array);
  const auto major = read_number(stream, 1), minor = read_number(stream, 1);
  if (major < 1 || major > 3 || minor != 0)
    refuse(place, fmt::format("it has version {}.{} of the .npy format", major, minor), "1.0, 2.0 and 3.0");
  return major == 1 ? 2 : 4;
}

template <class T>
std::string npy_bytes_of(const void* elements, const Shape& shape) {
  return xt::dump_npy(
      xt::adapt(static_cast<const T*>(elements), element_count(shape), xt::no_ownership(), shape));
}

}  // namespace

Npy read_npy_header(ByteStream& stream, std::uint64_t size, std::string_view place) {
  const auto length_size = read_preamble(stream, size, place);
  const auto length = read_number(stream, length_size);
  const auto header_size = magic.size() + 2 + length_size + length;
  if (length > longest_header || header_size > size)
    refuse(place, fmt::format("its header claims {} bytes", length),
           fmt::format("up to {} and no more than the array has", longest_header));
  std::string literal(length, '\0');
  stream.read(literal.data(), literal.size());
  const Npy npy{parse_npy_header(literal, place), header_size};
  const auto promised = stored_size(npy.layout, place), there = size - header_size;
  if (promised != there)
    refuse(place,
           fmt::format("its header promises {} of {}, which take {} bytes, but {} are there",
                       to_string(npy.layout.shape), name_of(npy.layout.type), promised, there),
           "as many as promised");
  return npy;
}

std::string npy_bytes(const TensorView& tensor) {
  switch (tensor.dtype) {
    case Dtype::float64:
      return npy_bytes_of<double>(tensor.data, tensor.shape);
    case Dtype::float32:
      return npy_bytes_of<float>(tensor.data, tensor.shape);
    case Dtype::int64:
      return npy_bytes_of<std::int64_t>(tensor.data, tensor.shape);
    case Dtype::boolean:
      return npy_bytes_of<bool>(tensor.data, tensor.shape);
  }
  return {};
}

std::string npy_bytes(const std::string& text) {
  return npy_bytes_of<std::uint8_t>(text.data(), {text.size()});
}

}  // namespace attn
