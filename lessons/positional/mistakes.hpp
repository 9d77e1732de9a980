#pragma once

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// The classic mistakes in steps of the lesson positional that are no formulas.
void add_positional_mistakes(Functions& functions);

}  // namespace lessons
