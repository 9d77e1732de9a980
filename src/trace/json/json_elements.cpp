#include "trace/json/json_elements.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

namespace attn {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether what std::from_chars took for a number is one in JSON as well: 1, -0.5, 1e-5; not .5, 1., 01, inf.
bool is_json_number(const char* next, const char* end) {
  const auto pass_digits = [&] {
    const char* const start = next;
    while (next < end && is_digit(*next)) ++next;
    return next > start;
  };
  if (next < end && *next == '-') ++next;
  const bool begins_with_zero = next < end && *next == '0';
  if (begins_with_zero)
    ++next;
  else if (!pass_digits())
    return false;
  if (next < end && *next == '.') {
    ++next;
    if (!pass_digits()) return false;
  }
  return next == end || *next == 'e' || *next == 'E';
}

template <class T>
T parse_number(JsonText& text) {
  const auto ahead = text.look_ahead();
  T number{};
  const auto [end, error] = std::from_chars(ahead.data(), ahead.data() + ahead.size(), number);
  if (error != std::errc{} || !is_json_number(ahead.data(), end))
    text.fail(fmt::format("a number of {}", name_of(dtype_of<T>())));
  text.advance(static_cast<std::size_t>(end - ahead.data()));
  return number;
}

/// One of the strings that stand for what is not finite; none where something else follows.
template <class T>
std::optional<T> parse_non_finite(JsonText& text) {
  using Limits = std::numeric_limits<T>;
  static constexpr std::array<std::pair<std::string_view, T>, 3> words = {
      {{R"("-Infinity")", -Limits::infinity()},
       {R"("Infinity")", Limits::infinity()},
       {R"("NaN")", Limits::quiet_NaN()}}};
  const auto ahead = text.look_ahead();
  for (const auto& [word, value] : words)
    if (ahead.starts_with(word)) {
      text.advance(word.size());
      return value;
    }
  return std::nullopt;
}

template <class T>
T parse_element(JsonText& text, Dtype dtype) {
  if constexpr (std::is_floating_point_v<T>) {
    if (text.peek() == '"')
      if (const auto value = parse_non_finite<T>(text)) return *value;
    if (dtype == Dtype::float32) return static_cast<double>(parse_number<float>(text));
    return round_to(dtype, parse_number<T>(text));
  }
  return parse_number<T>(text);
}

template <>
bool parse_element<bool>(JsonText& text, Dtype) {
  const auto word = text.look_ahead();
  const bool value = word.starts_with("true");
  if (!value && !word.starts_with("false")) text.fail("true or false");
  text.advance(value ? 4 : 5);
  return value;
}

template <class T>
void parse_nested(JsonText& text, Dtype dtype, const Shape& shape, std::size_t axis, T*& element) {
  if (axis == shape.size()) {
    *element++ = parse_element<T>(text, dtype);
    return;
  }
  text.expect('[');
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text.expect(',');
    parse_nested(text, dtype, shape, axis + 1, element);
  }
  text.expect(']');
}

template <class T>
AnyTensor read_elements_of(JsonText& text, Dtype dtype, const Shape& shape) {
  AnyTensor tensor(dtype, shape);
  T* element = tensor.elements<T>();
  parse_nested(text, dtype, shape, 0, element);
  if (text.peek() != '\0') text.fail("the end of its data");
  return tensor;
}

}  // namespace

AnyTensor read_elements(JsonText& text, Dtype dtype, const Shape& shape) {
  switch (dtype) {
    case Dtype::int64:
      return read_elements_of<std::int64_t>(text, dtype, shape);
    case Dtype::boolean:
      return read_elements_of<bool>(text, dtype, shape);
    default:
      return read_elements_of<double>(text, dtype, shape);
  }
}

}  // namespace attn
