#pragma once

#include <string>

namespace lab {

/// A picture as PNG or PDF, which `rsvg-convert` of librsvg makes of it; `fills_slide` makes a PNG 1,920
/// pixels wide, and `paper`, "#ffffff", is behind what it rounds up to. Throws attn::Error where that program
/// is not installed, or refuses.
std::string converted(const std::string& svg, const std::string& format, const std::string& paper,
                      bool fills_slide);

}  // namespace lab
