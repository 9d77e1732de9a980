#pragma once

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>

namespace attn {

/// The bytes of a JSON file. JSON has no numbers that are not finite, yet many programs, Python's json.dump
/// among them, write NaN, Infinity and -Infinity as if it had: outside of texts these get the quotes that
/// they have where this program writes them.
class QuotedBytes {
 public:
  /// `file` must outlive it.
  explicit QuotedBytes(std::FILE* file) : file_(file) {}

  /// The next byte, none at the end.
  std::optional<char> next();

  /// How many of the bytes so far are quotes that the file does not have.
  std::size_t added() const { return added_; }

 private:
  /// The byte in the file and the letters that follow it, in quotes where they are such a number.
  std::string word_from(char first);

  std::FILE* file_;
  std::string word_;         ///< that was read already
  std::size_t in_word_ = 0;  ///< how much of it was passed on
  std::size_t added_ = 0;
  bool is_in_text_ = false, is_escaped_ = false;
};

/// What a parser reads them through.
class QuotedByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  QuotedByteIterator() = default;  ///< the end
  explicit QuotedByteIterator(QuotedBytes& bytes) : bytes_(&bytes), byte_(bytes.next()) {}

  char operator*() const { return *byte_; }
  QuotedByteIterator& operator++() {
    byte_ = bytes_->next();
    return *this;
  }
  QuotedByteIterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const QuotedByteIterator& other) const {
    return byte_.has_value() == other.byte_.has_value();
  }
  bool operator!=(const QuotedByteIterator& other) const { return !(*this == other); }

 private:
  QuotedBytes* bytes_ = nullptr;
  std::optional<char> byte_;
};

}  // namespace attn
