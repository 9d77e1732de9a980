#include "lab/picture_file.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "attn/error.hpp"

namespace lab {

std::string converted(const std::string& svg, const std::string& format, const std::string& paper,
                      bool fills_slide) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> result(std::tmpfile(), std::fclose);
  const auto* size = fills_slide && format == "png" ? " --keep-aspect-ratio --width 1920 --height 1080" : "";
  std::FILE* const converter =
      result == nullptr
          ? nullptr
          : ::popen(
                fmt::format("exec rsvg-convert --format {}{} --background-color '{}' 2>/dev/null >/dev/fd/{}",
                            format, size, paper, ::fileno(result.get()))
                    .c_str(),
                "w");
  if (converter == nullptr)
    throw attn::Error(fmt::format("--format {}: rsvg-convert cannot be started: {}; valid: --format svg",
                                  format, std::strerror(errno)));
  std::fwrite(svg.data(), 1, svg.size(), converter);  // in vain where it is not there
  const int status = ::pclose(converter);
  constexpr int not_found = 127;  // as the shell reports
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_found)
    throw attn::Error(
        fmt::format("--format {}: rsvg-convert is not installed, which makes it; valid: the package "
                    "librsvg2-bin (Debian), or --format svg",
                    format));
  if (status != 0)
    throw attn::Error(fmt::format("--format {}: rsvg-convert has failed; valid: --format svg", format));
  std::string bytes;
  std::array<char, 65536> part{};
  while (const auto count = std::fread(part.data(), 1, part.size(), result.get()))
    bytes.append(part.data(), count);
  return bytes;
}

}  // namespace lab
