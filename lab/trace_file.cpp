#include "lab/trace_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"

namespace lab {

namespace {

using attn::Error;

constexpr std::string_view blanks = " \t\r\n";

[[noreturn]] void refuse(const std::string& path, std::string_view reason) {
  throw Error(
      fmt::format("{} cannot be read: {}; valid: a trace as text, JSON, npz or safetensors", path, reason));
}

/// Whether it begins as an archive, an array of NumPy, a JSON object or the length of a safetensors header
/// does: a printed trace has no such beginning.
bool is_data(std::string_view start) {
  const auto visible = start.substr(std::min(start.find_first_not_of(blanks), start.size()));
  return start.starts_with("PK") || start.starts_with("\x93NUMPY") || visible.starts_with('{') ||
         start.find('\0') != std::string_view::npos;
}

std::string read_rest(std::istream& stream, std::string start) {
  start.append(std::istreambuf_iterator<char>(stream), {});
  return start;
}

std::string checked_text(std::string text, const std::string& path) {
  if (text.find_first_not_of(blanks) == std::string::npos) refuse(path, "it is empty");
  attn::require_valid_utf8(text, path);
  return text;
}

}  // namespace

TraceFile open_trace_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) refuse(path, "it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, std::strerror(errno));
  std::string start(64, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  if (!is_data(start)) return checked_text(read_rest(file, std::move(start)), path);
  if (!std::filesystem::is_regular_file(path)) refuse(path, "it is data from a pipe");
  return attn::open_trace(path);
}

}  // namespace lab
