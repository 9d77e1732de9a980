#include "page/svg/png.hpp"

#ifndef __EMSCRIPTEN__
#include <zlib.h>
#endif

#include <cmath>
#include <new>

#include "attn/random/random.hpp"

namespace attn::svg {

namespace {

std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
          static_cast<char>(number)};
}

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(crc32(type + data));
}

}  // namespace

#ifdef __EMSCRIPTEN__
const bool can_pack = false;

std::string packed(const std::string&, int) {
  return {};
}
#else
const bool can_pack = true;

std::string packed(const std::string& bytes, int level) {
  auto size = compressBound(bytes.size());
  std::string result(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), level) != Z_OK)
    throw std::bad_alloc();
  result.resize(size);
  return result;
}
#endif

std::string png(const std::vector<std::uint8_t>& pixels, std::uint32_t width,
                const std::vector<Colour>& colours) {
  const auto height = static_cast<std::uint32_t>(pixels.size() / width);
  std::string rows, palette;
  for (std::size_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(pixels.data()) + y * width, width);
  }
  for (const auto& [red, green, blue] : colours)
    for (const double channel : {red, green, blue}) palette += static_cast<char>(std::lround(channel));
  const std::string eight_bits_of_palette("\x08\x03\0\0\0", 5);
  return "\x89PNG\r\n\x1A\n" + chunk("IHDR", big_endian(width) + big_endian(height) + eight_bits_of_palette) +
         chunk("PLTE", palette) + chunk("tRNS", std::string(1, '\0')) + chunk("IDAT", packed(rows, 1)) +
         chunk("IEND", "");
}

}  // namespace attn::svg
