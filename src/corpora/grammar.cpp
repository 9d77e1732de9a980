#include "corpora/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "corpora/compiled_grammar.hpp"
#include "corpora/derivation.hpp"
#include "corpora/grammar_checks.hpp"

namespace corpora {

namespace {

using Words = std::set<const Word*>;

/// Which words stand first and last in what a state becomes.
struct Edges {
  Words first;
  Words last;
};

class EdgeFinder {
 public:
  explicit EdgeFinder(const CompiledGrammar& grammar) : grammar_(grammar), edges_(grammar.states.size()) {
    for (std::size_t i = 0; i < edges_.size(); ++i)
      for (const auto& entry : grammar.states[i].entries) {
        if (entry.target->empty()) continue;
        edges_[i].first.insert(&entry.target->front());
        edges_[i].last.insert(&entry.target->back());
      }
    while (grow()) {
    }
  }

  Words first(const Alternative& alternative, const TargetItem& item) const {
    return item.item ? edges_[alternative.states[*item.item]].first : Words{&item.words.front()};
  }

  Words last(const Alternative& alternative, const TargetItem& item) const {
    return item.item ? edges_[alternative.states[*item.item]].last : Words{&item.words.back()};
  }

 private:
  bool grow() {
    bool grows = false;
    for (std::size_t i = 0; i < edges_.size(); ++i)
      for (const auto& alternative : grammar_.states[i].alternatives) {
        const auto& target = alternative.rule->target;
        grows = add(first(alternative, target.front()), edges_[i].first) || grows;
        grows = add(last(alternative, target.back()), edges_[i].last) || grows;
      }
    return grows;
  }

  static bool add(const Words& words, Words& all) {
    const auto before = all.size();
    all.insert(words.begin(), words.end());
    return all.size() > before;
  }

  const CompiledGrammar& grammar_;
  std::vector<Edges> edges_;
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
        const auto following = edges.first(alternative, target[i]);
        for (const auto* word : edges.last(alternative, target[i - 1]))
          for (const auto* next : following) add_meeting(*word, *next, text.contractions, vocabulary);
      }
    }
  }
  return vocabulary;
}

std::vector<std::string> sorted(const std::set<std::string>& words) {
  return {words.begin(), words.end()};
}

std::string text_of_file(const std::string& path) {
  constexpr std::string_view valid = "a text file with a grammar";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw attn::Error(fmt::format("{} is a directory; valid: {}", path, valid));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw attn::Error(fmt::format("{} cannot be opened: {}; valid: {}", path, std::strerror(errno), valid));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw attn::Error(fmt::format("{} cannot be read; valid: {}", path, valid));
  return text;
}

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

Grammar::Grammar(GrammarText text, CompiledGrammar (*compile)(const GrammarText&))
    : text_(std::make_unique<GrammarText>(std::move(text))),
      compiled_(std::make_unique<CompiledGrammar>(compile(*text_))) {}
Grammar::Grammar(Grammar&&) noexcept = default;
Grammar& Grammar::operator=(Grammar&&) noexcept = default;
Grammar::~Grammar() = default;

Grammar Grammar::read(std::string_view text, std::string_view file_name) {
  return {parse_grammar(text, file_name), compile};
}

Grammar Grammar::load(const std::string& path) {
  return read(text_of_file(path), path);
}

std::vector<std::size_t> Grammar::lengths() const {
  const auto& weights = compiled_->states[compiled_->start].weights;
  std::vector<std::size_t> result;
  for (std::size_t length = 1; length <= longest_sentence; ++length)
    if (weights[length] > 0.0) result.push_back(length);
  return result;
}

SentencePair Grammar::draw(attn::Random& random) const {
  const auto& weights = compiled_->states[compiled_->start].weights;
  const auto possible = lengths();
  if (possible.empty())
    throw attn::Error(fmt::format("{} has no sentence of up to {} words; valid: shorter rules",
                                  text_->file_name, longest_sentence));
  double left = 0.0;
  for (const auto length : possible) left += weights[length];
  left *= random.random_sample();
  for (const auto length : possible) {
    left -= weights[length];
    if (left < 0.0) return draw(random, length);
  }
  return draw(random, possible.back());
}

SentencePair Grammar::draw(attn::Random& random, std::size_t length) const {
  const auto& weights = compiled_->states[compiled_->start].weights;
  if (length > longest_sentence || weights[length] <= 0.0)
    throw attn::Error(fmt::format("{} has no sentence of {} words; valid: {}", text_->file_name, length,
                                  fmt::join(lengths(), ", ")));
  RandomChoices choices(*compiled_, random);
  return Derivation(*text_, *compiled_, choices, length).pair();
}

std::optional<SentencePair> Grammar::translate(const std::vector<std::string>& words) const {
  if (words.empty() || words.size() > longest_sentence) return std::nullopt;
  GivenWords choices(*compiled_, words);
  if (!choices.has_derivation()) return std::nullopt;
  return Derivation(*text_, *compiled_, choices, words.size()).pair();
}

std::vector<std::string> Grammar::source_words() const {
  std::set<std::string> words;
  for (const auto& state : compiled_->states)
    for (const auto& entry : state.entries) {
      words.insert(entry.source->text);
      if (!entry.source->before_vowel.empty()) words.insert(entry.source->before_vowel);
    }
  return sorted(words);
}

std::vector<std::string> Grammar::target_words() const {
  return sorted(target_vocabulary(*text_, *compiled_));
}

GrammarFile::GrammarFile(const std::string& path)
    : text_(std::make_unique<const GrammarText>(parse_grammar(text_of_file(path), path))) {}

GrammarFile::~GrammarFile() = default;

std::optional<SentencePair> GrammarFile::translate(const std::vector<std::string>& words) const {
  return Grammar(only_of(words, *text_), compile_without_weights).translate(words);
}

}  // namespace corpora
