#include "trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

constexpr std::string_view valid_file = "an .npz, .safetensors or JSON file with tensors";

}  // namespace

void refuse(std::string_view place, std::string_view problem, std::string_view valid) {
  throw Error(fmt::format("{}: {}; valid: {}", place, problem, valid));
}

std::string in_message(std::string_view text) {
  return shorten(fmt::format("{:?}", text.substr(0, 200)), 60);
}

File::File(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (descriptor_ < 0)
    refuse(path_, fmt::format("it cannot be opened: {}", std::strerror(errno)), valid_file);
  struct stat status {};
  const bool is_known = ::fstat(descriptor_, &status) == 0;
  if (is_known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  refuse(path_, S_ISDIR(status.st_mode) ? "it is a directory" : "it is no regular file", valid_file);
}

File::File(File&& other) noexcept
    : path_(other.path_), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t File::read(std::uint64_t offset, char* to, std::size_t count) const {
  std::size_t done = 0;
  while (done < count) {
    const auto got = ::pread(descriptor_, to + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, fmt::format("it cannot be read: {}", std::strerror(errno)), valid_file);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void File::read_exactly(std::uint64_t offset, char* to, std::size_t count) const {
  const auto got = read(offset, to, count);
  if (got < count)
    refuse(path_, fmt::format("it ends at byte {} of {}", offset + got, size_), "a file that is whole");
}

std::FILE* File::stream() const {
  const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  std::FILE* stream = copy < 0 ? nullptr : ::fdopen(copy, "rb");
  if (stream == nullptr) {
    const int error = errno;
    if (copy >= 0) ::close(copy);
    refuse(path_, fmt::format("it cannot be opened: {}", std::strerror(error)), valid_file);
  }
  return stream;
}

}  // namespace attn
