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
  constexpr std::array known = {"corpora", "lessons", "lexicon", "mistakes", "models", "tutorial"};
  std::error_code error;
  const bool has_some = std::any_of(known.begin(), known.end(),
                                    [&](const char* name) { return fs::is_directory(folder / name, error); });
  if (!has_some)
    throw Error(
        fmt::format("ATTNLAB_DATA={} has no data of the lab; valid: a folder in which one of these is: {}",
                    folder.string(), fmt::join(known, ", ")));
}

std::vector<fs::path> data_folders() {
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

std::string data_folder(const std::string& name) {
  std::vector<std::string> tried;
  for (const auto& folder : data_folders()) {
    const auto candidate = folder / name;
    std::error_code error;
    if (fs::is_directory(candidate, error)) return candidate.string();
    tried.push_back(candidate.string());
  }
  throw Error(
      fmt::format("the lab's data are not there; looked for: {}; valid: a folder with {} in ATTNLAB_DATA",
                  fmt::join(tried, ", "), name));
}

}  // namespace attn
