#include "corpora/grammar.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <unordered_set>
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

namespace {

constexpr std::size_t longer_than_trained = 25, validation_pairs = 500;

/// Gives held-out pairs of a small grammar to the training until they are a tenth of both, at least one.
void leave_a_tenth(GrammarPairs& pairs) {
  const std::size_t all = pairs.training.size() + pairs.held_out.size();
  if (all < 2)
    throw attn::Error(fmt::format("the grammar has {} sentences of up to {} words; valid: two or more", all,
                                  longest_in_training));
  const auto kept = std::min(pairs.held_out.size(), std::max<std::size_t>(all / 10, 1));
  const auto first = pairs.held_out.begin() + static_cast<std::ptrdiff_t>(kept);
  std::move(first, pairs.held_out.end(), std::back_inserter(pairs.training));
  pairs.held_out.erase(first, pairs.held_out.end());
}

}  // namespace

GrammarPairs draw_pairs(const Grammar& grammar, attn::Random& random, std::size_t training,
                        std::size_t held_out, std::size_t longer) {
  std::unordered_set<std::string> drawn;
  const auto draw = [&](std::size_t count, std::size_t fewest_words, std::size_t most_words) {
    auto some = draw_distinct(grammar, random, count, fewest_words, most_words, drawn);
    for (const auto& pair : some) drawn.insert(source_text(pair));
    return some;
  };
  GrammarPairs pairs;
  pairs.held_out = draw(held_out, 1, longest_in_training);
  pairs.training = draw(training, 1, longest_in_training);
  leave_a_tenth(pairs);
  if (longer > 0) pairs.longer = draw(longer, longest_in_training + 1, longer_than_trained);
  pairs.validation = draw(validation_pairs, 1, longest_in_training);
  return pairs;
}

namespace {

/// After so many repetitions in a row a length is taken to have no further sentence.
constexpr std::size_t most_repetitions = 1000;

constexpr std::size_t most_reserved = 1'000'000;

struct OpenLength {
  std::size_t words;
  std::size_t repetitions = 0;  ///< in a row
};

std::vector<OpenLength> open_lengths(const Grammar& grammar, std::size_t shortest, std::size_t longest) {
  std::vector<OpenLength> open;
  for (const auto length : grammar.lengths())
    if (length >= shortest && length <= longest) open.push_back({length});
  return open;
}

}  // namespace

std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded) {
  auto open = open_lengths(grammar, shortest, longest);
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> drawn;
  pairs.reserve(std::min(count, most_reserved));
  drawn.reserve(std::min(count, most_reserved));
  while (pairs.size() < count && !open.empty()) {
    const auto index = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(open.size())));
    auto pair = grammar.draw(random, open[index].words);
    auto text = source_text(pair);
    if (excluded.count(text) == 0 && drawn.insert(std::move(text)).second) {
      open[index].repetitions = 0;
      pairs.push_back(std::move(pair));
    } else if (++open[index].repetitions == most_repetitions) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  return pairs;
}

}  // namespace corpora
