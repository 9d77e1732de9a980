#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The notes `variants`, all ways to attend side by side, and `order`, in which order this run attends and
/// makes its step.
void explain_variants(Workbench& bench);

}  // namespace lessons
