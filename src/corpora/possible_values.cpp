#include "corpora/possible_values.hpp"

#include <algorithm>

#include "corpora/grammar_checks.hpp"

namespace corpora {

namespace {

std::vector<Combinations> values_of(const GrammarText& text, const Table& table, const Row& row) {
  std::vector<Combinations> values;
  for (std::size_t i = 0; i < table.allowed.size(); ++i) {
    values.push_back(0);
    for (std::size_t value = 0; value < most_combinations; ++value)
      if ((table.allowed[i] >> value & 1) != 0 && text.satisfies(table.symbol, i, value, row.condition))
        values.back() |= Combinations{1} << value;
  }
  return values;
}

std::vector<Combinations> values_of(const Rule& rule) {
  std::vector<Combinations> values;
  for (const auto& variable : rule.variables) values.push_back(variable.allowed);
  return values;
}

}  // namespace

PossibleValues::PossibleValues(const GrammarText& text) {
  for (const auto& symbol : text.symbols) values_.emplace_back(symbol.sorts.size());
  for (const auto& table : text.tables)
    for (const auto& row : table.rows) add(table.symbol, values_of(text, table, row));
  const auto ends = symbols_that_end(text);
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& rule : text.rules) {
      if (!all_end(rule, ends)) continue;
      auto values = values_of(rule);
      restrict_to_items(rule, values);
      grows |= add(rule.symbol, values);
    }
  }
}

void PossibleValues::restrict_to_items(const Rule& rule, std::vector<Combinations>& allowed) const {
  for (const auto& item : rule.source)
    for (std::size_t i = 0; i < item.variables.size(); ++i)
      allowed[item.variables[i]] &= values_[item.symbol][i];
}

bool PossibleValues::add(std::size_t symbol, const std::vector<Combinations>& values) {
  if (std::find(values.begin(), values.end(), Combinations{0}) != values.end()) return false;
  const auto before = values_[symbol];
  for (std::size_t i = 0; i < before.size(); ++i) values_[symbol][i] |= values[i];
  return values_[symbol] != before;
}

}  // namespace corpora
