#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

/// Of several ranks with the same output the first one writes.
namespace lab {

/// Writes to standard output. A reader that has gone away is no error. Throws attn::Error where the system
/// refuses.
void write_to_stdout(const std::string& text);

/// Throws attn::Error where `write_to_file` would, and names the option: to be asked ahead of what takes
/// long.
void require_writable(const std::string& path, std::string_view option = "--output");

/// Makes the folder of a file where it is not there yet. Throws attn::Error where the system refuses.
void make_folder_of(const std::string& file);

/// Writes a file whole or not at all: beside it under another name, then renamed. A file that is there keeps
/// its permissions, a symbolic link stays and is followed, and what is no regular file (a device, a pipe) is
/// written to directly. Throws attn::Error where the system refuses.
void write_to_file(const std::string& path, const std::string& text);

/// A file of the tensors that `tell` sends, in the format of the path's ending: .npz, .safetensors or .json.
/// Nothing for another ending.
std::optional<std::string> tensor_file(const std::string& path, const attn::Header& header,
                                       const std::function<void(attn::Sink&)>& tell);

}  // namespace lab
