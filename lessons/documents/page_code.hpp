#pragma once

#include <set>
#include <string>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The page's code behind the last step: the formulas that lead to those of `results` that the run has, or to
/// its last step; with "from X" among these from X on, and what leads to X under `forward`; the others under
/// `rest`. Steps that are hidden are there only where others need them.
void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const std::vector<std::string>& results,
                  const std::set<std::string>& hidden);

}  // namespace lessons
