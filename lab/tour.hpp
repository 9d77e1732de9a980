#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// Shows the contents, then the lessons in order. Where both standard input and output are a terminal, shows
/// each page as `show` does and waits for a key before the next: `q`, Ctrl-C and Ctrl-D end the tour, any
/// other goes on. Returns whether every claim held.
bool take_tour(const TakeTour& tour);

}  // namespace lab
