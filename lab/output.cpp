#include "lab/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "fast/ranks/network.hpp"
#include "lab/ranks.hpp"
#include "trace/archives.hpp"
#include "trace/json/json.hpp"

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

std::string pager_command() {
  const auto pager = environment("PAGER");
  if (!pager) return terminal_is_dumb() ? "" : "command -v less >/dev/null || exit 127; exec less -FRX";
  const bool is_none = pager->find_first_not_of(' ') == pager->npos || pager == "cat";
  return is_none ? "" : std::string(*pager);
}

/// Whether the text leaves the last row of the screen free, which the shell's next prompt takes.
bool fits(std::string_view text, const Screen& screen) {
  std::size_t rows = 0;
  while (!text.empty() && rows < screen.rows) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto width = attn::display_width(attn::without_colours(line));
    rows += std::max<std::size_t>(1, (width + screen.columns - 1) / screen.columns);
  }
  return rows < screen.rows;
}

/// A pager starts with the signals as they are by default.
std::FILE* start(const std::string& command) {
  ::setenv("LESS", "FRX", 0);
  const SignalAction closed_pipe(SIGPIPE, SIG_DFL);
  return ::popen(command.c_str(), "w");
}

/// Whether the pager was there. What ends it ends nothing else: an interrupt is a key of its own.
bool page_through(const std::string& command, const std::string& text) {
  std::FILE* pager = start(command);
  if (pager == nullptr) return false;
  const SignalAction interrupt(SIGINT, SIG_IGN), quit(SIGQUIT, SIG_IGN);
  std::fwrite(text.data(), 1, text.size(), pager);  // in vain where the reader has left
  const int status = ::pclose(pager);
  constexpr int not_executable = 126, not_found = 127;  // as the shell reports
  return !WIFEXITED(status) || (WEXITSTATUS(status) != not_executable && WEXITSTATUS(status) != not_found);
}

constexpr std::size_t bar_cells = 30, bar_width = 79;
const char* const back_and_wipe = "\r\x1B[K";

/// In place of what stands there.
void show_on_stderr(const std::string& line) {
  fmt::print(stderr, "{}{}", back_and_wipe, attn::shorten(line, bar_width));
  std::fflush(stderr);
}

/// On a terminal, and where ATTNLAB_PROGRESS says otherwise as it says.
bool is_wanted() {
  const auto asked = environment("ATTNLAB_PROGRESS");
  return asked ? asked == "1" : isatty(STDERR_FILENO) == 1;
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

void show(const std::string& text, Paging paging) {
  const auto screen = screen_of_stdout();
  const bool is_too_long = paging == Paging::automatic && screen && !fits(text, *screen);
  const auto command = is_too_long ? pager_command() : "";
  if (command.empty() || !page_through(command, text)) write_to_stdout(text);
}

void write_or_show(const std::string& text, const std::optional<std::string>& file, Paging paging) {
  if (file)
    write_to_file(*file, text);
  else
    show(text, paging);
}

bool stdout_is_terminal() {
  return isatty(STDOUT_FILENO) == 1 && !attn::fast::started_by_mpirun();
}

std::optional<Screen> screen_of_stdout() {
  if (!stdout_is_terminal()) return std::nullopt;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return std::nullopt;
  return Screen{.rows = size.ws_row, .columns = size.ws_col};
}

std::optional<std::string_view> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

bool terminal_is_dumb() {
  return environment("TERM").value_or("dumb") == "dumb";
}

std::string converted(const std::string& svg, const std::string& format, const std::string& paper,
                      bool fills_slide) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> result(std::tmpfile(), std::fclose);
  const auto* size = fills_slide && format == "png" ? " --keep-aspect-ratio --width 1920 --height 1080" : "";
  std::FILE* const converter =
      result == nullptr
          ? nullptr
          : ::popen(
                fmt::format("exec rsvg-convert --format {}{} --background-color '{}' 2>/dev/null >/dev/fd/{}",
                            format, size, paper, ::fileno(result.get()))
                    .c_str(),
                "w");
  if (converter == nullptr)
    throw attn::Error(fmt::format("--format {}: rsvg-convert cannot be started: {}; valid: --format svg",
                                  format, std::strerror(errno)));
  std::fwrite(svg.data(), 1, svg.size(), converter);  // in vain where it is not there
  const int status = ::pclose(converter);
  constexpr int not_found = 127;  // as the shell reports
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found)
    throw attn::Error(
        fmt::format("--format {}: rsvg-convert is not installed, which makes it; valid: the package "
                    "librsvg2-bin (Debian), or --format svg",
                    format));
  if (status != 0)
    throw attn::Error(fmt::format("--format {}: rsvg-convert has failed; valid: --format svg", format));
  std::string bytes;
  std::array<char, 65536> part{};
  while (const auto count = std::fread(part.data(), 1, part.size(), result.get()))
    bytes.append(part.data(), count);
  return bytes;
}

ProgressBar::ProgressBar() : is_wanted_(is_wanted()) {}

ProgressBar::~ProgressBar() {
  if (was_shown_) fmt::print(stderr, "{}", back_and_wipe);
}

void ProgressBar::show(double share, const std::string& next) {
  if (!is_wanted_) return;
  was_shown_ = true;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::lround(done * bar_cells));
  std::string bar;
  for (std::size_t i = 0; i < bar_cells; ++i) bar += i < full ? "█" : "░";
  show_on_stderr(fmt::format("{} {:3.0f} %  {}", bar, 100.0 * done, next));
}

ProgressOfRun::ProgressOfRun(attn::Sink& next, std::string_view lesson) : next_(next) {
#ifndef __EMSCRIPTEN__  // which has no threads
  if (is_wanted()) clock_ = std::thread([this, name = std::string(lesson)] { tell(name); });
#endif
}

ProgressOfRun::~ProgressOfRun() {
  if (!clock_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ended_.notify_one();
  clock_.join();
}

void ProgressOfRun::receive(const attn::Event& event) {
  if (clock_.joinable()) {
    const std::lock_guard lock(mutex_);
    last_ = event.id;
  }
  next_.receive(event);
}

void ProgressOfRun::tell(const std::string& lesson) {
  using std::chrono::seconds;
  std::unique_lock lock(mutex_);
  int passed = 1;
  for (; !ended_.wait_for(lock, seconds(1), [this] { return has_ended_; }); ++passed)
    if (passed > 1)
      show_on_stderr(fmt::format("{}: computing for {} s{}", lesson, passed,
                                 last_.empty() ? "" : fmt::format(", after {}", last_)));
  if (passed > 2) fmt::print(stderr, "{}", back_and_wipe);
}

}  // namespace lab
