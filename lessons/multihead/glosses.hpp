#pragma once

#include "lessons/multihead.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The note `wrong-gloss`: the first word whose French form comes out wrong, and where the heads look for it.
/// Only of one sentence that the grammar of the corpus knows, with the model gloss, and where there is such a
/// word. X [1×token×d_model] is the sentence.
void show_wrong_gloss(Workbench& bench, const Tensor<3>& X, const MultiHeadAttention& attention);

}  // namespace lessons
