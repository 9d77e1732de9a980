#include "trace/npz/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/file.hpp"

namespace attn {

namespace {

constexpr std::string_view valid_header =
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), } with the type, order and shape";
constexpr std::string_view valid_types = "bool, int8 to int64, uint8 to uint64, float16, float32 and float64";

constexpr std::array<std::pair<std::string_view, ElementType>, 12> types = {{{"b1", ElementType::boolean},
                                                                             {"i1", ElementType::int8},
                                                                             {"i2", ElementType::int16},
                                                                             {"i4", ElementType::int32},
                                                                             {"i8", ElementType::int64},
                                                                             {"u1", ElementType::uint8},
                                                                             {"u2", ElementType::uint16},
                                                                             {"u4", ElementType::uint32},
                                                                             {"u8", ElementType::uint64},
                                                                             {"f2", ElementType::float16},
                                                                             {"f4", ElementType::float32},
                                                                             {"f8", ElementType::float64}}};

/// "objects" for NumPy's dtype '|O', and so on; the code itself where there is no word for it.
std::string words_for(std::string_view code) {
  switch (code.empty() ? '\0' : code[0]) {
    case 'O':
      return "objects";
    case 'f':
      return "floats of another size";
    case 'c':
      return "complex numbers";
    case 'S':
    case 'U':
      return "texts";
    case 'M':
    case 'm':
      return "times";
    case 'V':
      return "records";
    default:
      return "elements of an unknown type";
  }
}

/// Reads the header of an array, such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }: a
/// literal of Python with these three names in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view place) : text_(text), rest_(text), place_(place) {}

  Layout parse() {
    expect('{');
    while (!take('}')) {
      parse_entry();
      if (!take(',') && peek() != '}') fail();
    }
    peek();
    if (!rest_.empty() || !has_type_ || !has_order_ || !has_shape_) fail();
    return layout_;
  }

 private:
  [[noreturn]] void fail() const {
    refuse(place_, fmt::format("its header is {}", in_message(text_)), valid_header);
  }

  /// The next character that is no white space; NUL at the end.
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool take(char character) {
    if (peek() != character || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char character) {
    if (!take(character)) fail();
  }

  bool take_word(std::string_view word) {
    peek();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view parse_text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail();
    rest_.remove_prefix(1);
    const auto length = rest_.find(quote);
    if (length == rest_.npos) fail();
    const auto text = rest_.substr(0, length);
    rest_.remove_prefix(length + 1);
    return text;
  }

  void parse_entry() {
    const auto name = parse_text();
    expect(':');
    if (name == "descr" && !std::exchange(has_type_, true)) return parse_type();
    if (name == "fortran_order" && !std::exchange(has_order_, true)) return parse_order();
    if (name == "shape" && !std::exchange(has_shape_, true)) return parse_shape();
    fail();
  }

  void parse_type() {
    if (peek() == '[') refuse(place_, "it holds records (a structured dtype)", valid_types);
    const auto descr = parse_text();
    const bool has_order = !descr.empty() && std::string_view("<>|=").find(descr[0]) != descr.npos;
    const auto code = descr.substr(has_order ? 1 : 0);
    for (const auto& [known, type] : types) {
      if (code != known) continue;
      layout_.type = type;
      layout_.big_endian = descr[0] == '>';
      if (size_of(type) == 1 || descr[0] == '<' || descr[0] == '>') return;
    }
    refuse(place_, fmt::format("it holds {} (dtype {})", words_for(code), in_message(descr)), valid_types);
  }

  void parse_order() {
    layout_.fortran_order = take_word("True");
    if (!layout_.fortran_order && !take_word("False")) fail();
  }

  void parse_shape() {
    expect('(');
    bool has_comma = false;
    while (!take(')')) {
      layout_.shape.push_back(parse_length());
      const bool goes_on = take(',');
      has_comma = has_comma || goes_on;
      if (!goes_on && peek() != ')') fail();
    }
    if (layout_.shape.size() == 1 && !has_comma) fail();  // in Python, (3) is a number
  }

  std::size_t parse_length() {
    peek();
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), length);
    if (error != std::errc{}) fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return length;
  }

  std::string_view text_, rest_, place_;
  Layout layout_;
  bool has_type_ = false, has_order_ = false, has_shape_ = false;
};

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

/// NumPy's code for such elements, the lowest byte first.
std::string code_of(ElementType type) {
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const auto& known) { return known.second == type; });
  return (size_of(type) == 1 ? "|" : "<") + std::string(found->first);
}

/// "()", "(3,)", "(3, 4)".
std::string python_tuple(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What stands before the elements, padded such that they are aligned.
std::string npy_preamble(ElementType type, const Shape& shape) {
  constexpr std::size_t alignment = 64, size_before_header = 10;
  auto header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", code_of(type),
                            python_tuple(shape));
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
  const Npy npy{HeaderParser(literal, place).parse(), header_size};
  const std::uint64_t promised = stored_size(npy.layout, place), there = size - header_size;
  if (promised != there)
    refuse(place,
           fmt::format("its header promises {} of {}, which take {} bytes, but {} are there",
                       to_string(npy.layout.shape), name_of(npy.layout.type), promised, there),
           "as many as promised");
  return npy;
}

std::string npy_bytes(const TensorView& tensor) {
  const auto type = tensor.dtype == Dtype::bfloat16 ? ElementType::float32 : element_type_of(tensor.dtype);
  return npy_preamble(type, tensor.shape) + encode(tensor, type);
}

std::string npy_bytes(const std::string& text) {
  return npy_preamble(ElementType::uint8, {text.size()}) + text;
}

}  // namespace attn
