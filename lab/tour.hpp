#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// Shows the contents, then every lesson in order. Where both standard input and output are a terminal, waits
/// for a key after each page: `q` ends the tour, any other goes on. Returns whether every claim held.
bool take_tour(const TakeTour& tour);

}  // namespace lab
