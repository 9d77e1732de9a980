#pragma once

#include <string>
#include <vector>

#include "tests/cli/folder.hpp"
#include "tests/cli/program.hpp"

/// Runs a lesson into files "NAME.txt", "NAME.json", … in the folder.
inline void store(const Folder& folder, const std::string& name, const std::string& arguments,
                  const std::vector<std::string>& formats = {"txt", "json", "npz", "safetensors"}) {
  for (const auto& format : formats)
    run(arguments + " --output " + as_argument(folder.file(name + '.' + format)));
}

/// Compares two files of the folder.
inline Result diff(const Folder& folder, const std::string& a, const std::string& b,
                   const std::string& options = "") {
  return run("diff " + as_argument(folder.file(a)) + ' ' + as_argument(folder.file(b)) + ' ' + options);
}
