#pragma once

#include <string>

#include "lessons/generate.hpp"

/// The lesson generate in NumPy.
namespace lessons {

/// "[0, 1, 2, 0]": the tokens of a text by their numbers.
std::string prompt_code(const Decoding& decoding);

/// The page's code, what it takes from earlier lessons, and the page's names of what it computes.
void show_generate_code(Workbench& bench, const Decoding& decoding, std::size_t steps);

}  // namespace lessons
