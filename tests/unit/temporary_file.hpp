#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

/// A file that is there as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) {
    static int count = 0;
    const auto name =
        "attnlab-unit-test-" + std::to_string(getpid()) + "-" + std::to_string(++count) + ".txt";
    path_ = std::filesystem::temp_directory_path() / name;
    std::ofstream(path_, std::ios::binary) << content;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};
