#include "attn/text/text_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "attn/error.hpp"

namespace attn {

namespace {

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

}  // namespace

std::string text_of_file(const std::string& path, std::string_view valid) {
  auto stream = open_text(path, valid);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) throw Error(fmt::format("{} cannot be read; valid: {}", path, valid));
  return text;
}

TextLines::TextLines(const std::string& path, const std::string& valid, std::size_t longest)
    : path_(path),
      valid_(valid),
      longest_(longest),
      buffer_(new char[longest + 1]),  // not set to zero: lines are short
      stream_(open_text(path, valid)) {}

std::optional<std::string_view> TextLines::next() {
  stream_.getline(buffer_.get(), static_cast<std::streamsize>(longest_ + 1));
  if (stream_.bad()) throw Error(fmt::format("{} cannot be read; valid: {}", path_, valid_));
  if (stream_.fail() && stream_.eof()) return std::nullopt;
  ++count_;
  if (stream_.fail()) fail(fmt::format("the line is longer than {} bytes", longest_));
  const auto length = static_cast<std::size_t>(stream_.gcount()) - (stream_.eof() ? 0 : 1);
  return std::string_view(buffer_.get(), length);
}

std::string TextLines::place() const {
  return fmt::format("{}, line {}", path_, count_);
}

void TextLines::fail(std::string_view problem, std::string_view valid) const {
  throw Error(fmt::format("{}: {}; valid: {}", place(), problem, valid));
}

}  // namespace attn
