#pragma once

#include "lessons/efficient/variants.hpp"

namespace lessons {

/// The steps `comparison/errors` and `comparison/costs`.
void compare_variants(const VariantBench& on);

}  // namespace lessons
