#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "attn/text/width.hpp"

namespace attn {

/// Throws Error: "PLACE: PROBLEM; valid: VALID", where the place is a file and what is in it.
[[noreturn]] void refuse(std::string_view place, std::string_view problem, std::string_view valid);

/// Refuses a pickle of Python, which is a program and no data, with the line of Python that converts it.
[[noreturn]] void refuse_pickle(const std::string& path, bool is_of_torch);

/// A descriptor of the system, which is closed in the end.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  operator int() const { return value_; }

 private:
  int value_;
};

/// A file that is read at any place, or a pipe, which is copied to a temporary file first; "-" is standard
/// input. Nothing else is opened, so that no device keeps the reader waiting. All functions throw Error.
class File {
 public:
  /// `valid` says in messages what would be valid.
  explicit File(std::string path, std::string valid = "an .npz, .safetensors or JSON file with tensors");

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
  std::string path_, valid_;
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace attn
