#include "lessons/transformer_block/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attn/error.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/model.hpp"

namespace lessons {

namespace {

/// A letter that comes again: where it stood before, and where it stands now.
struct Repeat {
  std::size_t before, now;
};

Repeat first_repeat(const std::vector<std::string>& letters) {
  for (std::size_t now = 0; now < letters.size(); ++now) {
    const auto before =
        std::find(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(now), letters[now]);
    const auto place = static_cast<std::size_t>(before - letters.begin());
    if (place < now) return {place, now};
  }
  throw attn::Error("no letter of the text comes again");
}

/// `x → q 0.99`: the letter at that place and the one that it gives most to.
std::string look(const LayerOfModel& layer, std::size_t place) {
  const double* row = &layer.weights(0, 0, place, 0);
  const auto at = attn::argmax(row, layer.keys.size());
  return fmt::format("{} → {} {:.2f}", layer.queries[place], layer.keys[at], row[at]);
}

double share_right(std::string_view model) {
  return attn::shipped_model(std::string(model))->scores.at("next tokens right");
}

}  // namespace

void explain_stack(Workbench& bench) {
  const auto two = layers_of_model("induction"), one = layers_of_model("induction-one-layer");
  const auto& letters = two.front().queries;
  const auto [before, now] = first_repeat(letters);
  const auto &letter = letters[now], &next = letters[before + 1];
  bench.trace.note(
      "stack", "What two blocks find that one cannot",
      fmt::format(
          "Two models read \"{}\" and say what comes next (attnlab train induction; no ffn, no layer norm). "
          "It should be \"{}\", as after the first \"{}\". Block 1: \"{}\" looks one place back, and its row "
          "now says \"after {}\". Block 2: the last \"{}\" looks for that row. One block alone cannot: the "
          "key "
          "of \"{}\" does not know what stands before it.",
          fmt::join(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(now) + 1, " "), next,
          letter, next, letter, letter, next),
      fmt::format("            block 1     block 2     right on new letters\n"
                  "two blocks  {:<10}  {:<10}  {:3.0f} %\n"
                  "one block   {:<10}              {:3.0f} %",
                  look(two[0], before + 1), look(two[1], now), 100.0 * share_right("induction"),
                  look(one[0], now), 100.0 * share_right("induction-one-layer")));
}

}  // namespace lessons
