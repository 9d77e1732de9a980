#include "lessons/scoring/features.hpp"

namespace lessons {

attn::Model features_by_hand() {
  return {.task = "features",
          .configuration = {},
          .vocabularies = {{"words", {"the", "a", "small", "big", "cat", "dog", "mouse"}},
                           {"target_words", {"le", "un", "petit", "grand", "chat", "chien", "souris"}}},
          .scores = {},
          .command = "",
          .tensors = {{"words", {7, 3}, {0.2, 0.1, 1.5, 0.1, 0.2, 1.4,  0.3, 1.6, 0.2, 0.3, -1.6,
                                         0.2, 1.5, 0.8, 0.1, 1.5, -0.4, 0.1, 1.4, 1.6, 0.1}},
                      {"target_words", {7, 3}, {0.1, 0,   1.6, 0.2, 0.1, 1.5,  0.2, 1.6, 0.1, 0.2, -1.6,
                                                0.1, 1.6, 0.7, 0,   1.6, -0.3, 0,   1.5, 1.5, 0}},
                      {"W_a", {3, 3}, {2, 0, 0, 0, 1, 0, 0, 0, 2}},
                      {"W_q", {3, 3}, {-2, 2, 2, 2, -2, 2, 2, 2, -2}},
                      {"W_k", {3, 3}, {2, 0, 0, 0, 2, 0, 0, 0, 2}},
                      {"v_a", {3}, {1.5, 1.5, 1.5}}},
          .training = {}};
}

void give_features(ModelInputs& inputs) {
  inputs.give_rows("queries", inputs.rows("target_words", "target_words", inputs.target()));
  inputs.give_rows("keys", inputs.rows("words", "words", inputs.source()));
  for (const auto* id : {"W_a", "W_q", "W_k"}) inputs.give(id, inputs.matrix(id));
  inputs.give("v_a", inputs.vector("v_a"));
}

}  // namespace lessons
