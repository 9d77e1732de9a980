#include "lessons/trained/gold_alignment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"
#include "lessons/workbench/columns.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/data_folder.hpp"
#include "trace/wording.hpp"

namespace lessons {

std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source) {
  static const corpora::GrammarFile grammar(attn::data_folder("corpora") + "/english-french.grammar");
  return grammar.translate(source);
}

corpora::Alignment strongest_of_rows(const attn::Tensor<2>& weights, std::size_t words) {
  corpora::Alignment alignment;
  for (std::size_t t = 0; t < words; ++t) {
    const double* row = &weights(t, 0);
    alignment.push_back(attn::argmax(row, weights.shape(1)));
  }
  return alignment;
}

std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair) {
  std::vector<std::set<std::size_t>> links(pair.target.size());
  for (const auto& link : pair.links) links[link.target].insert(link.source);
  return links;
}

std::size_t links_found(const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  const auto gold = gold_links(pair);
  std::size_t found = 0;
  for (std::size_t t = 0; t < gold.size(); ++t) found += gold[t].count(looks[t]);
  return found;
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// A row for each word of the target. `blank` stands behind a word that is right, where another has ≠.
Rows rows_of_looks(const corpora::SentencePair& pair, const std::vector<Looks>& all, const char* blank) {
  const auto gold = gold_links(pair);
  Rows rows = {{"", "comes from"}};
  for (const auto& looks : all) rows.front().push_back(looks.name + blank);
  for (std::size_t t = 0; t < gold.size(); ++t) {
    std::string from;
    for (const auto source : gold[t]) from += (from.empty() ? "" : ", ") + pair.source[source].text;
    rows.push_back({pair.target[t], from});
    for (const auto& [name, at] : all)
      rows.back().push_back(pair.source[at[t]].text + (gold[t].count(at[t]) > 0 ? blank : " ≠"));
  }
  rows.push_back({"found", ""});
  for (const auto& looks : all)
    rows.back().push_back(fmt::format("{} of {}{}", links_found(pair, looks.at), gold.size(), blank));
  return rows;
}

Rows transposed(const Rows& rows) {
  Rows columns(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row[i]);
  return columns;
}

bool fits(const std::string& table) {
  constexpr std::size_t most_columns = 74;
  const auto lines = attn::lines_of(table);
  return std::all_of(lines.begin(), lines.end(),
                     [](const std::string& line) { return attn::display_width(line) <= most_columns; });
}

}  // namespace

std::string looks_beside_gold(const corpora::SentencePair& pair, const std::vector<Looks>& all) {
  auto side_by_side = in_columns(transposed(rows_of_looks(pair, all, "")));
  return fits(side_by_side) ? side_by_side : in_columns(rows_of_looks(pair, all, "  "));
}

namespace {

/// A word whose French form depends on another one, and where it looks.
struct DecidedForm {
  std::size_t query;
  std::size_t controller;
  std::size_t looks_at;
  double share;  ///< that the controller gets

  std::size_t distance() const { return std::max(query, controller) - std::min(query, controller); }
};

/// The farthest first; of a word that comes twice the first.
std::vector<DecidedForm> decided_forms(const attn::Event& weights, const corpora::SentencePair& pair) {
  const auto keys = weights.tensor->shape.back();
  std::vector<DecidedForm> forms;
  std::set<std::string> seen;
  for (std::size_t query = 0; query < pair.source.size(); ++query)
    if (const auto& word = pair.source[query];
        word.needs_controller && word.controller && seen.insert(word.text).second)
      forms.push_back({query, *word.controller, strongest_in_row(weights, query),
                       weights.tensor->at(query * keys + *word.controller)});
  std::stable_sort(forms.begin(), forms.end(),
                   [](const DecidedForm& a, const DecidedForm& b) { return a.distance() > b.distance(); });
  return forms;
}

}  // namespace

std::string who_decides_forms(const attn::Event& weights) {
  constexpr std::size_t most = 3;
  const auto axis = weights.tensor->shape.size() - 2;
  const auto name = [&](std::size_t word) { return name_along(weights, axis, word); };
  const auto pair = gold_pair(weights.labels[axis].of(0));
  if (!pair)
    return fmt::format("The model learned to look at what decides a word's French form. {}",
                       decided_pairs(weights));
  std::vector<std::string> looks;
  std::string exception;
  for (const auto& form : decided_forms(weights, *pair)) {
    if (form.looks_at == form.controller && looks.size() < most)
      looks.push_back(
          fmt::format("\"{}\" at \"{}\" ({:.2f})", name(form.query), name(form.controller), form.share));
    else if (form.looks_at != form.controller && exception.empty())
      exception = fmt::format(" But \"{}\" looks at \"{}\" instead of \"{}\".", name(form.query),
                              name(form.looks_at), name(form.controller));
  }
  if (looks.empty()) return decided_pairs(weights) + exception;
  return fmt::format("A word looks at the one that decides its French form: {}.{}", fmt::join(looks, ", "),
                     exception);
}

}  // namespace lessons
