#pragma once

#include <vector>

#include "lessons/scoring.hpp"

namespace lessons {

/// The note `comparison`: what each function is good for, its formula and the weights that it gives the keys
/// of the query on the page.
void compare_functions(Workbench& bench, const std::vector<Scored>& functions, const Tensor<2>& W_a);

/// The note `costs`: what each function learns and how much it multiplies.
void explain_costs(Workbench& bench, const std::vector<Scored>& functions);

}  // namespace lessons
