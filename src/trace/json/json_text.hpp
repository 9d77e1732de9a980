#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/file.hpp"

namespace attn {

/// Part of a file, read as JSON from front to back through a small window, so that large documents take
/// little memory. All functions skip white space before what they take, and throw Error, with the place,
/// where something else follows.
class JsonText {
 public:
  JsonText(const File& file, std::uint64_t begin, std::uint64_t end, std::string place);

  const std::string& place() const { return place_; }

  /// The next character; NUL at the end.
  char peek() {
    do {
      for (; next_ < end_; ++next_)
        if (!is_white(*next_)) return *next_;
    } while (refill());
    return '\0';
  }

  bool take(char character) {
    if (peek() != character || next_ == end_) return false;
    ++next_;
    return true;
  }

  void expect(char character) {
    if (!take(character)) fail(std::string("\"") + character + '"');
  }

  /// The value that follows, as it is written; brackets are counted and nothing else is checked.
  std::string take_value();

  /// As `take_value`, without keeping it.
  void skip_value();

  /// What follows, some of it: for numbers and other short values. At least 1000 bytes where there are as
  /// many; valid until the next call.
  std::string_view look_ahead();

  /// Moves on in what was seen ahead.
  void advance(std::size_t count) { next_ += count; }

  /// Where the next value begins, from the beginning of the file.
  std::uint64_t position();

  /// Refuses what follows, where something else belongs.
  [[noreturn]] void fail(std::string_view wanted);

 private:
  static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  /// Makes the rest of the window its beginning and fills it up. False where the text has no more.
  bool refill();

  /// Passes over a value and hands its text on in pieces.
  template <class Keep>
  void pass_value(Keep keep);

  const File& file_;
  std::uint64_t offset_, limit_;  ///< of the first byte after the window, and of the end
  std::string place_;
  std::vector<char> window_;
  const char* next_;
  const char* end_;
};

}  // namespace attn
