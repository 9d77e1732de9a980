#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// The whole of a text file. Throws Error, with what would be valid, for a directory and for a file that
/// cannot be opened or read.
std::string text_of_file(const std::string& path, std::string_view valid);

/// A text file, read line by line.
class TextLines {
 public:
  /// Of lines of at most `longest` bytes. Throws Error as above.
  TextLines(const std::string& path, const std::string& valid, std::size_t longest);

  /// The next line without its end, until the one after; nothing at the end of the file. Throws Error for a
  /// longer line.
  std::optional<std::string_view> next();

  /// How many lines were read.
  std::size_t count() const { return count_; }

  /// "FILE, line 3", the line that was read last.
  std::string place() const;

  /// Throws Error, with the place.
  [[noreturn]] void fail(std::string_view problem) const { fail(problem, valid_); }
  [[noreturn]] void fail(std::string_view problem, std::string_view valid) const;

 private:
  std::string path_, valid_;
  std::size_t longest_, count_ = 0;
  std::unique_ptr<char[]> buffer_;
  std::ifstream stream_;
};

}  // namespace attn
