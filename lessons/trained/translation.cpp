#include "lessons/trained/translation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "attn/lists.hpp"
#include "attn/text/utf8.hpp"
#include "corpora/grammar.hpp"
#include "english/lexicon.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/trained/layers.hpp"
#include "trace/file.hpp"

namespace lessons {

namespace {

using Words = std::vector<std::string>;

using corpora::is_stand_in;

std::string named_in_brackets(const std::string& kind, bool begins_with_vowel) {
  return (begins_with_vowel ? "[vowel-" : "[") + kind + "]";
}

std::string class_of(const english::Reading& reading) {
  static const std::map<char, std::string> classes = {
      {'p', "person"}, {'a', "animal"}, {'f', "food"}, {'l', "room"}};
  const auto* found = reading.kind.empty() ? nullptr : attn::value_in(classes, reading.kind.front());
  const bool is_plural = reading.form == english::Form::plural || reading.kind.ends_with('s');
  return (found ? *found : "thing") + (is_plural ? "s" : "");
}

std::string form_of_verb(const english::Reading& reading) {
  static const std::map<english::Form, std::string> forms = {{english::Form::third_person, "verbs"},
                                                             {english::Form::past, "verbed"},
                                                             {english::Form::gerund, "verbing"}};
  const auto* found = attn::value_in(forms, reading.form);
  return found ? *found : "verb";
}

/// The likeliest reading: a verb behind "did" where it can be one, and none behind "the" where it can be
/// something else.
english::Reading reading_behind(const std::string& before, const std::vector<english::Reading>& readings) {
  static const std::set<std::string> before_verbs = {"n't",   "not",  "to",    "do",   "does",   "did", "can",
                                                     "could", "will", "would", "must", "should", "i",   "we",
                                                     "you",   "they", "he",    "she",  "who"};
  static const std::set<std::string> before_nouns = {"the", "a",     "an",   "this", "that",
                                                     "my",  "your",  "his",  "our",  "their",
                                                     "its", "every", "some", "of",   "in"};
  const bool wants_verb = before_verbs.count(before) > 0, wants_none = before_nouns.count(before) > 0;
  const auto found = std::find_if(readings.begin(), readings.end(), [&](const english::Reading& reading) {
    return reading.part == "verb" ? wants_verb : wants_none;
  });
  return found == readings.end() ? readings.front() : *found;
}

/// "Paris is …", "… in Paris": a capital, and no article before a single person or place.
bool is_name(const Words& sentence, std::size_t t, const english::Reading& reading) {
  const bool has_capital = sentence[t].front() >= 'A' && sentence[t].front() <= 'Z';
  if (!has_capital || reading.part != "noun" || reading.form == english::Form::plural) return false;
  return t > 0 || reading.kind.starts_with('p') || reading.kind.starts_with('l');
}

std::string stand_in(const Words& sentence, std::size_t t) {
  const auto& word = sentence[t];
  const auto readings = lexicon().guessed_readings(word);
  const auto reading = reading_behind(t == 0 ? "" : attn::lower_case(sentence[t - 1]), readings);
  const bool begins_with_vowel = std::string("aeiouAEIOU").find(word.front()) != std::string::npos;
  if (word.front() >= '0' && word.front() <= '9') return "[number]";
  if (reading.part == "noun") {
    const bool is_woman = reading.kind.find('w') != reading.kind.npos;
    return named_in_brackets(!is_name(sentence, t, reading) ? class_of(reading)
                             : is_woman                     ? "woman"
                                                            : "man",
                             begins_with_vowel);
  }
  if (reading.part == "verb") return named_in_brackets(form_of_verb(reading), begins_with_vowel);
  if (reading.part == "adjective" || reading.part == "adverb" || reading.part == "preposition")
    return "[" + reading.part + "]";
  return "[word]";
}

/// What French has for a stand-in.
std::string carried_as(const std::string& stand_in) {
  if (stand_in.find("verb") != stand_in.npos && stand_in != "[adverb]") return "[verb]";
  if (stand_in == "[adjective]") return stand_in;
  if (stand_in.ends_with("man]")) return "[name]";
  static const std::set<std::string> words = {"[adverb]", "[preposition]", "[number]", "[word]"};
  return words.count(stand_in) > 0 ? "[word]" : "[noun]";
}

}  // namespace

std::vector<std::string> with_elisions_cut(const std::vector<std::string>& tokens) {
  static const std::set<std::string> elided = {"l'", "j'", "n'", "s'", "d'", "m'", "t'", "c'", "qu'"};
  std::vector<std::string> cut;
  bool is_hyphenated = false;
  for (const auto& token : tokens) {
    if (is_hyphenated || (token == "-" && !cut.empty())) {
      cut.back() += token;
      is_hyphenated = token == "-";
      continue;
    }
    const auto plain = english::with_plain_apostrophes(token);
    const auto end = plain.find('\'') + 1;
    const bool is_cut =
        end > 0 && end < plain.size() && elided.count(attn::lower_case(plain.substr(0, end))) > 0;
    if (is_cut) cut.push_back(plain.substr(0, end));
    cut.push_back(is_cut ? plain.substr(end) : plain);
  }
  return cut;
}

std::optional<std::map<std::string, std::string>> readings_of_pairs(
    const std::vector<std::vector<std::string>>& sources,
    const std::vector<std::vector<std::string>>& targets, const std::vector<std::string>& source_words,
    const std::vector<std::string>& target_words) {
  std::map<std::string, std::string> readings;
  bool has_stand_ins = true;
  for (const auto& sentence : sources)
    for (std::size_t t = 0; t < sentence.size(); ++t) {
      const auto& word = sentence[t];
      if (attn::contains(source_words, word)) continue;
      const auto small = attn::lower_case(word);
      const auto read = attn::contains(source_words, small) ? small : stand_in(sentence, t);
      has_stand_ins = has_stand_ins && attn::contains(source_words, read);
      readings.emplace(word, read);
      if (is_stand_in(read)) readings.emplace(read, carried_as(read));
    }
  for (const auto& sentence : targets)
    for (const auto& word : sentence) {
      auto read = word;
      for (auto next = readings.find(read); !attn::contains(target_words, read) && next != readings.end();
           next = readings.find(read))
        read = next->second;
      if (attn::contains(target_words, read)) continue;
      const auto small = attn::lower_case(read);
      const auto other = attn::contains(target_words, small) ? small : "[noun]";
      readings.emplace(read, other);
      has_stand_ins = has_stand_ins && attn::contains(target_words, other);
    }
  return has_stand_ins ? std::optional(readings) : std::nullopt;
}

std::optional<std::string> not_french(const std::vector<std::vector<std::string>>& targets,
                                      const Options& options) {
  for (const auto& sentence : targets) {
    Words unknown;
    for (const auto& word : sentence)
      if (options.as_read(word) == "[noun]") unknown.push_back("\"" + word + "\"");
    if (2 * unknown.size() <= sentence.size()) continue;
    if (unknown.size() > 3) unknown.resize(3), unknown.push_back("…");
    return fmt::format("most of the words ({}): it writes French", fmt::join(unknown, ", "));
  }
  return std::nullopt;
}

std::string carried_over(const std::string& written, const std::vector<std::string>& source,
                         const double* weights, const Options& options) {
  if (!is_stand_in(written)) return written;
  std::optional<std::size_t> best;
  bool is_of_its_kind = false;
  for (std::size_t s = 0; s < source.size(); ++s) {
    const auto& read = options.as_read(source[s]);
    if (!is_stand_in(read)) continue;
    const bool fits = carried_as(read) == written;
    if (best && (fits == is_of_its_kind ? weights[s] <= weights[*best] : is_of_its_kind)) continue;
    best = s;
    is_of_its_kind = fits;
  }
  return best ? source[*best] : written;
}

bool are_the_same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const std::string& one, const std::string& other) {
                      return attn::lower_case(one) == attn::lower_case(other);
                    });
}

std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source,
                                               const Options& options) {
  Words read;
  for (const auto& word : source) read.push_back(options.as_read(word));
  auto pair = gold_pair(read);
  if (!pair) return std::nullopt;
  for (std::size_t t = 0; t < pair->target.size(); ++t)
    if (is_stand_in(pair->target[t]))
      for (const auto& link : pair->links)
        if (link.target == t) pair->target[t] = source[link.source];
  for (std::size_t s = 0; s < source.size(); ++s) pair->source[s].text = source[s];
  return pair;
}

std::optional<corpora::SentencePair> gold_pair(const std::vector<std::string>& source) {
  static const auto grammar = corpora::load_grammar(attn::data_folder("corpora") + "/english-french.grammar");
  return corpora::translate(grammar, source);
}

std::vector<std::set<std::size_t>> gold_links(const corpora::SentencePair& pair) {
  std::vector<std::set<std::size_t>> links(pair.target.size());
  for (const auto& link : pair.links) links[link.target].insert(link.source);
  return links;
}

formula::View links_of_grammar(const corpora::SentencePair& pair, std::size_t rows) {
  formula::Numbers links(attn::Shape{rows, pair.source.size()}, 0.0);
  for (const auto& link : pair.links)
    if (link.target < rows) links(link.target, link.source) = 1.0;
  return owned_view(std::move(links));
}

}  // namespace lessons
