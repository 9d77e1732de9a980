#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace document {

/// Where something stands in a file, both from 1 on; columns count characters.
struct Place {
  std::string file;
  std::size_t line = 1, column = 1;
};

/// Text that was put together from pieces of a file, which knows where each of them stood.
class Source {
 public:
  Source() = default;

  /// Text that begins at `place`; its lines begin in column 1 of the lines that follow.
  Source(const Place& place, std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }

  /// Where that byte of the text stands in the file.
  Place place_of(std::size_t byte) const;

  void append(const Source& more);

  /// The bytes from `begin` up to `end`, with their places.
  Source part(std::size_t begin, std::size_t end = std::string::npos) const;

  /// That part without the blanks around it.
  Source without_blanks() const;

 private:
  struct Run {
    std::size_t begin;  ///< byte in the text
    Place place;
  };

  std::string file_, text_;
  std::vector<Run> runs_;
};

}  // namespace document
