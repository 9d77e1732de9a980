#pragma once

#include <string>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The page's code behind the last step: the formulas that lead to the last of `results` that the run has, or
/// to its last step; the others under `rest`.
void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const std::vector<std::string>& results);

}  // namespace lessons
