#pragma once

#include <string>
#include <string_view>

namespace attn {

/// Throws Error: "PLACE: PROBLEM; valid: VALID", where the place is a file and what is in it.
[[noreturn]] void refuse(std::string_view place, std::string_view problem, std::string_view valid);

/// Refuses a pickle of Python, which is a program and no data, with the line of Python that converts it.
[[noreturn]] void refuse_pickle(const std::string& path, bool is_of_torch);

/// A text from a file as it can stand in a message: in quotes, escaped and short.
std::string in_message(std::string_view text);

/// What a file holds, or a pipe; "-" is standard input. Nothing else is opened, so that no device keeps the
/// reader waiting. Throws Error.
class File {
 public:
  /// `valid` says in messages what would be valid.
  explicit File(std::string path, std::string_view valid = "an .npz, .safetensors or JSON file with tensors");

  const std::string& path() const { return path_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string path_, bytes_;
};

}  // namespace attn
