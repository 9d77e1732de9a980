#include "trace/file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "attn/error.hpp"
#include "attn/lists.hpp"
#include "attn/text/utf8.hpp"

namespace attn {

void refuse(std::string_view place, std::string_view problem, std::string_view valid) {
  throw Error(fmt::format("{}: {}; valid: {}", place, problem, valid));
}

void refuse_pickle(const std::string& path, bool is_of_torch) {
  const auto npz = path.substr(0, path.rfind('.')) + ".npz";
  const auto line =
      is_of_torch
          ? fmt::format(
                "import numpy, torch; numpy.savez(\"{}\", **{{name: (x.float() if x.dtype == "
                "torch.bfloat16 else x).detach().numpy() for name, x in torch.load(\"{}\", "
                "map_location=\"cpu\").items()}})",
                npz, path)
          : fmt::format("import numpy, pickle; numpy.savez(\"{}\", **pickle.load(open(\"{}\", \"rb\")))", npz,
                        path);
  refuse(path, fmt::format("it is a pickle{}, which only Python reads", is_of_torch ? " of torch.save" : ""),
         fmt::format("{}, which python3 -c '{}' writes of a dict of {}", npz, line,
                     is_of_torch ? "tensors, as a state dict is" : "arrays"));
}

File::File(std::string path, std::string_view valid) : path_(std::move(path)) {
  const auto fail = [&](std::string_view done) {
    refuse(path_, fmt::format("it cannot be {}: {}", done, std::strerror(errno)), valid);
  };
  const bool is_input = path_ == "-";
  struct stat status {};
  if ((is_input ? ::fstat(STDIN_FILENO, &status) : ::stat(path_.c_str(), &status)) != 0) fail("opened");
  const bool is_stream =
      S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || (is_input && ::isatty(STDIN_FILENO) == 1);
  if (!S_ISREG(status.st_mode) && !is_stream)
    refuse(path_, S_ISDIR(status.st_mode) ? "it is a directory" : "it is neither a file nor a pipe", valid);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      is_input ? ::fdopen(::dup(STDIN_FILENO), "rb") : std::fopen(path_.c_str(), "rb"), std::fclose);
  if (file == nullptr) fail("opened");
  if (!is_stream) std::rewind(file.get());
  bytes_.reserve(static_cast<std::size_t>(status.st_size));
  std::vector<char> chunk(std::size_t{1} << 16);
  while (const auto count = std::fread(chunk.data(), 1, chunk.size(), file.get()))
    bytes_.append(chunk.data(), count);
  if (std::ferror(file.get()) != 0) fail("read");
}

bool is_valid_name(std::string_view name) {
  try {
    require_valid_utf8(name, "");
  } catch (const Error&) {
    return false;
  }
  const auto is_control = [](char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); };
  return !name.empty() && !any_of(code_points(name), is_control);
}

namespace {

namespace fs = std::filesystem;

/// Throws where the folder that somebody names has none of the lab's data.
void require_data(const fs::path& folder) {
  constexpr std::array known = {"corpora", "lessons", "lexicon", "mistakes", "models", "names", "tutorial"};
  std::error_code error;
  if (!any_of(known, [&](const char* name) { return fs::is_directory(folder / name, error); }))
    throw Error(
        fmt::format("ATTNLAB_DATA={} has no data of the lab; valid: a folder in which one of these is: {}",
                    folder.string(), fmt::join(known, ", ")));
}

std::vector<fs::path> places_of_data() {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("ATTNLAB_DATA")) {
    require_data(named);
    folders.emplace_back(named);
  }
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  if (!error) folders.push_back(program.parent_path().parent_path() / "share" / "attnlab");
  folders.emplace_back(ATTNLAB_SOURCE_DATA);
  folders.push_back(folders.back().parent_path());  // of the documents, lessons/
  return folders;
}

}  // namespace

std::vector<std::string> data_folders(const std::string& name) {
  std::vector<std::string> tried, found;
  for (const auto& folder : places_of_data()) {
    std::error_code error;
    tried.push_back((folder / name).string());
    if (fs::is_directory(tried.back(), error)) found.push_back(tried.back());
  }
  if (!found.empty()) return found;
  throw Error(
      fmt::format("the lab's data are not there; looked for: {}; valid: a folder with {} in ATTNLAB_DATA",
                  fmt::join(tried, ", "), name));
}

std::string data_folder(const std::string& name) {
  return data_folders(name).front();
}

}  // namespace attn
