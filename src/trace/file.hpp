#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "attn/text/width.hpp"

namespace attn {

/// Throws Error: "PLACE: PROBLEM; valid: VALID", where the place is a file and what is in it.
[[noreturn]] void refuse(std::string_view place, std::string_view problem, std::string_view valid);

/// Refuses a pickle of Python, which is a program and no data, with the line of Python that converts it.
[[noreturn]] void refuse_pickle(const std::string& path, bool is_of_torch);

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

/// Whether a text can be the id of an event: letters and digits of ASCII, and _ . / = -
inline bool is_valid_id(std::string_view id) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=-";
  return !id.empty() && id.find_first_not_of(allowed) == id.npos;
}

/// What a name in somebody's file has to be, as messages say it.
inline constexpr std::string_view valid_name = "a name of UTF-8 without control characters";

/// Whether a text can be the name of a tensor in somebody's file, which any line of output may have in it:
/// UTF-8 that is not empty, without control characters.
bool is_valid_name(std::string_view name);

/// A folder of the lab's data by its name: "corpora", "models". It is looked for in the folder that the
/// variable ATTNLAB_DATA names, beside the installed program (share/attnlab) and in the folder that the
/// program was built from. Throws Error, with all of them, where none has it.
std::string data_folder(const std::string& name);

/// All folders of that name, in the order in which they are looked for. Throws the same.
std::vector<std::string> data_folders(const std::string& name);

}  // namespace attn
