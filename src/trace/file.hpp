#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace attn {

/// Throws Error: "PLACE: PROBLEM; valid: VALID", where the place is a file and what is in it.
[[noreturn]] void refuse(std::string_view place, std::string_view problem, std::string_view valid);

/// A text from a file as it can stand in a message: in quotes, escaped and short.
std::string in_message(std::string_view text);

/// A regular file that is read at any place. Nothing else is opened, so that no pipe and no device keeps the
/// reader waiting. All functions throw Error.
class File {
 public:
  explicit File(std::string path);
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const { return path_; }

  /// In bytes, when it was opened.
  std::uint64_t size() const { return size_; }

  /// Reads into `to` and returns how many bytes it were: fewer than `count` at the end of the file only.
  std::size_t read(std::uint64_t offset, char* to, std::size_t count) const;

  /// As above, but refuses a file that has become shorter.
  void read_exactly(std::uint64_t offset, char* to, std::size_t count) const;

  /// Another handle on the same file, to be closed by the caller.
  std::FILE* stream() const;

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace attn
