/// Attention as a dictionary that always answers. The lesson is the document lookup.md, which has its
/// sources; here is its model.

#include <string>

#include "lessons/documents/front_matter.hpp"

namespace lessons {

namespace {

/// Colours on a wheel. A key is the direction of its hue, red to the right and the others every 60 degrees; a
/// value is what the colour has of red, green and blue. The query is four long and points between red and
/// yellow.
attn::Model colours() {
  return {.task = "colours",
          .vocabularies = {{"words", {"red", "yellow", "green", "cyan", "blue", "magenta"}}},
          .tensors = {{"query", {2}, {3.7, 1.5}},
                      {"keys", {6, 2}, {1, 0, 0.5, 0.87, -0.5, 0.87, -1, 0, -0.5, -0.87, 0.5, -0.87}},
                      {"values", {6, 3}, {1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1}}}};
}

void give_colours(ModelInputs& inputs) {
  if (inputs.sentence().size() != 1) return;  // is refused later
  inputs.give("query", inputs.vector("query"));
  for (const std::string id : {"keys", "values"})
    inputs.give_rows(id, inputs.rows(id, "words", inputs.sentence()));
}

}  // namespace

const LessonCode lookup_code = {.give = give_colours, .hand_made = colours};

}  // namespace lessons
