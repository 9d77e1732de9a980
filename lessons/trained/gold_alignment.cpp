#include "lessons/trained/gold_alignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"
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

}  // namespace lessons
