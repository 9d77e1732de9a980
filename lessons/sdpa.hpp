#pragma once

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// √d_k · temperature, by which scores are divided.
double divisor_of(std::size_t d_k, double temperature);

/// The claim `equals-fused-kernel`: that the fastest kernel that fits gives the same heads, or the
/// same output; about attention without dropout.
void add_fused_kernel(Functions& functions);

}  // namespace lessons
