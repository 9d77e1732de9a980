/// Prints the characters that take two columns, as a table for C++: browsers do not tell.

#include <cstdio>

#include "attn/text/utf8.hpp"

int main() {
  constexpr char32_t end = 0x110000;
  for (char32_t first = 0; first < end; ++first) {
    if (!attn::is_wide(first)) continue;
    char32_t last = first;
    while (last + 1 < end && attn::is_wide(last + 1)) ++last;
    std::printf("{0x%X, 0x%X},\n", static_cast<unsigned>(first), static_cast<unsigned>(last));
    first = last;
  }
}
