/// Scoring functions: five ways to say how well a query matches a key, on the same queries and keys. The
/// lesson is the document scoring.md, which has its sources; here is its model.

#include <string>

#include "lessons/documents/front_matter.hpp"

namespace lessons {

namespace {

/// Words by three features: is it an animal, is it small, is it a word of grammar? The weights are chosen so
/// that each function finds the word of the same meaning. W_q moves the hidden unit of the query's own
/// feature to where tanh is steep and the others to where it is flat.
attn::Model features() {
  return {.task = "features",
          .vocabularies = {{"words", {"the", "a", "small", "big", "cat", "dog", "mouse"}},
                           {"target_words", {"le", "un", "petit", "grand", "chat", "chien", "souris"}}},
          .tensors = {{"words", {7, 3}, {0.2, 0.1, 1.5, 0.1, 0.2, 1.4,  0.3, 1.6, 0.2, 0.3, -1.6,
                                         0.2, 1.5, 0.8, 0.1, 1.5, -0.4, 0.1, 1.4, 1.6, 0.1}},
                      {"target_words", {7, 3}, {0.1, 0,   1.6, 0.2, 0.1, 1.5,  0.2, 1.6, 0.1, 0.2, -1.6,
                                                0.1, 1.6, 0.7, 0,   1.6, -0.3, 0,   1.5, 1.5, 0}},
                      {"W_a", {3, 3}, {2, 0, 0, 0, 1, 0, 0, 0, 2}},
                      {"W_q", {3, 3}, {-2, 2, 2, 2, -2, 2, 2, 2, -2}},
                      {"W_k", {3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2}},
                      {"v_a", {3}, {1.5, 1.5, 1.5}}}};
}

void give_features(ModelInputs& inputs) {
  inputs.give_rows("queries", inputs.rows("target_words", "target_words", inputs.target()));
  inputs.give_rows("keys", inputs.rows("words", "words", inputs.source()));
  inputs.give_named("", "", {"W_a", "W_q", "W_k", "v_a"});
}

}  // namespace

const LessonCode scoring_code = {.give = give_features, .hand_made = features, .sharpen = sharpen_scoring};

}  // namespace lessons
