#include "lessons/patterns/kinds.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "lessons/patterns.hpp"
#include "lessons/workbench/columns.hpp"

namespace lessons {

namespace {

/// What a word gives on average to itself, to all words before and after it, to the one just before it and
/// the one just after it, and what the others together give to the one key that gets most from them.
struct Habits {
  double itself = 0.0, before = 0.0, after = 0.0, just_before = 0.0, just_after = 0.0, one_key = 0.0;
  std::size_t key = 0;  ///< that one
};

Habits habits_of(const Tensor<4>& weights, std::size_t sample, std::size_t head, std::size_t n) {
  Habits habits;
  const auto all = static_cast<double>(n), others = static_cast<double>(std::max<std::size_t>(n - 1, 1));
  for (std::size_t key = 0; key < n; ++key) {
    double received = 0.0;
    for (std::size_t query = 0; query < n; ++query) {
      const double weight = weights(sample, head, query, key);
      if (query != key) received += weight / others;
      (query == key ? habits.itself : key < query ? habits.before : habits.after) += weight / all;
      if (query == key + 1) habits.just_before += weight / others;
      if (query + 1 == key) habits.just_after += weight / others;
    }
    if (received > habits.one_key) habits.key = key;
    habits.one_key = std::max(habits.one_key, received);
  }
  return habits;
}

/// In a few words: "word before".
std::string kind_of_head(const Habits& habits, const std::vector<std::string>& tokens, Spread spread) {
  constexpr double habit = 0.5;
  if (spread == Spread::uniform || spread == Spread::undecided) return "all alike";
  if (habits.one_key > habit) return fmt::format("one word: {}", attn::shorten(tokens[habits.key], 8));
  if (habits.just_before > habit) return "word before";
  if (habits.just_after > habit) return "word after";
  if (habits.itself > habit) return "itself";
  if (habits.after > 2 * habits.before) return "ahead";
  if (habits.before > 2 * habits.after) return "back";
  return "each its own";
}

/// What `kind_of_head` means by these kinds.
std::string meaning_of(const std::vector<std::string>& kinds) {
  static constexpr std::array<std::array<const char*, 2>, 8> meanings = {
      {{"ahead", "the words after get more than twice as much as those before"},
       {"back", "the words before get more than twice as much as those after"},
       {"word before", "more than half goes to the word just before"},
       {"word after", "more than half goes to the word just after"},
       {"itself", "more than half stays with the word itself"},
       {"one word", "all other words give more than half to this one"},
       {"all alike", "the keys that a query may see get nearly the same"},
       {"each its own", "none of the kinds that this lab has names for"}}};
  std::string lines;
  for (const auto& [kind, meaning] : meanings) {
    const bool is_there =
        std::any_of(kinds.begin(), kinds.end(), [name = std::string(kind)](const auto& found) {
          return found == name || found.rfind(name + ": ", 0) == 0;
        });
    if (is_there) lines += fmt::format("\n{:<12} {}", kind, meaning);
  }
  return lines;
}

/// The words of a head that looks ahead or back whose strongest key lies on the other side.
std::vector<std::string> other_than(std::string_view kind, const Tensor<4>& weights, std::size_t sample,
                                    std::size_t head, const std::vector<std::string>& tokens) {
  std::vector<std::string> words;
  for (std::size_t query = 0; query < tokens.size(); ++query) {
    const auto* row = &weights(sample, head, query, 0);
    const auto key = attn::argmax(row, tokens.size());
    if ((kind == "ahead" && key < query) || (kind == "back" && key > query))
      words.push_back(fmt::format("\"{}\"", tokens[query]));
  }
  return words;
}

}  // namespace

void show_kinds(Workbench& bench, const Tensor<4>& weights, const Tensor<2>& spread,
                const Tensor<2>& largest) {
  constexpr std::size_t most_heads = 8;
  const auto lengths = bench.plan.sentence.lengths();
  const std::size_t heads = weights.shape(1), all_heads = weights.shape(0) * heads;
  std::string other_way;
  std::vector<std::vector<std::string>> rows = {{"", "itself", "before", "after", "looks"}};
  std::vector<std::string> kinds;
  for (std::size_t i = 0; i < std::min(all_heads, most_heads); ++i) {
    const auto sample = i / heads;
    const auto habits = habits_of(weights, sample, i % heads, lengths[sample]);
    rows.push_back({(bench.plan.is_batched() ? fmt::format("sample {} ", sample) : "") +
                    (bench.options.heads ? fmt::format("head {}", i % heads) : std::string("weights"))});
    for (const double share : {habits.itself, habits.before, habits.after})
      rows.back().push_back(fmt::format("{:.2f}", share));
    const auto kind = kind_of_head(habits, bench.plan.sentence.tokens[sample],
                                   spread_of(spread.data()[i], largest.data()[i]));
    rows.back().push_back(kind);
    kinds.push_back(kind);
    const auto others = other_than(kind, weights, sample, i % heads, bench.plan.sentence.tokens[sample]);
    if (!others.empty() && !bench.plan.is_batched())
      other_way += fmt::format(" In head {} only {} look{} {}.", i % heads, fmt::join(others, ", "),
                               others.size() == 1 ? "s" : "", kind == "ahead" ? "back" : "ahead");
  }
  if (all_heads > most_heads) rows.push_back({"…"});
  bench.trace.note(
      "kinds", "What kind of head is it?",
      "The table says what a word gives on average to itself, to the words before it and to those after it." +
          std::string(
              bench.options.model
                  ? " These heads were trained to translate words into French. An article or adjective needs "
                    "its noun, which comes later. A verb needs its subject, which comes before." +
                        other_way
                  : " Nothing here is trained: a kind would be chance."),
      in_columns(rows) + "\n" + meaning_of(kinds));
}

}  // namespace lessons
