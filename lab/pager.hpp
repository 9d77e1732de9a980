#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lab {

enum class Paging { automatic, never };

/// Writes to standard output. Where that is a terminal too small for the text, shows it through the pager,
/// unless paging is `never`: $PAGER, else `less -FRX`, run by the shell as git does; none where PAGER is
/// empty or `cat`, and by default none on a dumb terminal. Returns once the reader leaves the pager, at its
/// end or before. A pager that cannot be started is done without. Throws attn::Error as `write_to_stdout`
/// does.
void show(const std::string& text, Paging paging);

/// The size of a terminal, in characters.
struct Screen {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Whether somebody may read standard output as it comes. Under mpirun a rank has a terminal of its own,
/// which mpirun reads.
bool stdout_is_terminal();

/// The terminal that standard output is. Nothing where it is no terminal, or one that does not tell its size.
std::optional<Screen> screen_of_stdout();

/// Whether TERM says that escape sequences mean nothing to the terminal; also where it is not set.
bool terminal_is_dumb();

}  // namespace lab
