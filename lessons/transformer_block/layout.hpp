#pragma once

#include <string>
#include <vector>

#include "lessons/workbench/workbench.hpp"

/// What the page of a block shows, and its flow.
namespace lessons {

/// The page of this run, with trained weights or drawn ones.
void choose_block_page(Workbench& bench);

/// The sublayers with the way around each, a line or two for each of them.
std::vector<std::string> block_flow(const Workbench& bench);

}  // namespace lessons
