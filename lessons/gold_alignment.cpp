#include "lessons/gold_alignment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "corpora/grammar.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/data_folder.hpp"

namespace lessons {

std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source) {
  return corpora::Grammar::translate(attn::data_folder("corpora") + "/english-french.grammar", source);
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

namespace {

std::optional<corpora::Link> link_between(const corpora::SentencePair& pair, std::size_t source,
                                          std::size_t target) {
  const auto found = std::find_if(pair.links.begin(), pair.links.end(), [&](const corpora::Link& link) {
    return link.source == source && link.target == target;
  });
  return found == pair.links.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<std::string> drawn_links(const corpora::SentencePair& pair, const corpora::Alignment& looks) {
  constexpr std::size_t most_columns = 66;
  std::size_t first = 0, all = 0;
  for (const auto& word : pair.target) first = std::max(first, attn::display_width(word) + 2);
  std::vector<std::size_t> widths;
  for (const auto& word : pair.source) {
    widths.push_back(std::max<std::size_t>(3, attn::display_width(word.text)) + 1);
    all += widths.back();
  }
  const bool names_columns = first + all <= most_columns;
  if (!names_columns) std::fill(widths.begin(), widths.end(), 3);
  std::vector<std::string> lines;
  auto header = std::string(first, ' ');
  for (std::size_t j = 0; j < widths.size(); ++j)
    header += attn::pad_right(attn::pad_left(pair.source[j].text, 3), widths[j]);
  if (names_columns) lines.push_back(header.substr(0, header.find_last_not_of(' ') + 1));
  for (std::size_t t = 0; t < pair.target.size(); ++t) {
    auto line = attn::pad_right(pair.target[t], first);
    for (std::size_t j = 0; j < widths.size(); ++j) {
      const auto link = link_between(pair, j, t);
      const char mark = looks[t] == j ? '*' : link ? ' ' : '.';
      const auto* around = !link ? " {} " : link->is_sure ? "({})" : "?{}?";
      line += attn::pad_right(fmt::format(fmt::runtime(around), mark), widths[j]);
    }
    lines.push_back(line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
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
