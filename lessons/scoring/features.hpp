#pragma once

#include "lessons/workbench/model.hpp"

namespace lessons {

/// Words by three features: is it an animal, is it small, is it a word of grammar? The weights are chosen so
/// that each function finds the word of the same meaning. W_q moves the hidden unit of the query's own
/// feature to where tanh is steep and the others to where it is flat.
attn::Model features_by_hand();

/// Gives the lesson the vectors of its words, and these weights.
void give_features(ModelInputs& inputs);

}  // namespace lessons
