#include "attn/text/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "attn/error.hpp"

namespace attn {

std::ifstream open_text(const std::string& path, std::string_view valid) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(fmt::format("{} is a directory; valid: {}", path, valid));
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw Error(fmt::format("{} cannot be opened: {}; valid: {}", path, std::strerror(errno), valid));
  return stream;
}

std::string text_of_file(const std::string& path, std::string_view valid, std::size_t most_bytes) {
  auto stream = open_text(path, valid);
  std::string text;
  for (auto byte = std::istreambuf_iterator<char>(stream); byte != std::istreambuf_iterator<char>(); ++byte) {
    if (text.size() == most_bytes)
      throw Error(fmt::format("{} is too long; valid: up to {} bytes", path, most_bytes));
    text += *byte;
  }
  if (stream.bad()) throw Error(fmt::format("{} cannot be read; valid: {}", path, valid));
  return text;
}

}  // namespace attn
