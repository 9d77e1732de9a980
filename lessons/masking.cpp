/// Masks: who may look at whom, and how a key is hidden. The lesson is the document masking.md. Sources:
/// Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3 (the decoder's mask, with −∞); its
/// published code writes −10⁹ instead.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "attn/text/width.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/lesson.hpp"
#include "lessons/sdpa/fused_layouts.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/trained/gold_alignment.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "lessons/workbench/workbench.hpp"

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

/// The note `learned`: a head of the model `language`, which was trained with the causal mask. Beside a run
/// with trained weights.
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

/// The masks of one sentence side by side, a row a query and a column a key: that of the shortest sentence,
/// in which there is most padding.
std::string pictures(const DocumentRun& run) {
  constexpr std::size_t most = 9, widest_name = 8;
  const auto& sentence = run.bench().plan.sentence;
  const auto lengths = sentence.lengths();
  const auto b = static_cast<std::size_t>(std::min_element(lengths.begin(), lengths.end()) - lengths.begin());
  const auto places = places_shown(sentence.length(), most);
  const auto padded = [&](const std::string& cells) {
    return attn::pad_right(cells, std::max(2 * places.size(), widest_name));
  };
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const auto& i : places)
    rows.push_back({!i                               ? "…"
                    : *i < sentence.tokens[b].size() ? as_row_name(sentence.tokens[b][*i])
                                                     : "<pad>"});
  for (const std::string name : {"causal", "padding", "combined"}) {
    const auto mask = run.copy_of<bool, 3>(name + "_mask");
    rows.front().push_back(padded(name));
    for (std::size_t row = 0; row < places.size(); ++row) {
      std::string cells;
      for (const auto& j : places)
        if (places[row]) cells += !j ? "… " : mask(b, *places[row], *j) ? "■ " : "□ ";
      rows[row + 1].push_back(places[row] ? padded(cells) : "");
    }
  }
  return in_columns(rows);
}

void run_masking(Workbench& bench) {
  Functions functions;
  add_fused_layouts(functions);
  functions.actions["learned"] = [](DocumentRun& run) { show_learned_mask(run.bench()); };
  functions.texts["pictures"] = pictures;
  DocumentRun(bench, functions).tell();
}

}  // namespace

const LessonCode masking_code = {.give = give_about, .sharpen = sharpen_token, .run = run_masking};

}  // namespace lessons
