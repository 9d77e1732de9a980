#pragma once

#include <string>
#include <vector>

#include "lab/check/cases.hpp"
#include "lab/check/check.hpp"
#include "lab/check/checked.hpp"

namespace lab {

/// A table of a folder, a line each file, and the exit status that check leaves with.
struct Graded {
  std::string table;
  std::vector<Case> cases;
  int status;
};

/// A case for each step of a checked file, and for each that a worksheet leaves empty. The report stands in
/// the first that is not right.
std::vector<Case> cases_of(const CheckDump& check, const Checked& checked, const std::string& report);

/// Checks every file of the folder and of those inside it; with a folder of probes tells which of them nobody
/// handed in. Writes a report of each file where `check.reports` is a folder. Throws attn::Error for a folder
/// that cannot be read or holds nothing.
Graded grade_folder(const CheckDump& check, CheckFormat format);

}  // namespace lab
