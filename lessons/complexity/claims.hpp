#pragma once

#include <optional>

#include "lessons/complexity/layers.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// How work grows with n and d, how long a recurrence waits, how far tokens are apart in full attention, and
/// what flash attention holds, each measured by running the layers again at another size. `crossing` is the n
/// from which on full attention takes more multiply-adds than a recurrence, where it was found.
void claim_complexity(Workbench& bench, Costs& costs, const std::optional<std::size_t>& crossing);

}  // namespace lessons
