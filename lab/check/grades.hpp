#pragma once

#include <string>

#include "lab/check/check.hpp"

namespace lab {

/// A table of a folder, a line each file, and the exit status that check leaves with.
struct Graded {
  std::string table;
  int status;
};

/// Checks every file of the folder and of those inside it; with a folder of probes tells which of them nobody
/// handed in. Writes a report of each file where `check.reports` is a folder. Throws attn::Error for a folder
/// that cannot be read or holds nothing.
Graded grade_folder(const CheckDump& check, CheckFormat format);

}  // namespace lab
