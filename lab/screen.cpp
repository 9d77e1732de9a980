#include "lab/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "fast/ranks/mpi.hpp"

namespace lab {

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
