#include "trace/npz/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

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

/// NumPy's code for what an array of these elements holds; it has no bfloat16.
std::string_view code_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float64:
      return "<f8";
    case Dtype::float16:
      return "<f2";
    case Dtype::int64:
      return "<i8";
    case Dtype::boolean:
      return "|b1";
    default:
      return "<f4";
  }
}

/// "()", "(3,)", "(3, 4)".
std::string python_tuple(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What stands before the elements, padded such that they are aligned.
std::string npy_preamble(std::string_view code, const Shape& shape) {
  constexpr std::size_t alignment = 64, size_before_header = 10;
  auto header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", code, python_tuple(shape));
  header.append(alignment - (size_before_header + header.size() + 1) % alignment, ' ');
  header += '\n';
  return fmt::format("{}\x01{:c}{:c}{:c}{}", magic, '\0', static_cast<char>(header.size() & 0xFF),
                     static_cast<char>(header.size() >> 8), header);
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
  const auto type = tensor.dtype == Dtype::bfloat16 ? ElementType::float32 : element_type_of(tensor.dtype);
  return npy_preamble(code_of(tensor.dtype), tensor.shape) + encode(tensor, type);
}

std::string npy_bytes(const std::string& text) {
  return npy_preamble("|u1", {text.size()}) + text;
}

}  // namespace attn
