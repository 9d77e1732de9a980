#pragma once

#include "lessons/documents/document_run.hpp"

namespace lessons {

/// Whether the models of the task reverse are installed, with a table of positions and without.
bool has_trained_positions();

/// What they make of the alphabet, `letters_backwards`, and where the first of them looks, `where_it_looks`.
void add_trained_positions(Functions& functions);

}  // namespace lessons
