#include "lab/picture_file.hpp"

#include <fmt/format.h>
#ifndef __EMSCRIPTEN__
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "attn/error.hpp"

namespace lab {

namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile(), std::fclose);
  if (file == nullptr)
    throw attn::Error(fmt::format("no temporary file can be made: {}", std::strerror(errno)));
  return file;
}

/// Runs the program from one file into the other. Returns 0, or the error number where it does not start, or
/// EIO where it fails.
int run([[maybe_unused]] std::vector<std::string> words, [[maybe_unused]] std::FILE* from,
        [[maybe_unused]] std::FILE* to) {
#ifdef __EMSCRIPTEN__
  return ENOENT;
#else
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ::fileno(from), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ::fileno(to), STDOUT_FILENO);
  pid_t process = 0;
  const int error = posix_spawnp(&process, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return error;
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : EIO;
#endif
}

}  // namespace

std::string converted(const std::string& svg, const std::string& format, bool fills_slide) {
  const auto from = temporary_file(), to = temporary_file();
  const bool is_written = std::fwrite(svg.data(), 1, svg.size(), from.get()) == svg.size();
  if (!is_written || std::fflush(from.get()) != 0)
    throw attn::Error(fmt::format("the picture cannot be handed on: {}", std::strerror(errno)));
  std::rewind(from.get());
  std::vector<std::string> words = {"rsvg-convert", "--format", format};
  if (fills_slide && format == "png") words.insert(words.end(), {"--keep-aspect-ratio", "--width", "1920"});
  const int error = run(words, from.get(), to.get());
  if (error == ENOENT)
    throw attn::Error(
        fmt::format("--format {}: rsvg-convert is not installed, which makes it; valid: the package "
                    "librsvg2-bin (Debian), or --format svg",
                    format));
  if (error != 0)
    throw attn::Error(fmt::format("--format {}: rsvg-convert has failed; valid: --format svg", format));
  std::rewind(to.get());
  std::string bytes;
  std::array<char, 65536> part{};
  while (const auto count = std::fread(part.data(), 1, part.size(), to.get()))
    bytes.append(part.data(), count);
  return bytes;
}

}  // namespace lab
