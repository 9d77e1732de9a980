#include "trace/json/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace attn {

namespace {

constexpr std::size_t window_size = std::size_t{1} << 18, least_ahead = 1000;

enum class Meaning : unsigned char { none, quote, opening, closing, separator };

constexpr auto meanings = [] {
  std::array<Meaning, 256> table{};
  table['"'] = Meaning::quote;
  for (const unsigned char c : {'[', '{'}) table[c] = Meaning::opening;
  for (const unsigned char c : {']', '}'}) table[c] = Meaning::closing;
  for (const unsigned char c : {',', ':', ' ', '\t', '\n', '\r'}) table[c] = Meaning::separator;
  return table;
}();

/// Where a value ends, found character by character.
class ValueEnd {
 public:
  /// Passes over characters up to the end of the value or of the text.
  const char* find(const char* next, const char* end) {
    while (next < end && !is_over_) next = is_in_string_ ? pass_string(next, end) : pass(next, end);
    return next;
  }

  bool is_over() const { return is_over_; }
  bool is_inside() const { return depth_ > 0 || is_in_string_; }

 private:
  const char* pass(const char* next, const char* end) {
    while (next < end && meanings[static_cast<unsigned char>(*next)] == Meaning::none) ++next;
    if (next == end) return next;
    const auto meaning = meanings[static_cast<unsigned char>(*next)];
    const bool ends_before = depth_ == 0 && (meaning == Meaning::closing || meaning == Meaning::separator);
    if (meaning == Meaning::quote) is_in_string_ = true;
    if (meaning == Meaning::opening) ++depth_;
    if (meaning == Meaning::closing && depth_ > 0) is_over_ = --depth_ == 0;
    is_over_ = is_over_ || ends_before;
    return ends_before ? next : next + 1;
  }

  const char* pass_string(const char* next, const char* end) {
    for (; next < end; ++next) {
      if (std::exchange(is_escaped_, false)) continue;
      is_escaped_ = *next == '\\';
      if (*next != '"') continue;
      is_in_string_ = false;
      is_over_ = depth_ == 0;
      return next + 1;
    }
    return next;
  }

  std::size_t depth_ = 0;
  bool is_in_string_ = false, is_escaped_ = false, is_over_ = false;
};

}  // namespace

JsonText::JsonText(const File& file, std::uint64_t begin, std::uint64_t end, std::string place)
    : file_(file),
      offset_(begin),
      limit_(end),
      place_(std::move(place)),
      window_(static_cast<std::size_t>(std::min<std::uint64_t>(window_size, end - begin))),
      next_(window_.data()),
      end_(window_.data()) {}

bool JsonText::refill() {
  const auto rest = static_cast<std::size_t>(end_ - next_);
  const auto more = std::min<std::uint64_t>(window_.size() - rest, limit_ - offset_);
  if (more == 0) return false;
  std::memmove(window_.data(), next_, rest);
  file_.read_exactly(offset_, window_.data() + rest, static_cast<std::size_t>(more));
  offset_ += more;
  next_ = window_.data();
  end_ = next_ + rest + more;
  return true;
}

std::string_view JsonText::look_ahead() {
  peek();
  if (static_cast<std::size_t>(end_ - next_) < least_ahead) refill();
  return {next_, static_cast<std::size_t>(end_ - next_)};
}

std::uint64_t JsonText::position() {
  peek();
  return offset_ - static_cast<std::uint64_t>(end_ - next_);
}

template <class Keep>
void JsonText::pass_value(Keep keep) {
  const auto begin = position();
  ValueEnd value_end;
  do {
    const char* const start = next_;
    next_ = value_end.find(next_, end_);
    keep(std::string_view(start, static_cast<std::size_t>(next_ - start)));
  } while (!value_end.is_over() && refill());
  const auto end = offset_ - static_cast<std::uint64_t>(end_ - next_);
  if (value_end.is_inside()) fail("the end of a value");
  if (end == begin) fail("a value");
}

std::string JsonText::take_value() {
  std::string text;
  pass_value([&](std::string_view piece) { text += piece; });
  return text;
}

void JsonText::skip_value() {
  pass_value([](std::string_view) {});
}

void JsonText::fail(std::string_view wanted) {
  const auto found = look_ahead().substr(0, 24);
  const auto problem = found.empty() ? fmt::format("it ends at byte {} where {} belongs", position(), wanted)
                                     : fmt::format("at byte {} it has {} where {} belongs", position(),
                                                   in_message(found), wanted);
  refuse(place_, problem, "a trace as --format json writes it");
}

}  // namespace attn
