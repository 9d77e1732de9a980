#pragma once

#include <set>
#include <string>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What the page's code computes.
struct CodeOfPage {
  std::vector<std::string> results{};  ///< the steps with which it ends, of which the run has some
  std::string forward{};               ///< the step up to which the code is a note of its own
  std::set<std::string> hidden{};      ///< steps that are there only where others need them
};

/// The page's code behind the last step: the formulas that lead to those of `results` that the run has, or to
/// its last step; with "from X" among these from X on, and what leads to X under `before`; those that lead to
/// `forward` under `forward`; the others under `rest`.
void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const CodeOfPage& code);

}  // namespace lessons
