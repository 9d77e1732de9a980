#pragma once

#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace attn {

/// Opens a file that is read as text. Throws Error, with what would be valid, for a directory and for a file
/// that cannot be opened.
std::ifstream open_text(const std::string& path, std::string_view valid);

/// The whole of it. Throws Error as above, and for a file of more bytes.
std::string text_of_file(const std::string& path, std::string_view valid,
                         std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

}  // namespace attn
