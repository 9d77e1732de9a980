#include "trace/any_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "attn/ops/precision.hpp"
#include "trace/file.hpp"

namespace attn {

namespace {

/// At least one byte, so that there is somewhere to point to.
std::vector<std::byte> room_for(Dtype dtype, const Shape& shape) {
  return std::vector<std::byte>(std::max<std::size_t>(1, element_count(shape) * size_of(dtype)));
}

/// std::bit_cast, which the compiler for browsers has not.
template <class To, class From>
To with_bits_of(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class T, class Stored>
T as_it_is(Stored number, std::string_view) {
  return static_cast<T>(number);
}

bool truth_of(std::uint8_t value, std::string_view place) {
  if (value > 1) refuse(place, fmt::format("it has the element {} among its bools", value), "0 or 1");
  return value == 1;
}

std::int64_t signed_of(std::uint64_t value, std::string_view place) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  if (value > static_cast<std::uint64_t>(largest))
    refuse(place, fmt::format("it has the element {}", value),
           fmt::format("whole numbers up to {}", largest));
  return static_cast<std::int64_t>(value);
}

double float16_of(std::uint16_t bits, std::string_view) {
  return half_value(bits);
}

/// A bfloat16 is the upper half of a float32.
double bfloat16_of(std::uint16_t bits, std::string_view) {
  return static_cast<double>(with_bits_of<float>(std::uint32_t{bits} << 16));
}

std::uint16_t bfloat16_bits(double number) {
  return static_cast<std::uint16_t>(with_bits_of<std::uint32_t>(static_cast<float>(number)) >> 16);
}

template <class T, class Stored, T (*convert)(Stored, std::string_view) = as_it_is<T, Stored>>
void read(std::string_view stored, bool is_reversed, std::string_view place, void* elements) {
  auto* to = static_cast<T*>(elements);
  std::array<char, sizeof(Stored)> bytes;
  for (auto from = stored.begin(); from != stored.end(); from += sizeof(Stored)) {
    std::copy_n(from, sizeof(Stored), bytes.begin());
    if (is_reversed) std::reverse(bytes.begin(), bytes.end());
    *to++ = convert(with_bits_of<Stored>(bytes), place);
  }
}

constexpr ElementType element_types[] = {
    {"bool", "b1", "BOOL", 1, Dtype::boolean, read<bool, std::uint8_t, truth_of>},
    {"int8", "i1", "I8", 1, Dtype::int64, read<std::int64_t, std::int8_t>},
    {"int16", "i2", "I16", 2, Dtype::int64, read<std::int64_t, std::int16_t>},
    {"int32", "i4", "I32", 4, Dtype::int64, read<std::int64_t, std::int32_t>},
    {"int64", "i8", "I64", 8, Dtype::int64, read<std::int64_t, std::int64_t>},
    {"uint8", "u1", "U8", 1, Dtype::int64, read<std::int64_t, std::uint8_t>},
    {"uint16", "u2", "U16", 2, Dtype::int64, read<std::int64_t, std::uint16_t>},
    {"uint32", "u4", "U32", 4, Dtype::int64, read<std::int64_t, std::uint32_t>},
    {"uint64", "u8", "U64", 8, Dtype::int64, read<std::int64_t, std::uint64_t, signed_of>},
    {"float16", "f2", "F16", 2, Dtype::float16, read<double, std::uint16_t, float16_of>},
    {"bfloat16", "", "BF16", 2, Dtype::bfloat16, read<double, std::uint16_t, bfloat16_of>},
    {"float32", "f4", "F32", 4, Dtype::float32, read<double, float>},
    {"float64", "f8", "F64", 8, Dtype::float64, read<double, double>}};

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
  AnyTensor result(given.dtype(), std::move(shape));
  const auto& lengths = result.shape();
  const auto size = size_of(given.dtype());
  const auto* const from = static_cast<const std::byte*>(given.view().data);
  auto* to = result.elements<std::byte>();
  Shape index(lengths.size());
  for (std::size_t left = element_count(lengths), offset = start; left > 0; --left, to += size) {
    std::memcpy(to, from + offset * size, size);
    for (std::size_t axis = lengths.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < lengths[axis]) break;
      offset -= strides[axis] * std::exchange(index[axis], 0);
    }
  }
  return result;
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

const ElementType* element_type_called(std::string_view name, std::string_view ElementType::*of) {
  const auto* const found = std::find_if(std::begin(element_types), std::end(element_types),
                                         [&](const ElementType& type) { return type.*of == name; });
  return name.empty() || found == std::end(element_types) ? nullptr : found;
}

const ElementType* element_type_of(Dtype dtype) {
  return element_type_called(name_of(dtype));
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

std::string little_endian(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  for (auto& byte : bytes) {
    byte = static_cast<char>(number & 0xFF);
    number >>= 8;
  }
  return bytes;
}

std::size_t stored_size(const Layout& layout, std::string_view place) {
  constexpr std::size_t most_axes = 32, largest = std::numeric_limits<std::ptrdiff_t>::max();
  const auto& shape = layout.shape;
  if (shape.size() > most_axes)
    refuse(place, fmt::format("it has {} axes", shape.size()), fmt::format("up to {}", most_axes));
  std::size_t room = largest / std::max(layout.type->size, size_of(layout.type->dtype));
  for (const auto length : shape) {
    if (length > room)
      refuse(place, fmt::format("its shape {} is beyond any memory", to_string(shape)),
             "a shape that agrees with the file");
    if (length > 0) room /= length;
  }
  return element_count(shape) * layout.type->size;
}

AnyTensor decode(const Layout& layout, std::string_view stored, std::string_view place) {
  const bool is_reversed = layout.big_endian != (std::endian::native == std::endian::big);
  const bool is_turned = layout.fortran_order && layout.shape.size() > 1;
  const auto shape = is_turned ? Shape(layout.shape.rbegin(), layout.shape.rend()) : layout.shape;
  AnyTensor tensor(layout.type->dtype, shape);
  layout.type->read(stored, is_reversed, place, tensor.elements<std::byte>());
  if (!is_turned) return tensor;
  std::vector<std::size_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return permuted(tensor, order);
}

std::string encode(const TensorView& tensor, Dtype dtype) {
  const auto count = element_count(tensor.shape);
  std::string bytes(count * element_type_of(dtype)->size, '\0');
  const auto write = [&](auto convert) {
    const auto* const elements = static_cast<const double*>(tensor.data);
    for (std::size_t i = 0; i < count; ++i) {
      const auto element = convert(elements[i]);
      std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
    }
  };
  if (dtype == Dtype::float32)
    write([](double value) { return static_cast<float>(value); });
  else if (dtype == Dtype::float16)
    write(half_bits);
  else if (dtype == Dtype::bfloat16)
    write(bfloat16_bits);
  else if (count > 0)
    std::memcpy(bytes.data(), tensor.data, bytes.size());
  return bytes;
}

}  // namespace attn
