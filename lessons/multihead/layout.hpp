#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

/// What the page of multi-head attention says and shows.
namespace lessons {

void choose_multihead_page(Workbench& bench);

/// What heads are, how many this run has, and which columns of the weights are theirs.
void tell_multihead_idea(Workbench& bench);

/// The shapes from X to the output. A line for each of Q, K and V: reshape, then transpose.
std::vector<std::string> multihead_flow(const Workbench& bench, bool is_masked);

/// The rows of head 0 where Q [batch×query×head·d_k] becomes [head×query×d_k] by a reshape alone: row r is
/// part r mod heads of the token ⌊r / heads⌋. Of the first sample, as far as there is room.
void show_reshape_alone(Workbench& bench, const Tensor<3>& Q);

void try_after_multihead(Workbench& bench);

}  // namespace lessons
