#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

namespace fs = std::filesystem;

namespace {

const fs::path root = ATTNLAB_ROOT;

std::vector<fs::path> files_in(const fs::path& folder, const std::string& ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root / folder))
    if (entry.path().extension() == ending) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// The lesson that the first line of a golden trace runs, "$ attnlab LESSON …" or "$ attnlab worksheet LESSON
/// …"; empty where it is another line.
std::string lesson_of(const fs::path& golden) {
  const auto lines = lines_of(read_file(golden));
  std::smatch match;
  const bool is_command =
      !lines.empty() && std::regex_search(lines[0], match, std::regex("^\\$ attnlab (?:worksheet )?([^ ]+)"));
  return is_command ? match[1].str() : "";
}

/// The names of the lessons that a source file makes of a part.
std::vector<std::string> lessons_defined_in(const fs::path& source) {
  const auto text = read_file(source);
  const std::regex definition("lesson_of\\(document_named\\(\"[a-z/]+\\.md\"\\), \"([a-z0-9-]+)\"");
  std::vector<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end; ++match)
    names.push_back((*match)[1]);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("every lesson has a golden trace named after it") {
  const auto goldens = files_in("tests/golden", ".txt");
  for (const auto& lesson : lessons()) {
    INFO(lesson);
    CHECK(std::any_of(goldens.begin(), goldens.end(), [&](const fs::path& golden) {
      return golden.stem().string().rfind(lesson, 0) == 0 && lesson_of(golden) == lesson;
    }));
  }
}

TEST_CASE("every golden trace begins with the command of a lesson that is there unless it shows a refusal") {
  const auto names = lessons();
  for (const auto& golden : files_in("tests/golden", ".txt")) {
    INFO(golden.filename());
    const bool is_refusal = lines_of(read_file(golden)).back() == "exit status 2";
    CHECK((is_refusal ? lesson_of(golden) != "" : has(names, lesson_of(golden))));
  }
}

TEST_CASE("no lesson is left out of the list") {
  auto names = lessons();
  std::vector<std::string> defined;
  for (const auto& source : files_in("lessons", ".cpp"))
    for (const auto& name : lessons_defined_in(source)) defined.push_back(name);
  for (const auto& document : files_in("lessons", ".md"))
    if (document.filename() != "README.md") defined.push_back(document.stem());
  std::sort(names.begin(), names.end());
  std::sort(defined.begin(), defined.end());
  CHECK(defined == names);
}
