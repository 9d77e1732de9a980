#pragma once

#include <string>

namespace lab {

enum class Paging { automatic, never };

/// Writes to standard output. Where that is a terminal too small for the text, shows it through the pager,
/// unless paging is `never`: $PAGER, else `less -FRX`, run by the shell as git does; none where PAGER is
/// empty or `cat`, and by default none on a dumb terminal. Returns once the reader leaves the pager, at its
/// end or before. A pager that cannot be started is done without. Throws attn::Error as `write_to_stdout`
/// does.
void show(const std::string& text, Paging paging);

}  // namespace lab
