#pragma once

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// The claims that hold the formulas of the lesson `efficient` against code that computes the listed pairs,
/// tiles, chunks and sums alone, and against the fast kernels; `{do magnitude}`: below which number an error
/// is rounding.
void add_claims_of_variants(Functions& functions);

}  // namespace lessons
