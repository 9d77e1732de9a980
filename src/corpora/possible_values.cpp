#include "corpora/possible_values.hpp"

#include <algorithm>
#include <utility>

namespace corpora {

PossibleValues::PossibleValues(const GrammarText& text) : text_(text) {
  for (const auto& symbol : text.symbols)
    possible_.push_back({std::vector<Combinations>(symbol.sorts.size()), false});
  for (const auto& table : text.tables)
    for (const auto& row : table.rows) add(table.symbol, values_of(table, row));
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& rule : text.rules) grows |= add(rule);
  }
}

void PossibleValues::restrict_to_items(const Rule& rule, std::vector<Combinations>& allowed) const {
  for (const auto& item : rule.source)
    for (std::size_t i = 0; i < item.variables.size(); ++i)
      allowed[item.variables[i]] &= possible_[item.symbol].values[i];
}

/// A condition is about the first variable that has the feature.
std::vector<Combinations> PossibleValues::values_of(const Table& table, const Row& row) const {
  constexpr auto satisfied = ~std::uint64_t{0};
  auto condition = row.condition;
  std::vector<Combinations> values;
  const auto& sorts = text_.symbols[table.symbol].sorts;
  for (std::size_t i = 0; i < sorts.size(); ++i) {
    const auto& sort = text_.sorts[sorts[i]];
    values.push_back(0);
    for (std::size_t value = 0; value < sort.combinations; ++value)
      if ((table.allowed[i] >> value & 1) != 0 && text_.satisfies(sort, value, condition))
        values.back() |= Combinations{1} << value;
    for (const auto feature : sort.features) condition[feature] = satisfied;
  }
  return values;
}

bool PossibleValues::add(std::size_t symbol, const std::vector<Combinations>& values) {
  if (std::find(values.begin(), values.end(), Combinations{0}) != values.end()) return false;
  auto with = possible_[symbol];
  with.ends = true;
  for (std::size_t i = 0; i < with.values.size(); ++i) with.values[i] |= values[i];
  if (with == possible_[symbol]) return false;
  possible_[symbol] = std::move(with);
  return true;
}

bool PossibleValues::all_end(const std::vector<Item>& items) const {
  return std::all_of(items.begin(), items.end(),
                     [this](const Item& item) { return possible_[item.symbol].ends; });
}

bool PossibleValues::add(const Rule& rule) {
  if (!all_end(rule.source)) return false;
  std::vector<Combinations> allowed;
  for (const auto& variable : rule.variables) allowed.push_back(variable.allowed);
  restrict_to_items(rule, allowed);
  return add(rule.symbol, allowed);
}

}  // namespace corpora
