#include "lessons/masking/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lessons/trained/gold_alignment.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

/// The first "that" or "who" of a sentence, and the noun that its clause is about.
struct RelativeWord {
  std::size_t place, noun;
};

std::optional<RelativeWord> relative_word(const corpora::SentencePair& pair) {
  for (std::size_t t = 1; t < pair.source.size(); ++t)
    for (auto noun = t; pair.source[t].category == "relative" && noun-- > 0;)
      if (pair.source[noun].category == "noun") return RelativeWord{t, noun};
  return std::nullopt;
}

/// The head of a layer that gives a query most to a key.
std::size_t strongest_head(const Tensor<4>& weights, std::size_t query, std::size_t key) {
  std::size_t best = 0;
  for (std::size_t head = 1; head < weights.shape(1); ++head)
    if (weights(0, head, query, key) > weights(0, best, query, key)) best = head;
  return best;
}

}  // namespace

void show_learned_mask(Workbench& bench) {
  if (bench.is_mute() || !bench.options.model) return;
  const auto layers = layers_of_model("language");
  const auto& first = layers.front();
  const auto& words = first.queries;
  const auto pair = gold_pair(words);
  const auto relative = pair ? relative_word(*pair) : std::nullopt;
  if (!relative) return;
  const auto head = strongest_head(first.weights, relative->place, relative->noun);
  constexpr std::size_t most_words = 8;
  const auto shown = std::min(words.size(), most_words);
  std::vector<std::vector<std::string>> rows = {{"query"}};
  for (std::size_t query = 0; query < shown; ++query) {
    rows.front().push_back(words[query]);
    rows.push_back({words[query]});
    for (std::size_t key = 0; key < shown; ++key)
      rows.back().push_back(first.visible(0, query, key)
                                ? fmt::format("{:.2f}", double{first.weights(0, head, query, key)})
                                : "·");
  }
  bench.trace.note(
      "learned", "A model that was trained with the causal mask",
      fmt::format(
          "The model language guesses the next word, so the words to come were hidden in "
          "training, too. This is head {} of its first layer. The row \"{}\" has to look back and gives "
          "\"{}\", the noun that its clause is about, {:.2f}. The lesson generate shows how a verb learns of "
          "that noun by way of \"{}\".",
          head, words[relative->place], words[relative->noun],
          double{first.weights(0, head, relative->place, relative->noun)}, words[relative->place]),
      in_columns(rows));
}

}  // namespace lessons
