#pragma once

#include <vector>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What became of translators as sentences grow (Bahdanau et al. 2014, figure 2, on the lab's own sentences):
/// the input `exact_by_length` [model×length], a curve a model, and the note `by-length`. The figures are
/// those that the training of the shipped models measured. Throws attn::Error where a model has none, or of
/// other lengths.
void show_by_length(Workbench& bench);

/// Its declaration.
std::vector<Input> by_length_input_list();

}  // namespace lessons
