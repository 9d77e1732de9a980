#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// A folder of its own for a test, gone with all that is in it at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::filesystem::path& path() const { return path_; }

  /// The path of a file in it, whether it is there or not.
  std::string file(const std::string& name) const { return path_ / name; }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

  /// The names of all that is in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// A whole file; fails the test where it cannot be read.
std::string read_file(const std::filesystem::path& path);
