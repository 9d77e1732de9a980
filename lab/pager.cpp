#include "lab/pager.hpp"

#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "attn/text/printable.hpp"
#include "attn/text/width.hpp"
#include "fast/ranks/network.hpp"
#include "lab/output.hpp"

namespace lab {

namespace {

/// What a signal does, until this is gone.
class SignalAction {
 public:
  SignalAction(int signal, void (*action)(int)) : signal_(signal), before_(std::signal(signal, action)) {}
  ~SignalAction() { std::signal(signal_, before_); }
  SignalAction(const SignalAction&) = delete;
  SignalAction& operator=(const SignalAction&) = delete;

 private:
  int signal_;
  void (*before_)(int);
};

std::string pager_command() {
  const char* chosen = std::getenv("PAGER");
  if (chosen == nullptr)
    return terminal_is_dumb() ? "" : "command -v less >/dev/null || exit 127; exec less -FRX";
  const std::string_view pager = chosen;
  const bool is_none = pager.find_first_not_of(' ') == pager.npos || pager == "cat";
  return is_none ? "" : std::string(pager);
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

}  // namespace

void show(const std::string& text, Paging paging) {
  const auto screen = screen_of_stdout();
  const bool is_too_long = paging == Paging::automatic && screen && !fits(text, *screen);
  const auto command = is_too_long ? pager_command() : "";
  if (command.empty() || !page_through(command, text)) write_to_stdout(text);
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

bool terminal_is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

}  // namespace lab
