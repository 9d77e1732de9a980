#pragma once

#include <vector>

#include "trace/diagnosis/catalogue.hpp"

namespace attn {

/// The parts of the catalogue, each in the file of its name.
std::vector<CataloguedMistake> mistakes_of_scale();
std::vector<CataloguedMistake> mistakes_of_scores();
std::vector<CataloguedMistake> mistakes_of_softmax();
std::vector<CataloguedMistake> mistakes_of_masks();
std::vector<CataloguedMistake> mistakes_of_heads();
std::vector<CataloguedMistake> mistakes_of_projections();
std::vector<CataloguedMistake> mistakes_of_positions();
std::vector<CataloguedMistake> mistakes_of_recurrence();
std::vector<CataloguedMistake> mistakes_of_residual();
std::vector<CataloguedMistake> mistakes_of_dropout();
std::vector<CataloguedMistake> mistakes_of_cache();
std::vector<CataloguedMistake> mistakes_of_efficient();
std::vector<CataloguedMistake> mistakes_of_gradients();
std::vector<CataloguedMistake> mistakes_of_batch();

/// They are right where all of a model keeps to them.
std::vector<CataloguedMistake> mistakes_that_may_be_conventions();

std::vector<CataloguedMistake> conventions();

}  // namespace attn
