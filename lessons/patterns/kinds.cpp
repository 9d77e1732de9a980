#include "lessons/patterns/kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "lessons/workbench/columns.hpp"

namespace lessons {

namespace {

/// The name of a kind, and what is meant by it.
struct Said {
  const char *name, *meaning;
};

constexpr std::array<Said, kind_count> said = {
    {{"all alike", "the keys that a query may see get nearly the same"},
     {"its translation", "more than half goes to the words that it translates"},
     {"one word", "all other words give more than half to this one"},
     {"word before", "more than half goes to the word just before"},
     {"word after", "more than half goes to the word just after"},
     {"mirror image", "more than half: the first word to the last, and so on"},
     {"what came next", "more than half: to what followed this word the last time"},
     {"itself", "more than half stays with the word itself"},
     {"ahead", "the words after get more than twice as much as those before"},
     {"back", "the words before get more than twice as much as those after"},
     {"each its own", "none of the kinds that this lab has names for"}}};

}  // namespace

std::string in_words(HeadKind kind, const HeadMeasures& measures, const ReadByHead& text) {
  constexpr std::size_t widest = 8;
  const std::string name = said[static_cast<std::size_t>(kind)].name;
  return kind == HeadKind::one_word ? name + ": " + attn::shorten(text.keys[measures.key], widest) : name;
}

std::string meanings_of(const std::vector<HeadKind>& kinds) {
  std::vector<Said> there;
  std::size_t widest = 0;
  for (std::size_t kind = 0; kind < kind_count; ++kind)
    if (std::count(kinds.begin(), kinds.end(), static_cast<HeadKind>(kind)) > 0) {
      there.push_back(said[kind]);
      widest = std::max(widest, std::string(said[kind].name).size());
    }
  std::string lines;
  for (const auto& [name, meaning] : there)
    lines += fmt::format("{}{:<{}}  {}", lines.empty() ? "" : "\n", name, widest, meaning);
  return lines;
}

namespace {

/// The words of a head that looks ahead or back that give more than half to a word on the other side, each
/// once.
std::vector<std::string> other_than(HeadKind kind, const Tensor<4>& weights, std::size_t sample,
                                    std::size_t head, const std::vector<std::string>& tokens) {
  std::vector<std::string> words;
  for (std::size_t query = 0; query < tokens.size(); ++query) {
    const auto* row = &weights(sample, head, query, 0);
    const auto key = attn::argmax(row, tokens.size());
    const bool is_other = (kind == HeadKind::ahead && key < query) || (kind == HeadKind::back && key > query);
    auto word = fmt::format("\"{}\"", tokens[query]);
    if (is_other && row[key] > 0.5 && std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

void show_kinds(Workbench& bench, const Tensor<4>& weights, const std::vector<double>& largest) {
  constexpr std::size_t most_heads = 8;
  const std::size_t heads = weights.shape(1), all_heads = weights.shape(0) * heads;
  std::string other_way;
  std::vector<std::vector<std::string>> rows = {{"", "itself", "before", "after", "looks"}};
  std::vector<HeadKind> kinds;
  for (std::size_t i = 0; i < std::min(all_heads, most_heads); ++i) {
    const auto sample = i / heads;
    const auto& tokens = bench.plan.sentence.tokens[sample];
    const ReadByHead text = {tokens, tokens};
    const auto measures = measure_head(weights, sample, i % heads, text, largest[i]);
    rows.push_back({(bench.plan.is_batched() ? fmt::format("sample {} ", sample) : "") +
                    (bench.options.heads ? fmt::format("head {}", i % heads) : std::string("weights"))});
    for (const auto share : {Measure::itself, Measure::before, Measure::after})
      rows.back().push_back(fmt::format("{:.2f}", measures[share]));
    kinds.push_back(kind_of(measures));
    rows.back().push_back(in_words(kinds.back(), measures, text));
    const auto others = other_than(kinds.back(), weights, sample, i % heads, tokens);
    if (!others.empty() && !bench.plan.is_batched())
      other_way +=
          fmt::format(" In head {} only {} look{} {}.", i % heads, fmt::join(others, ", "),
                      others.size() == 1 ? "s" : "", kinds.back() == HeadKind::ahead ? "back" : "ahead");
  }
  if (all_heads > most_heads) rows.push_back({"…"});
  bench.trace.note(
      "kinds", "What kind of head is it?",
      "The shares are means over all words." +
          std::string(bench.options.model
                          ? " Head 0 looks at the word that each one is about. An article needs its "
                            "noun, which comes later; a verb its subject, which mostly comes before." +
                                other_way
                      : bench.options.gives_tensors() ? ""
                                                      : " Nothing here is trained: a kind would be chance."),
      in_columns(rows) + "\n\n" + meanings_of(kinds));
}

}  // namespace lessons
