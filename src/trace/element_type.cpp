#include "trace/element_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "attn/ops/precision.hpp"
#include "trace/file.hpp"

namespace attn {

namespace {

struct Properties {
  std::string_view name;
  std::size_t size;
  Dtype dtype;
};

/// In the order of ElementType.
constexpr std::array<Properties, 13> properties = {{{"bool", 1, Dtype::boolean},
                                                    {"int8", 1, Dtype::int64},
                                                    {"int16", 2, Dtype::int64},
                                                    {"int32", 4, Dtype::int64},
                                                    {"int64", 8, Dtype::int64},
                                                    {"uint8", 1, Dtype::int64},
                                                    {"uint16", 2, Dtype::int64},
                                                    {"uint32", 4, Dtype::int64},
                                                    {"uint64", 8, Dtype::int64},
                                                    {"float16", 2, Dtype::float16},
                                                    {"bfloat16", 2, Dtype::bfloat16},
                                                    {"float32", 4, Dtype::float32},
                                                    {"float64", 8, Dtype::float64}}};

const Properties& properties_of(ElementType type) {
  return properties[static_cast<std::size_t>(type)];
}

using Bytes = std::vector<std::byte>;

/// Every element taken as a `Stored` and replaced by what `convert` makes of it.
template <class Stored, class Convert>
Bytes convert_each(const Bytes& stored, Convert convert) {
  using Converted = decltype(convert(Stored{}));
  Bytes converted(stored.size() / sizeof(Stored) * sizeof(Converted));
  for (std::size_t from = 0, to = 0; from < stored.size(); from += sizeof(Stored), to += sizeof(Converted)) {
    Stored element;
    std::memcpy(&element, stored.data() + from, sizeof element);
    const Converted value = convert(element);
    std::memcpy(converted.data() + to, &value, sizeof value);
  }
  return converted;
}

/// A bfloat16 is the upper half of a float32.
double bfloat16_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return static_cast<double>(value);
}

std::uint16_t bfloat16_bits(double number) {
  const auto value = static_cast<float>(number);
  std::uint32_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  return static_cast<std::uint16_t>(wide >> 16);
}

template <class Stored>
Bytes widen(const Bytes& stored) {
  return convert_each<Stored>(stored, [](Stored value) { return static_cast<std::int64_t>(value); });
}

Bytes narrow_unsigned(const Bytes& stored, std::string_view place) {
  return convert_each<std::uint64_t>(stored, [&](std::uint64_t value) {
    constexpr auto largest = std::numeric_limits<std::ptrdiff_t>::max();
    if (value > static_cast<std::uint64_t>(largest))
      refuse(place, fmt::format("it has the element {}", value),
             fmt::format("whole numbers up to {}", largest));
    return static_cast<std::int64_t>(value);
  });
}

void require_booleans(const Bytes& stored, std::string_view place) {
  const auto bad =
      std::find_if(stored.begin(), stored.end(), [](std::byte value) { return value > std::byte{1}; });
  if (bad != stored.end())
    refuse(place, fmt::format("it has the element {} among its bools", std::to_integer<int>(*bad)), "0 or 1");
}

/// Elements in the byte order of the machine, converted to the type that they are read as.
Bytes convert(ElementType type, Bytes stored, std::string_view place) {
  switch (type) {
    case ElementType::boolean:
      require_booleans(stored, place);
      return stored;
    case ElementType::int8:
      return widen<std::int8_t>(stored);
    case ElementType::int16:
      return widen<std::int16_t>(stored);
    case ElementType::int32:
      return widen<std::int32_t>(stored);
    case ElementType::uint8:
      return widen<std::uint8_t>(stored);
    case ElementType::uint16:
      return widen<std::uint16_t>(stored);
    case ElementType::uint32:
      return widen<std::uint32_t>(stored);
    case ElementType::uint64:
      return narrow_unsigned(stored, place);
    case ElementType::float16:
      return convert_each<std::uint16_t>(stored, half_value);
    case ElementType::bfloat16:
      return convert_each<std::uint16_t>(stored, bfloat16_value);
    case ElementType::float32:
      return convert_each<float>(stored, [](float value) { return static_cast<double>(value); });
    default:
      return stored;
  }
}

void reverse_each(Bytes& stored, std::size_t size) {
  for (auto element = stored.begin(); element != stored.end(); element += static_cast<std::ptrdiff_t>(size))
    std::reverse(element, element + static_cast<std::ptrdiff_t>(size));
}

/// Elements of which the first axis runs fastest, reordered so that the last one does.
Bytes to_row_major(const Bytes& stored, const Shape& shape, std::size_t size) {
  Bytes ordered(stored.size());
  Shape strides(shape.size(), size), index(shape.size());
  for (std::size_t axis = 1; axis < shape.size(); ++axis) strides[axis] = strides[axis - 1] * shape[axis - 1];
  std::size_t from = 0;
  for (std::size_t to = 0; to < ordered.size(); to += size) {
    std::memcpy(ordered.data() + to, stored.data() + from, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= strides[axis] * std::exchange(index[axis], 0);
    }
  }
  return ordered;
}

}  // namespace

std::string_view name_of(ElementType type) {
  return properties_of(type).name;
}

std::size_t size_of(ElementType type) {
  return properties_of(type).size;
}

Dtype dtype_for(ElementType type) {
  return properties_of(type).dtype;
}

ElementType element_type_of(Dtype dtype) {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const auto& type) { return type.name == name_of(dtype); });
  return static_cast<ElementType>(found - properties.begin());
}

std::size_t stored_size(const Layout& layout, std::string_view place) {
  constexpr std::size_t most_axes = 32, largest = std::numeric_limits<std::ptrdiff_t>::max();
  const auto& shape = layout.shape;
  if (shape.size() > most_axes)
    refuse(place, fmt::format("it has {} axes", shape.size()), fmt::format("up to {}", most_axes));
  std::size_t room = largest / std::max(size_of(layout.type), size_of(dtype_for(layout.type)));
  for (const auto length : shape) {
    if (length > room)
      refuse(place, fmt::format("its shape {} is beyond any memory", to_string(shape)),
             "a shape that agrees with the file");
    if (length > 0) room /= length;
  }
  return element_count(shape) * size_of(layout.type);
}

AnyTensor decode(const Layout& layout, std::vector<std::byte> stored, std::string_view place) {
  const auto size = size_of(layout.type);
  if (layout.big_endian != (std::endian::native == std::endian::big)) reverse_each(stored, size);
  if (layout.fortran_order && layout.shape.size() > 1) stored = to_row_major(stored, layout.shape, size);
  return {dtype_for(layout.type), layout.shape, convert(layout.type, std::move(stored), place)};
}

std::string encode(const TensorView& tensor, ElementType type) {
  const auto count = element_count(tensor.shape);
  std::string bytes(count * size_of(type), '\0');
  const auto write = [&](auto convert) {
    const auto* const elements = static_cast<const double*>(tensor.data);
    for (std::size_t i = 0; i < count; ++i) {
      const auto element = convert(elements[i]);
      std::memcpy(bytes.data() + i * sizeof element, &element, sizeof element);
    }
  };
  switch (type) {
    case ElementType::float32:
      write([](double value) { return static_cast<float>(value); });
      break;
    case ElementType::float16:
      write(half_bits);
      break;
    case ElementType::bfloat16:
      write(bfloat16_bits);
      break;
    default:
      if (count > 0) std::memcpy(bytes.data(), tensor.data, bytes.size());
  }
  return bytes;
}

}  // namespace attn
