#pragma once

#include <cstddef>
#include <optional>

namespace lab {

/// The size of a terminal, in characters.
struct Screen {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Whether somebody may read standard output as it comes. Under mpirun a rank has a terminal of its own, which
/// mpirun reads.
bool stdout_is_terminal();

/// The terminal that standard output is. Nothing where it is no terminal, or one that does not tell its size.
std::optional<Screen> screen_of_stdout();

/// Whether TERM says that escape sequences mean nothing to the terminal; also where it is not set.
bool terminal_is_dumb();

}  // namespace lab
