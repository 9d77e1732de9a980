#include "trace/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

bool is_pipe(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

/// A pipe is waited for, all else is not.
int open_descriptor(const std::string& path) {
  if (path == "-") return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_pipe(path) ? 0 : O_NONBLOCK));
}

/// What is read until the end, in a temporary file; an invalid descriptor where that cannot be.
Descriptor copied(int descriptor) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> copy(
      std::tmpfile(), [](std::FILE* file) { return file == nullptr ? 0 : std::fclose(file); });
  std::vector<char> chunk(std::size_t{1} << 16);
  while (copy != nullptr) {
    const auto got = ::read(descriptor, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0 && std::fflush(copy.get()) == 0)
      return Descriptor(::fcntl(::fileno(copy.get()), F_DUPFD_CLOEXEC, 0));
    const auto count = static_cast<std::size_t>(got);
    if (std::fwrite(chunk.data(), 1, count, copy.get()) != count || got == 0) break;
  }
  return Descriptor(-1);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

void refuse(std::string_view place, std::string_view problem, std::string_view valid) {
  throw Error(fmt::format("{}: {}; valid: {}", place, problem, valid));
}

void refuse_pickle(const std::string& path, bool is_of_torch) {
  const auto npz = path.substr(0, path.rfind('.')) + ".npz";
  const auto line =
      is_of_torch
          ? fmt::format(
                "import numpy, torch; numpy.savez(\"{}\", **{{name: (x.float() if x.dtype == "
                "torch.bfloat16 else x).detach().numpy() for name, x in torch.load(\"{}\", "
                "map_location=\"cpu\").items()}})",
                npz, path)
          : fmt::format("import numpy, pickle; numpy.savez(\"{}\", **pickle.load(open(\"{}\", \"rb\")))", npz,
                        path);
  refuse(path, fmt::format("it is a pickle{}, which only Python reads", is_of_torch ? " of torch.save" : ""),
         fmt::format("{}, which python3 -c '{}' writes of a dict of {}", npz, line,
                     is_of_torch ? "tensors, as a state dict is" : "arrays"));
}

File::File(std::string path, std::string valid)
    : path_(std::move(path)), valid_(std::move(valid)), descriptor_(open_descriptor(path_)) {
  const auto fail = [&] {
    refuse(path_, fmt::format("it cannot be opened: {}", std::strerror(errno)), valid_);
  };
  if (descriptor_ < 0) fail();
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail();
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || (path_ == "-" && ::isatty(descriptor_) == 1)) {
    descriptor_ = copied(descriptor_);
    if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) fail();
  }
  if (!S_ISREG(status.st_mode))
    refuse(path_, S_ISDIR(status.st_mode) ? "it is a directory" : "it is neither a file nor a pipe", valid_);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t File::read(std::uint64_t offset, char* to, std::size_t count) const {
  std::size_t done = 0;
  while (done < count) {
    const auto got = ::pread(descriptor_, to + done, count - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path_, fmt::format("it cannot be read: {}", std::strerror(errno)), valid_);
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
    refuse(path_, fmt::format("it cannot be opened: {}", std::strerror(error)), valid_);
  }
  std::rewind(stream);
  return stream;
}

}  // namespace attn
