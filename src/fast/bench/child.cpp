#include "fast/bench/child.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

namespace attn::bench {

namespace {

enum ExitStatus { finished = 0, no_memory = 3, other_failure = 4 };

[[noreturn]] void fail(const char* action) {
  throw std::system_error(errno, std::generic_category(), action);
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) fail("open a pipe");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_writing_end();
    ::close(ends_[0]);
  }

  int reading_end() const { return ends_[0]; }
  int writing_end() const { return ends_[1]; }

  void close_writing_end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

bool write_all(int descriptor, const std::vector<double>& numbers) {
  const auto* bytes = reinterpret_cast<const char*>(numbers.data());
  std::size_t left = numbers.size() * sizeof(double);
  while (left > 0) {
    const auto written = ::write(descriptor, bytes, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    left -= static_cast<std::size_t>(written);
  }
  return true;
}

std::vector<double> read_all(int descriptor) {
  std::vector<char> bytes;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + count);
  }
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

[[noreturn]] void be_child(const std::function<std::vector<double>()>& work, int descriptor) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    ::_exit(write_all(descriptor, work()) ? finished : other_failure);
  } catch (const std::bad_alloc&) {
    ::_exit(no_memory);
  } catch (...) {
    ::_exit(other_failure);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("wait for a measurement");
  return status;
}

/// Addresses that this process has mapped, in bytes.
struct AddressSpace {
  double now;
  double peak;
};

std::optional<AddressSpace> address_space() {
  std::array<char, 4096> text{};
  const int descriptor = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const auto count = ::read(descriptor, text.data(), text.size() - 1);
  ::close(descriptor);
  if (count <= 0) return std::nullopt;
  const char* const peak = std::strstr(text.data(), "VmPeak:");
  const char* const now = std::strstr(text.data(), "VmSize:");
  if (peak == nullptr || now == nullptr) return std::nullopt;
  const auto bytes = [](const char* line) {
    return 1024.0 * std::strtod(line + std::strlen("VmPeak:"), nullptr);
  };
  return AddressSpace{bytes(now), bytes(peak)};
}

/// Takes, for good, what the heap has left in pieces of a page or more.
void use_up_heap() {
  constexpr std::size_t page = 4096;
  for (std::size_t pages = ::mallinfo2().fordblks / page + 1; pages > 0; --pages) {
    void* const volatile piece = std::malloc(page);
    static_cast<void>(piece);
  }
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return Ending::too_slow;
  const bool was_killed =
      WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;  // as a system short of memory does
  if (was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == no_memory)) return Ending::out_of_memory;
  return Ending::failed;
}

}  // namespace

std::variant<std::vector<double>, Ending> run_in_child(const std::function<std::vector<double>()>& work) {
  Pipe pipe;
  const pid_t child = ::fork();
  if (child < 0) fail("start a measurement");
  if (child == 0) be_child(work, pipe.writing_end());

  pipe.close_writing_end();
  auto numbers = read_all(pipe.reading_end());
  const int status = wait_for(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == finished) return numbers;
  return ending_of(status);
}

TimeLimit::TimeLimit(double seconds) {
  constexpr double shortest = 1e-6, longest = 1e8;
  const double limit = std::clamp(seconds, shortest, longest), whole = std::floor(limit);
  const ::itimerval timer = {
      .it_interval = {},
      .it_value = {static_cast<time_t>(whole), static_cast<suseconds_t>((limit - whole) * 1e6)}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

TimeLimit::~TimeLimit() {
  const ::itimerval none{};
  ::setitimer(ITIMER_REAL, &none, nullptr);
}

void map_allocations_one_by_one() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 4096);
  ::mallopt(M_MMAP_MAX, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 0);
  ::mallopt(M_TOP_PAD, 0);
  use_up_heap();
}

AddressSpaceMeter::AddressSpaceMeter() {
  const auto before = address_space();
  if (!before) return;
  peak_before_ = before->peak;
  filling_size_ = static_cast<std::size_t>(before->peak - before->now);
  if (filling_size_ == 0) return;
  filling_ = ::mmap(nullptr, filling_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (filling_ == MAP_FAILED) filling_ = nullptr;
}

AddressSpaceMeter::~AddressSpaceMeter() {
  if (filling_ != nullptr) ::munmap(filling_, filling_size_);
}

std::optional<double> AddressSpaceMeter::growth() const {
  const auto now = address_space();
  if (!now || !peak_before_) return std::nullopt;
  return now->peak - *peak_before_;
}

}  // namespace attn::bench
