#include "lab/trace_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/text/utf8.hpp"
#include "trace/file.hpp"

namespace lab {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view blanks = " \t\r\n";

/// Whether it begins as an archive, an array of NumPy, a JSON object or the length of a safetensors header
/// does: a printed trace has no such beginning.
bool is_data(std::string_view start) {
  const auto visible = start.substr(std::min(start.find_first_not_of(blanks), start.size()));
  return start.starts_with("PK") || start.starts_with("\x93NUMPY") || visible.starts_with('{') ||
         start.find('\0') != std::string_view::npos;
}

}  // namespace

TraceFile open_trace_file(const std::string& path) {
  constexpr const char* valid = "a trace as text, JSON, npz or safetensors";
  attn::File file(path, valid);
  const auto& text = file.bytes();
  if (is_data(std::string_view(text).substr(0, 64))) return attn::open_trace(std::move(file));
  if (text.find_first_not_of(blanks) == std::string::npos) attn::refuse(path, "it is empty", valid);
  attn::require_valid_utf8(text, path);
  return text;
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
