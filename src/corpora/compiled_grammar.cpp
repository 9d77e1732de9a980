#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "attn/lists.hpp"
#include "corpora/grammar.hpp"

namespace corpora {

namespace {

/// Whether all items of a rule can become words.
bool all_end(const Rule& rule, const std::vector<bool>& ends) {
  return attn::all_of(rule.source, [&](const Item& item) { return ends[item.symbol]; });
}

/// Goes through the rules again and again, for as long as `grow` says of one that it told something new.
template <class Rules, class Grow>
void until_nothing_grows(const Rules& rules, const Grow& grow) {
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& rule : rules) grows |= grow(rule);
  }
}

/// For each symbol whether it can become words: it has a table of them, or a rule whose items all can.
std::vector<bool> symbols_that_end(const GrammarText& text) {
  std::vector<bool> ends(text.symbols.size(), false);
  for (const auto& table : text.tables) ends[table.symbol] = true;
  until_nothing_grows(text.rules, [&](const Rule& rule) {
    return !ends[rule.symbol] && (ends[rule.symbol] = all_end(rule, ends));
  });
  return ends;
}

/// Throws Error unless every nonterminal can end, none becomes itself without a word more, and wherever a
/// variable stands for what a noun decides there is exactly one such noun.
class Checks {
 public:
  explicit Checks(const GrammarText& text) : text_(text) {}

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
    for (auto rule = text_.rules.rbegin(); rule != text_.rules.rend(); ++rule)
      if (const auto next = rule->source[0].symbol;
          rule->source.size() == 1 && reached_from(next, 1)[rule->symbol])
        text_.fail(rule->line,
                   fmt::format("{} leads back to itself without a word more", text_.written(next)),
                   "a rule with another nonterminal beside it");
  }

  void require_reached() const {
    const auto is_reached = reached_from(text_.start);
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
    until_nothing_grows(text_.rules, [&](const Rule& rule) {
      auto& decided = decided_[rule.symbol];
      const auto before = decided;
      for (std::size_t i = 0; i < decided.size(); ++i) decided[i] = decided[i] || deciders(rule, i) > 0;
      return decided != before;
    });
    for (const auto& table : text_.tables)
      if (!text_.shapes[table.shape].decides && !decided_[table.symbol].empty() && decided_[table.symbol][0])
        text_.fail(table.line,
                   fmt::format("in another table {} decides its variable", text_.written(table.symbol)),
                   "a shape that decides in all tables, or in none");
    for (const auto& rule : text_.rules)
      for (std::size_t i = 0; i < rule.variables.size(); ++i) require_one_decider(rule, i);
  }

 private:
  /// For each symbol whether rules of at most so many items lead to it from that one, which counts itself.
  std::vector<bool> reached_from(std::size_t symbol, std::size_t most_items = ~std::size_t{0}) const {
    std::vector<bool> is_reached(text_.symbols.size(), false);
    is_reached[symbol] = true;
    until_nothing_grows(text_.rules, [&](const Rule& rule) {
      bool grows = false;
      if (is_reached[rule.symbol] && rule.source.size() <= most_items)
        for (const auto& item : rule.source)
          if (!is_reached[item.symbol]) is_reached[item.symbol] = grows = true;
      return grows;
    });
    return is_reached;
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
  std::vector<std::vector<bool>> decided_;  ///< by symbol and parameter: whether a word of it decides
};

/// By parameter, each by itself.
std::vector<Combinations> values_of(const GrammarText& text, const Table& table, const Row& row) {
  auto condition = row.condition;
  std::vector<Combinations> values;
  for (std::size_t i = 0; i < table.allowed.size(); ++i) {
    const auto& sort = text.sorts[text.symbols[table.symbol].sorts[i]];
    auto& its = values.emplace_back(0);
    for (std::size_t value = 0; value < sort.combinations.size(); ++value)
      if (satisfies(sort.combinations[value], condition)) its |= table.allowed[i] & Combinations{1} << value;
    for (const auto feature : sort.features) condition |= text.features[feature].all;
  }
  return values;
}

/// The values that the variables of each nonterminal can have with the words that there are, found from the
/// words up and for each variable by itself. A grammar need not be compiled for others: they lead to no word.
class PossibleValues {
 public:
  explicit PossibleValues(const GrammarText& text) {
    for (const auto& symbol : text.symbols) values_.emplace_back(symbol.sorts.size());
    for (const auto& table : text.tables)
      for (const auto& row : table.rows) add(table.symbol, values_of(text, table, row));
    const auto ends = symbols_that_end(text);
    until_nothing_grows(text.rules,
                        [&](const Rule& rule) { return all_end(rule, ends) && add(rule.symbol, of(rule)); });
  }

  /// Of a rule's variables: those that each of its items can have.
  std::vector<Combinations> of(const Rule& rule) const {
    std::vector<Combinations> values;
    for (const auto& variable : rule.variables) values.push_back(variable.allowed);
    for (const auto& item : rule.source)
      for (std::size_t i = 0; i < item.variables.size(); ++i)
        values[item.variables[i]] &= values_[item.symbol][i];
    return values;
  }

 private:
  /// The first of the values are those of the symbol's own variables. Returns whether any is new.
  bool add(std::size_t symbol, const std::vector<Combinations>& values) {
    if (attn::contains(values, Combinations{0})) return false;
    const auto before = values_[symbol];
    for (std::size_t i = 0; i < before.size(); ++i) values_[symbol][i] |= values[i];
    return values_[symbol] != before;
  }

  std::vector<std::vector<Combinations>> values_;  ///< by symbol and variable
};

/// A value for each parameter of a table.
using Values = std::vector<std::size_t>;

/// Of a table with certain values, for each row: nothing where the word does not have them. Empty where no
/// word of the table has them.
using Entries = std::vector<std::optional<LexicalEntry>>;

/// Words with their values, and rules with theirs, that a grammar may have.
constexpr std::size_t most_combined = 2'000'000;

class Compiler {
 public:
  explicit Compiler(const GrammarText& text)
      : text_(text),
        possible_(text),
        rules_of_(text.symbols.size()),
        tables_of_(text.symbols.size()),
        states_(text.symbols.size()) {
    for (const auto& rule : text.rules) rules_of_[rule.symbol].push_back(&rule);
    for (const auto& table : text.tables) tables_of_[table.symbol].push_back(&table);
  }

  CompiledGrammar compile(bool with_weights) {
    grammar_.start = state(text_.start, {});
    drop_dead_alternatives();
    if (with_weights) {
      require_every_rule();
      find_weights();
    }
    return std::move(grammar_);
  }

 private:
  std::size_t state(std::size_t symbol, const std::vector<Combinations>& allowed) {
    const auto index = grammar_.states.size();
    const auto [known, is_new] = states_[symbol].try_emplace(allowed, index);
    if (!is_new) return known->second;
    grammar_.states.push_back({symbol, allowed, !tables_of_[symbol].empty(), false, {}, {}, {}, {}, {}, {}});
    if (grammar_.states[index].is_table)
      add_entries(index);
    else
      for (const auto* rule : rules_of_[symbol]) add_alternatives(index, *rule);
    return index;
  }

  void add_entries(std::size_t index) {
    auto& state = grammar_.states[index];
    const auto& sorts = text_.symbols[state.symbol].sorts;
    for (std::size_t i = 0; i < sorts.size(); ++i)
      if (text_.sorts[sorts[i]].is_decided && !state.decided_variable) state.decided_variable = i;
    for (const auto* table : tables_of_[state.symbol]) {
      state.decides = text_.shapes[table->shape].decides;
      add_entries(state, *table);
    }
  }

  void add_entries(State& state, const Table& table) {
    std::vector<const Entries*> possible;
    Values values;
    for_each_values(state.allowed, values, [&] {
      count_combined(table.line, table.rows.size());
      const auto& entries = entries_of(table, values, state.decided_variable);
      if (!entries.empty()) possible.push_back(&entries);
    });
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      for (const auto* entries : possible) {
        if (!(*entries)[row]) continue;
        const double before = state.entry_weights.empty() ? 0.0 : state.entry_weights.back();
        state.entry_weights.push_back(before + 1.0 / static_cast<double>(table.rows.size()));
        state.entries.push_back(*(*entries)[row]);
      }
  }

  /// Calls `work` once for each choice of allowed values, which it finds in `values`, the last one fastest.
  template <class Work>
  static void for_each_values(const std::vector<Combinations>& allowed, Values& values, const Work& work) {
    if (values.size() == allowed.size()) return work();
    for (auto rest = allowed[values.size()]; rest != 0; rest &= rest - 1) {
      values.push_back(static_cast<std::size_t>(std::countr_zero(rest)));
      for_each_values(allowed, values, work);
      values.pop_back();
    }
  }

  void count_combined(std::size_t line, std::size_t count) {
    combined_ += count;
    if (combined_ > most_combined)
      text_.fail(line,
                 fmt::format("the values of all variables have more than {} combinations", most_combined),
                 "fewer variables that stand twice in a rule, or fewer values");
  }

  /// Compared with those that have another value of the variable that a noun decides.
  const Entries& entries_of(const Table& table, Values values, std::optional<std::size_t> decided) {
    auto& entries_of_table = entries_[&table];
    const auto known = entries_of_table.find(values);
    if (known != entries_of_table.end()) return known->second;
    if (!decided) return entries_of_table[values] = entries_with(table, values);
    const auto value = values[*decided];
    const auto count = text_.sorts[text_.symbols[table.symbol].sorts[*decided]].combinations.size();
    std::vector<Entries*> all;
    for (values[*decided] = 0; values[*decided] < count; ++values[*decided])
      all.push_back(&(entries_of_table[values] = entries_with(table, values)));
    for (auto* entries : all)
      for (const auto* others : all) compare(*entries, *others);
    return *all[value];
  }

  Entries entries_with(const Table& table, const Values& values) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((table.allowed[i] >> values[i] & 1) == 0) return {};
    const auto& shape = text_.shapes[table.shape];
    const auto known = text_.values(table.symbol, values);
    const auto category = std::find_if(shape.categories.rbegin(), shape.categories.rend(),
                                       [&](const auto& one) { return satisfies(known, one.first); });
    if (category == shape.categories.rend()) return {};
    Entries entries(table.rows.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& row = table.rows[i];
      if (!satisfies(known, row.condition)) continue;
      const auto *source = form_of(row.source, shape.source, known),
                 *target = form_of(row.target, shape.target, known);
      if (source && target) entries[i] = entry_of(source->front(), *target, category->second);
    }
    return entries;
  }

  static LexicalEntry entry_of(const Word& source, const std::vector<Word>& target,
                               const std::string& category) {
    LexicalEntry entry{&source, &target, &category, ""};
    for (const auto& word : target) entry.gloss += (entry.gloss.empty() ? "" : " ") + word.text;
    if (entry.gloss.empty()) entry.gloss = no_gloss;
    return entry;
  }

  /// The last whose condition holds, by the first conditions for so many forms; one form alone is for every
  /// condition. Null where the word has none.
  static const std::vector<Word>* form_of(const std::vector<Form>& forms,
                                          const std::vector<std::vector<Condition>>& possible,
                                          const Condition& values) {
    auto place = forms.size();
    if (place > 1) {
      const auto& conditions = *std::find_if(possible.begin(), possible.end(),
                                             [&](const auto& some) { return some.size() == place; });
      while (place > 0 && !satisfies(values, conditions[place - 1])) --place;
    }
    return place > 0 && forms[place - 1] ? &*forms[place - 1] : nullptr;
  }

  static void compare(Entries& entries, const Entries& others) {
    if (others.empty()) return;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i] || !others[i]) continue;
      const bool has_same_source = others[i]->source->text == entries[i]->source->text;
      if (!has_same_source || others[i]->gloss != entries[i]->gloss) entries[i]->agrees = true;
    }
  }

  void add_alternatives(std::size_t index, const Rule& rule) {
    auto allowed = possible_.of(rule);
    for (std::size_t i = 0; i < grammar_.states[index].allowed.size(); ++i)
      allowed[i] &= grammar_.states[index].allowed[i];
    add_combinations(index, rule, 0, allowed);
  }

  /// A variable that stands twice in a rule has one value in each alternative; another can keep several.
  void add_combinations(std::size_t index, const Rule& rule, std::size_t variable,
                        std::vector<Combinations>& allowed) {
    if (variable == rule.variables.size()) return add_alternative(index, rule, allowed);
    if (allowed[variable] == 0) return;
    if (occurrences(rule, variable) < 2) return add_combinations(index, rule, variable + 1, allowed);
    const auto all = allowed[variable];
    for (auto rest = all; rest != 0; rest &= rest - 1) {
      allowed[variable] = rest & (~rest + 1);
      add_combinations(index, rule, variable + 1, allowed);
    }
    allowed[variable] = all;
  }

  static std::size_t occurrences(const Rule& rule, std::size_t variable) {
    std::size_t count = 0;
    for (const auto& item : rule.source)
      count += static_cast<std::size_t>(std::count(item.variables.begin(), item.variables.end(), variable));
    return count;
  }

  void add_alternative(std::size_t index, const Rule& rule, const std::vector<Combinations>& allowed) {
    count_combined(rule.line, 1);
    Alternative alternative{&rule, {}, {}};
    for (const auto& item : rule.source) {
      std::vector<Combinations> arguments;
      for (const auto variable : item.variables) arguments.push_back(allowed[variable]);
      const auto next = state(item.symbol, arguments);
      const auto& reached = grammar_.states[next];
      if (reached.is_table && reached.entries.empty()) return;
      alternative.states.push_back(next);
    }
    grammar_.states[index].alternatives.push_back(std::move(alternative));
  }

  void drop_dead_alternatives() {
    std::vector<bool> ends;
    for (const auto& state : grammar_.states) ends.push_back(!state.entries.empty());
    const auto is_alive = [&](const Alternative& alternative) {
      return attn::all_of(alternative.states, [&](std::size_t state) { return ends[state]; });
    };
    std::vector<std::size_t> numbers(ends.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    until_nothing_grows(numbers, [&](std::size_t i) {
      return !ends[i] && (ends[i] = attn::any_of(grammar_.states[i].alternatives, is_alive));
    });
    for (auto& state : grammar_.states)
      std::erase_if(state.alternatives, [&](const Alternative& one) { return !is_alive(one); });
  }

  void require_every_rule() const {
    std::set<const Rule*> used;
    for (const auto& state : grammar_.states)
      for (const auto& alternative : state.alternatives) used.insert(alternative.rule);
    for (const auto& rule : text_.rules)
      if (used.count(&rule) == 0)
        text_.fail(rule.line, "no words agree with all that the rule asks for",
                   "values that its words, and the rules that lead to it, have in common");
  }

  void find_weights() {
    std::vector<double> total(text_.symbols.size(), 0.0);
    for (const auto& rule : text_.rules) total[rule.symbol] += rule.weight;
    for (auto& state : grammar_.states) {
      for (auto& alternative : state.alternatives) alternative.rest.resize(alternative.states.size());
      if (state.is_table && !state.entries.empty()) state.weights[1] = state.entry_weights.back();
      if (!state.is_table) state.cumulative.resize(longest_sentence + 1);
    }
    for (std::size_t length = 1; length <= longest_sentence; ++length) {
      for (auto& state : grammar_.states) find_weight(state, length, total);
      for (auto& state : grammar_.states)
        for (auto& alternative : state.alternatives)
          for (std::size_t item = 0; item < alternative.states.size(); ++item)
            alternative.rest[item][length] = weight(alternative, item, length);
    }
  }

  /// Of the items from `first` on having `length` words in all.
  double weight(const Alternative& alternative, std::size_t first, std::size_t length) const {
    const auto& state = grammar_.states[alternative.states[first]];
    const auto& own = state.weights;
    if (first + 1 == alternative.states.size()) return own[length];
    const auto& rest = alternative.rest[first + 1];
    if (state.is_table) return own[1] * rest[length - 1];
    double sum = 0.0;
    for (std::size_t i = 1; i < length; ++i) sum += own[i] * rest[length - i];
    return sum;
  }

  /// States with the same number of words depend on each other through rules with a single item only.
  void find_weight(State& state, std::size_t length, const std::vector<double>& total) {
    if (state.is_table || !state.cumulative[length].empty()) return;
    double sum = 0.0;
    state.cumulative[length].reserve(state.alternatives.size());
    for (const auto& alternative : state.alternatives) {
      if (alternative.states.size() == 1) find_weight(grammar_.states[alternative.states[0]], length, total);
      const auto share = alternative.rule->weight / total[state.symbol];
      sum += share * weight(alternative, 0, length);
      state.cumulative[length].push_back(sum);
    }
    state.weights[length] = sum;
  }

  const GrammarText& text_;
  PossibleValues possible_;
  std::vector<std::vector<const Rule*>> rules_of_;
  std::vector<std::vector<const Table*>> tables_of_;
  std::vector<std::map<std::vector<Combinations>, std::size_t>> states_;  ///< by symbol
  std::map<const Table*, std::map<Values, Entries>> entries_;
  std::size_t combined_ = 0;
  CompiledGrammar grammar_;
};

}  // namespace

CompiledGrammar compile(const GrammarText& text) {
  Checks checks(text);
  checks.require_ends();
  checks.require_growth();
  checks.require_reached();
  checks.require_deciders();
  return Compiler(text).compile(true);
}

GrammarText only_of(const std::vector<std::string>& words, const GrammarText& text) {
  const auto is_of_words = [&](const Form& form) {
    return form &&
           (attn::contains(words, form->front().text) || attn::contains(words, form->front().before_vowel));
  };
  GrammarText kept = {text.file_name, text.features,     text.sorts, text.symbols, text.shapes, {},
                      text.rules,     text.contractions, text.start};
  for (const auto& table : text.tables) {
    Table its = {table.line, table.symbol, table.shape, table.allowed, {}};
    for (const auto& row : table.rows)
      if (attn::any_of(row.source, is_of_words)) its.rows.push_back(row);
    if (!its.rows.empty()) kept.tables.push_back(std::move(its));
  }
  const auto ends = symbols_that_end(kept);
  std::erase_if(kept.rules, [&](const Rule& rule) { return !all_end(rule, ends); });
  return kept;
}

CompiledGrammar compile_without_weights(const GrammarText& text) {
  return Compiler(text).compile(false);
}

}  // namespace corpora
