#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "page/svg/colours.hpp"

namespace attn::svg {

/// Whether the program can pack bytes: not in a browser.
extern const bool can_pack;

/// Bytes in zlib's format (RFC 1950).
std::string packed(const std::string& bytes, int level);

/// Pixels, row by row, as an image of these colours in the format PNG; the first one lets all through.
std::string png(const std::vector<std::uint8_t>& pixels, std::uint32_t width,
                const std::vector<Colour>& colours);

}  // namespace attn::svg
