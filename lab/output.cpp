#include "lab/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "attn/error.hpp"
#include "lab/ranks.hpp"
#include "trace/json/json.hpp"
#include "trace/archives.hpp"

namespace lab {

namespace {

namespace fs = std::filesystem;

/// 0, or the error number.
int write_all(int descriptor, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const auto count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    written += static_cast<std::size_t>(count);
  }
  return 0;
}

constexpr std::string_view usual_option = "--output";

[[noreturn]] void refuse(const std::string& path, int error, std::string_view option = usual_option) {
  throw attn::Error(
      fmt::format("{} {} cannot be written: {}; valid: a file in a folder that exists and may be written to",
                  option, path, std::strerror(error)));
}

void write_directly(const std::string& path, const std::string& text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  const int error = write_all(descriptor, text);
  ::close(descriptor);
  if (error != 0 && error != EPIPE) refuse(path, error);
}

mode_t default_file_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>(0666) & ~mask;
}

/// The file that a chain of symbolic links ends at, which need not exist; `path` itself where it is no link.
/// Not for links that go in a circle.
fs::path followed(fs::path path) {
  std::error_code ignored;
  while (fs::is_symlink(fs::symlink_status(path, ignored)))
    path = path.parent_path() / fs::read_symlink(path, ignored);
  return path;
}

void write_beside_and_rename(const fs::path& path, mode_t mode, const std::string& text) {
  std::string temporary = path.parent_path() / ".attnlab.XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) refuse(path, errno);
  int error = write_all(descriptor, text);
  if (error == 0 && ::fchmod(descriptor, mode) != 0) error = errno;
  if (error == 0 && ::fsync(descriptor) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  refuse(path, error);
}

/// Of the file at the end of all links, which need not exist. Throws where it is there and cannot be written.
fs::file_status status_for_writing(const std::string& path, std::string_view option = usual_option) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::status_known(status)) refuse(path, error.value(), option);
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0) refuse(path, errno, option);
  return status;
}

}  // namespace

void write_to_stdout(const std::string& text) {
  if (!is_first_rank()) return;
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE)
    throw attn::Error(fmt::format("standard output cannot be written: {}", std::strerror(error)));
}

void require_writable(const std::string& path, std::string_view option) {
  if (!is_first_rank()) return;
  const auto status = status_for_writing(path, option);
  const auto folder = fs::absolute(followed(path)).parent_path();
  if (!fs::exists(status) && ::access(folder.c_str(), W_OK | X_OK) != 0) refuse(path, errno, option);
  if (fs::is_directory(status)) refuse(path, EISDIR, option);
}

void write_to_file(const std::string& path, const std::string& text) {
  if (!is_first_rank()) return;
  const auto status = status_for_writing(path);
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, text);
  const auto mode = fs::exists(status) ? static_cast<mode_t>(status.permissions()) : default_file_mode();
  write_beside_and_rename(followed(path), mode, text);
}

void make_folder_of(const std::string& file) {
  std::error_code error;
  const auto folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    throw attn::Error(fmt::format(
        "--output {}: the folder {} cannot be made: {}; valid: a file in a folder that can be written", file,
        folder.string(), error.message()));
}

std::optional<std::string> tensor_file(const std::string& path, const attn::Header& header,
                                       const std::function<void(attn::Sink&)>& tell) {
  const auto written_by = [&](auto writer) {
    tell(writer);
    return writer.finish();
  };
  const auto ending = fs::path(path).extension();
  if (ending == ".npz") return written_by(attn::NpzWriter(header));
  if (ending == ".safetensors") return written_by(attn::SafetensorsWriter(header));
  if (ending == ".json") return written_by(attn::JsonWriter(header));
  return std::nullopt;
}

}  // namespace lab
