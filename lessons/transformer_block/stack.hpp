#pragma once

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The note `stack`: why blocks are stacked, on two trained models, one of one layer and one of two.
void explain_stack(Workbench& bench);

}  // namespace lessons
