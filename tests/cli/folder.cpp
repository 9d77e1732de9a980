#include "tests/cli/folder.hpp"

#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

Folder::Folder() {
  auto name = (fs::temp_directory_path() / "attnlab.XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::permissions(path_, fs::perms::owner_all, ignored);
  fs::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream stream(path_ / name, std::ios::binary);
  stream << text;
  REQUIRE(stream.flush());
  return file(name);
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  INFO(path);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}
