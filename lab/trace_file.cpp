#include "lab/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"

namespace lab {

namespace {

namespace fs = std::filesystem;

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

/// What follows the start, of a pipe too, whose length nobody knows.
std::string read_rest(std::istream& stream, std::string text, std::size_t expected_size) {
  text.reserve(expected_size);
  std::vector<char> chunk(1 << 16);
  while (stream) {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

std::string checked_text(std::string text, const std::string& path) {
  if (text.find_first_not_of(blanks) == std::string::npos) refuse(path, "it is empty");
  attn::require_valid_utf8(text, path);
  return text;
}

}  // namespace

TraceFile open_trace_file(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) refuse(path, error ? error.message() : "No such file or directory");
  if (fs::is_directory(status)) refuse(path, "it is a directory");
  if (!fs::is_regular_file(status) && !fs::is_fifo(status)) refuse(path, "it is neither a file nor a pipe");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, std::strerror(errno));
  std::string start(64, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const auto size = fs::is_regular_file(status) ? fs::file_size(path) : 0;
  if (!is_data(start)) return checked_text(read_rest(file, std::move(start), size), path);
  if (fs::is_fifo(status)) refuse(path, "it is data from a pipe");
  return attn::open_trace(path);
}

std::size_t first_different_line(const std::string& path_a, const std::string& path_b) {
  std::error_code error;
  if (fs::file_size(path_a, error) != fs::file_size(path_b, error) || error) return 0;
  std::ifstream a(path_a, std::ios::binary), b(path_b, std::ios::binary);
  std::vector<char> chunk_a(1 << 16), chunk_b(1 << 16);
  for (std::size_t line = 1; a && b;) {
    a.read(chunk_a.data(), static_cast<std::streamsize>(chunk_a.size()));
    b.read(chunk_b.data(), static_cast<std::streamsize>(chunk_b.size()));
    const auto end = chunk_a.begin() + std::min(a.gcount(), b.gcount());
    const auto same = std::mismatch(chunk_a.begin(), end, chunk_b.begin()).first;
    line += static_cast<std::size_t>(std::count(chunk_a.begin(), same, '\n'));
    if (same != end) return line;
  }
  return 0;
}

}  // namespace lab
