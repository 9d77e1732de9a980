#include "trace/data_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "attn/error.hpp"

namespace attn {

namespace {

namespace fs = std::filesystem;

/// Throws where the folder that somebody names has none of the lab's data.
void require_data(const fs::path& folder) {
  constexpr std::array known = {"corpora", "lessons", "lexicon", "mistakes", "models", "names", "tutorial"};
  std::error_code error;
  const bool has_some = std::any_of(known.begin(), known.end(),
                                    [&](const char* name) { return fs::is_directory(folder / name, error); });
  if (!has_some)
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
