#include "corpora/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/text_file.hpp"
#include "corpora/compiled_grammar.hpp"

namespace corpora {

namespace {

using WordSet = std::set<const Word*>;

/// Which words stand first (side 0) and last (side 1) in what a state becomes.
class EdgeFinder {
 public:
  explicit EdgeFinder(const CompiledGrammar& grammar) : edges_(grammar.states.size()) {
    for (std::size_t i = 0; i < edges_.size(); ++i)
      for (const auto& entry : grammar.states[i].entries)
        if (!entry.target->empty()) {
          edges_[i][0].insert(&entry.target->front());
          edges_[i][1].insert(&entry.target->back());
        }
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t i = 0; i < edges_.size(); ++i)
        for (const auto& alternative : grammar.states[i].alternatives)
          for (const std::size_t side : {0, 1}) {
            const auto& target = alternative.rule->target;
            auto& all = edges_[i][side];
            const auto before = all.size();
            all.merge(of(alternative, side == 0 ? target.front() : target.back(), side));
            grows |= all.size() > before;
          }
    }
  }

  WordSet of(const Alternative& alternative, const TargetItem& item, std::size_t side) const {
    if (item.item) return edges_[alternative.states[*item.item]][side];
    return {side == 0 ? &item.words.front() : &item.words.back()};
  }

 private:
  std::vector<std::array<WordSet, 2>> edges_;
};

void add_forms(const Word& word, std::set<std::string>& vocabulary) {
  vocabulary.insert(word.text);
  if (!word.before_vowel.empty()) vocabulary.insert(word.before_vowel);
}

void add_meeting(const Word& word, const Word& next, const Contractions& contractions,
                 std::set<std::string>& vocabulary) {
  const auto& form = form_before(word, &next);
  const auto contraction = contractions.find({form, next.text});
  if (contraction != contractions.end()) vocabulary.insert(contraction->second);
}

/// Every word of the target sentences, elided, joined and contracted as their neighbours demand, by which
/// words can begin and end what each state becomes.
std::set<std::string> target_vocabulary(const GrammarText& text, const CompiledGrammar& grammar) {
  std::set<std::string> vocabulary;
  const EdgeFinder edges(grammar);
  for (const auto& state : grammar.states) {
    for (const auto& entry : state.entries)
      for (std::size_t i = 0; i < entry.target->size(); ++i) {
        add_forms((*entry.target)[i], vocabulary);
        if (i > 0) add_meeting((*entry.target)[i - 1], (*entry.target)[i], text.contractions, vocabulary);
      }
    for (const auto& alternative : state.alternatives) {
      const auto& target = alternative.rule->target;
      for (std::size_t i = 0; i < target.size(); ++i) {
        for (const auto& word : target[i].words) add_forms(word, vocabulary);
        if (i == 0) continue;
        const auto following = edges.of(alternative, target[i], 0);
        for (const auto* word : edges.of(alternative, target[i - 1], 1))
          for (const auto* next : following) add_meeting(*word, *next, text.contractions, vocabulary);
      }
    }
  }
  return vocabulary;
}

constexpr std::string_view valid_grammar = "a text file with a grammar";

bool has_form(const Row& row, const std::string& word) {
  return std::any_of(row.source.begin(), row.source.end(), [&](const Form& form) {
    return form && (form->front().text == word || form->front().before_vowel == word);
  });
}

/// A table with those of its rows that one of the words can come from.
Table with_rows_of(const std::vector<std::string>& words, const Table& table) {
  Table kept = {table.line, table.symbol, table.shape, table.allowed, {}};
  std::copy_if(table.rows.begin(), table.rows.end(), std::back_inserter(kept.rows), [&](const Row& row) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return has_form(row, word); });
  });
  return kept;
}

/// The rows of these words and the rules that lead to them.
GrammarText only_of(const std::vector<std::string>& words, const GrammarText& text) {
  GrammarText kept = {.file_name = text.file_name,
                      .features = text.features,
                      .sorts = text.sorts,
                      .symbols = text.symbols,
                      .shapes = text.shapes,
                      .tables = {},
                      .rules = text.rules,
                      .contractions = text.contractions,
                      .start = text.start};
  for (const auto& table : text.tables)
    if (auto its = with_rows_of(words, table); !its.rows.empty()) kept.tables.push_back(std::move(its));
  const auto ends = symbols_that_end(kept);
  std::erase_if(kept.rules, [&](const Rule& rule) { return !all_end(rule, ends); });
  return kept;
}

}  // namespace

Grammar::Grammar(GrammarText text)
    : text_(std::make_unique<GrammarText>(std::move(text))),
      compiled_(std::make_unique<CompiledGrammar>(compile(*text_))) {}
Grammar::Grammar(Grammar&&) noexcept = default;
Grammar& Grammar::operator=(Grammar&&) noexcept = default;
Grammar::~Grammar() = default;

Grammar Grammar::read(std::string_view text, std::string_view file_name) {
  return Grammar(parse_grammar(text, file_name));
}

Grammar Grammar::load(const std::string& path) {
  return read(attn::text_of_file(path, valid_grammar), path);
}

std::vector<std::size_t> Grammar::lengths() const {
  const auto& weights = compiled_->states[compiled_->start].weights;
  std::vector<std::size_t> result;
  for (std::size_t length = 1; length <= longest_sentence; ++length)
    if (weights[length] > 0.0) result.push_back(length);
  return result;
}

SentencePair Grammar::draw(attn::Random& random, std::size_t length) const {
  const auto& weights = compiled_->states[compiled_->start].weights;
  if (length > longest_sentence || weights[length] <= 0.0)
    throw attn::Error(fmt::format("{} has no sentence of {} words; valid: {}", text_->file_name, length,
                                  fmt::join(lengths(), ", ")));
  return draw_pair(*text_, *compiled_, random, length);
}

std::optional<SentencePair> Grammar::translate(const std::vector<std::string>& words) const {
  return derive(*text_, *compiled_, words);
}

std::vector<std::string> Grammar::source_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_->states)
    for (const auto& entry : state.entries) add_forms(*entry.source, words);
  return {words.begin(), words.end()};
}

std::vector<std::string> Grammar::target_words() const {
  const auto words = target_vocabulary(*text_, *compiled_);
  return {words.begin(), words.end()};
}

GrammarFile::GrammarFile(const std::string& path)
    : text_(
          std::make_unique<const GrammarText>(parse_grammar(attn::text_of_file(path, valid_grammar), path))) {
}

GrammarFile::~GrammarFile() = default;

std::optional<SentencePair> GrammarFile::translate(const std::vector<std::string>& words) const {
  const auto text = only_of(words, *text_);
  return derive(text, compile_without_weights(text), words);
}

}  // namespace corpora
