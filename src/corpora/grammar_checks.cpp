#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "corpora/compiled_grammar.hpp"

namespace corpora {

namespace {

class Checks {
 public:
  explicit Checks(const GrammarText& text) : text_(text), rules_of_(text.symbols.size()) {
    for (const auto& rule : text.rules) rules_of_[rule.symbol].push_back(&rule);
  }

  void require_ends() const {
    const auto ends = symbols_that_end(text_);
    for (const auto& rule : text_.rules)
      for (const auto& item : rule.source)
        if (!ends[item.symbol])
          text_.fail(rule.line,
                     fmt::format("the rule never ends: {} leads back to itself in each of its rules",
                                 text_.written(item.symbol)),
                     "a rule without it, too");
  }

  void require_growth() const {
    std::vector<std::size_t> marks(text_.symbols.size(), unseen);
    for (std::size_t symbol = 0; symbol < text_.symbols.size(); ++symbol) follow_single_items(symbol, marks);
  }

  void require_reached() const {
    std::vector<bool> is_reached(text_.symbols.size(), false);
    reach(text_.start, is_reached);
    for (std::size_t symbol = 0; symbol < text_.symbols.size(); ++symbol)
      if (!is_reached[symbol])
        text_.fail(text_.symbols[symbol].line,
                   fmt::format("no rule that <sentence> leads to has {}", text_.written(symbol)),
                   "a rule with it, or no such section");
  }

  void require_deciders() {
    for (const auto& symbol : text_.symbols) decided_.emplace_back(symbol.sorts.size(), false);
    for (const auto& table : text_.tables)
      if (text_.shapes[table.shape].decides) decided_[table.symbol][0] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& rule : text_.rules)
        for (std::size_t i = 0; i < text_.symbols[rule.symbol].sorts.size(); ++i)
          if (!decided_[rule.symbol][i] && deciders(rule, i) > 0) decided_[rule.symbol][i] = grows = true;
    }
    for (const auto& table : text_.tables)
      if (!text_.shapes[table.shape].decides && !decided_[table.symbol].empty() && decided_[table.symbol][0])
        text_.fail(table.line,
                   fmt::format("in another table {} decides its variable", text_.written(table.symbol)),
                   "a shape that decides in all tables, or in none");
    for (const auto& rule : text_.rules)
      for (std::size_t i = 0; i < rule.variables.size(); ++i) require_one_decider(rule, i);
  }

 private:
  static constexpr std::size_t unseen = 0, open = 1, done = 2;

  void follow_single_items(std::size_t symbol, std::vector<std::size_t>& marks) const {
    if (marks[symbol] == done) return;
    marks[symbol] = open;
    for (const auto* rule : rules_of_[symbol]) {
      if (rule->source.size() != 1) continue;
      const auto next = rule->source[0].symbol;
      if (marks[next] == open)
        text_.fail(rule->line,
                   fmt::format("{} leads back to itself without a word more", text_.written(next)),
                   "a rule with another nonterminal beside it");
      follow_single_items(next, marks);
    }
    marks[symbol] = done;
  }

  void reach(std::size_t symbol, std::vector<bool>& is_reached) const {
    if (is_reached[symbol]) return;
    is_reached[symbol] = true;
    for (const auto* rule : rules_of_[symbol])
      for (const auto& item : rule->source) reach(item.symbol, is_reached);
  }

  /// How many items of the rule decide a variable.
  std::size_t deciders(const Rule& rule, std::size_t variable) const {
    std::size_t count = 0;
    for (const auto& item : rule.source)
      for (std::size_t i = 0; i < item.variables.size(); ++i)
        if (item.variables[i] == variable && decided_[item.symbol][i]) ++count;
    return count;
  }

  void require_one_decider(const Rule& rule, std::size_t variable) const {
    if (!text_.sorts[rule.variables[variable].sort].is_decided) return;
    const auto count = deciders(rule, variable);
    const bool is_parameter = variable < text_.symbols[rule.symbol].sorts.size();
    const bool wants_one = !is_parameter || decided_[rule.symbol][variable];
    if (count == (wants_one ? 1 : 0)) return;
    const auto name = rule.variables[variable].name.empty() ? "a variable" : rule.variables[variable].name;
    text_.fail(
        rule.line,
        count == 0 ? fmt::format("no word decides {}", name) : fmt::format("{} words decide {}", count, name),
        "one nonterminal with it that leads to a word whose shape decides");
  }

  const GrammarText& text_;
  std::vector<std::vector<const Rule*>> rules_of_;
  std::vector<std::vector<bool>>
      decided_;  ///< of each nonterminal's parameters: whether one of its words decides it
};

}  // namespace

std::vector<bool> symbols_that_end(const GrammarText& text) {
  std::vector<bool> ends(text.symbols.size(), false);
  for (const auto& table : text.tables) ends[table.symbol] = true;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& rule : text.rules)
      if (!ends[rule.symbol] && all_end(rule, ends)) ends[rule.symbol] = grows = true;
  }
  return ends;
}

bool all_end(const Rule& rule, const std::vector<bool>& ends) {
  return std::all_of(rule.source.begin(), rule.source.end(),
                     [&](const Item& item) { return ends[item.symbol]; });
}

void require_sound_rules(const GrammarText& text) {
  Checks checks(text);
  checks.require_ends();
  checks.require_growth();
  checks.require_reached();
  checks.require_deciders();
}

}  // namespace corpora
