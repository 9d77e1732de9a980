#pragma once

#include <cstddef>
#include <vector>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The three masks and attention under the one that the page goes into in NumPy, then under the others.
/// `visible` says how many tokens of each sentence may be seen.
void show_masking_code(Workbench& bench, const std::vector<std::size_t>& visible);

}  // namespace lessons
