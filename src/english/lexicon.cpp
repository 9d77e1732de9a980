#include "english/lexicon.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "attn/lists.hpp"
#include "attn/text/text_file.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/utf8.hpp"

namespace english {

namespace {

constexpr std::string_view vowels = "aeiou";

bool is_vowel(char letter) {
  return vowels.find(letter) != vowels.npos;
}

/// With any of the endings, and something before it.
template <class... Endings>
bool ends_with(std::string_view word, const Endings&... endings) {
  return ((word.size() > std::string_view(endings).size() && word.ends_with(endings)) || ...);
}

std::string without(std::string_view word, std::size_t letters) {
  return std::string(word.substr(0, word.size() - letters));
}

bool ends_with_consonant_and_y(std::string_view word) {
  return ends_with(word, "y") && !is_vowel(word[word.size() - 2]);
}

/// "stop", "plan": the last consonant is doubled before -ed and -ing.
bool doubles_last(std::string_view verb) {
  if (verb.size() < 3) return false;
  const char last = verb.back(), vowel = verb[verb.size() - 2], before = verb[verb.size() - 3];
  const auto syllables = std::count_if(verb.begin(), verb.end(), is_vowel);
  return syllables == 1 && is_vowel(vowel) && !is_vowel(before) && !is_vowel(last) &&
         std::string_view("wxy").find(last) == std::string_view::npos;
}

std::string lower(std::string_view word) {
  auto result = with_plain_apostrophes(std::string(word));
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

std::string name_of(char part) {
  return part == 'n' ? "noun" : part == 'v' ? "verb" : part == 'a' ? "adjective" : "adverb";
}

/// "nt91" or ".pronoun". A word that the tagged texts never have counts as half a use.
Reading parsed(std::string_view text, const std::string& lemma) {
  if (text.front() == '.') return {std::string(text.substr(1)), lemma, "", Form::base, 1};
  const auto digits = std::min(text.find_first_of("0123456789"), text.size());
  std::size_t count = 0;
  std::from_chars(text.data() + digits, text.data() + text.size(), count);
  Reading reading = {name_of(text.front()), lemma, std::string(text.substr(1, digits - 1)), Form::base,
                     static_cast<double>(count) + 0.5};
  if (reading.part == "noun" || reading.kind.empty()) return reading;
  reading.polarity = reading.kind.back() == 'g' ? 1 : reading.kind.back() == 'x' ? -1 : 0;
  if (reading.polarity != 0) reading.kind.pop_back();
  return reading;
}

std::string_view word_of(std::string_view line) {
  return line.substr(0, line.find(' '));
}

constexpr std::array forms = {"base", "plural", "third person", "past", "gerund"};

/// The features of a reading: its part of speech, each letter of its kind, its form, and of a function word
/// the word itself.
std::vector<std::string> names_of(const Reading& reading) {
  std::vector<std::string> names = {reading.part};
  for (const char letter : reading.kind)
    if (letter != '-') names.push_back(reading.part + ' ' + letter);
  if (reading.part == "noun" || reading.part == "verb")
    names.push_back(reading.part + ' ' + forms[static_cast<std::size_t>(reading.form)]);
  if (reading.is_function() && reading.part != "punctuation") names.push_back('"' + reading.lemma + '"');
  return names;
}

std::array<double, 16> code_of(const std::string& lemma) {
  attn::Generator generator(attn::crc32(lemma));
  std::array<double, 16> code{};
  double square = 0;
  for (double& number : code) {
    number = generator.standard_normal();
    square += number * number;
  }
  for (double& number : code) number /= std::sqrt(square);
  return code;
}

bool has_capital(const std::string& word) {
  return word.front() >= 'A' && word.front() <= 'Z' && word != "I";
}

std::string small_first_letter(std::string word) {
  if (has_capital(word)) word.front() = static_cast<char>(word.front() - 'A' + 'a');
  return word;
}

/// The features of all readings by their shares, whether an adjective, or else a likely verb, praises (1) or
/// condemns (−1), whether a seldom one does ("fault"), and whether the word says that the contrary follows.
struct Kind {
  std::map<std::string, double> features;
  int praise = 0;
  bool can_judge = false;
  bool contrasts = false;
};

Kind kind_of(const Lexicon& lexicon, const std::string& word) {
  constexpr double likely = 0.25;
  static const std::set<std::string> contrary = {"but", "although", "though", "yet", "however"};
  Kind kind;
  kind.contrasts = contrary.count(attn::lower_case(word)) > 0;
  const auto readings = lexicon.guessed_readings(word);
  for (const auto& reading : readings) {
    for (const auto& name : names_of(reading)) kind.features[name] += reading.share;
    if (reading.is_function()) kind.features["function word"] += 0.1 * reading.share;
    kind.can_judge |= reading.polarity != 0;
    if (readings.front().is_function() || reading.polarity == 0) continue;
    if (reading.part == "adjective" || (reading.share >= likely && kind.praise == 0))
      kind.praise = reading.polarity;
  }
  return kind;
}

double product(const Kind& a, const Kind& b) {
  double sum = 0;
  for (const auto& [name, share] : a.features)
    if (const auto* other = attn::value_in(b.features, name)) sum += share * *other;
  return sum;
}

/// The cosine of the features: 1 where they are the same.
double likeness(const Kind& a, const Kind& b) {
  return product(a, b) / std::sqrt(product(a, a) * product(b, b));
}

}  // namespace

Lexicon::Lexicon(const std::string& path) : text_(attn::text_of_file(path, "the lexicon of English words")) {
  lines_ = attn::pieces_of(text_, "\n");
  std::erase(lines_, "");
}

std::vector<std::string_view> Lexicon::listed(std::string_view word) const {
  const auto line = std::lower_bound(lines_.begin(), lines_.end(), word,
                                     [](auto one, auto wanted) { return word_of(one) < wanted; });
  if (line == lines_.end() || word_of(*line) != word) return {};
  return attn::words_in(line->substr(word.size()));
}

std::vector<Lexicon::Entry> Lexicon::entries() const {
  std::vector<Entry> all;
  for (const auto line : lines_) {
    const auto words = attn::words_in(line);
    all.push_back({std::string(words.front()), {words.begin() + 1, words.end()}});
  }
  return all;
}

void Lexicon::add_form(std::vector<Reading>& found, const std::string& lemma, char part, Form form) const {
  for (const auto text : listed(lemma))
    if (text.front() == part) {
      found.push_back(parsed(text, lemma));
      found.back().form = form;
    }
}

void Lexicon::add_listed(std::vector<Reading>& found, const std::string& word) const {
  for (const auto text : listed(word)) {
    if (text.front() == '>') {
      const std::string lemma(text.substr(2, text.find_first_of("0123456789") - 2));
      const auto form_of_verb = ends_with(word, "ing") ? Form::gerund : Form::past;
      add_form(found, lemma, text[1], text[1] == 'n' ? Form::plural : form_of_verb);
      continue;
    }
    auto& reading = found.emplace_back(parsed(text, word));
    if (reading.part == "noun" && reading.kind.back() == 's') {  // a plural of its own: "folks"
      reading.kind.pop_back();
      reading.form = Form::plural;
    }
  }
}

void Lexicon::add_regular(std::vector<Reading>& found, const std::string& word) const {
  const auto add = [&](const std::string& lemma, char part, Form form) {
    const bool is_so = part == 'n' ? plural_of(lemma) == word : form_of(lemma, form) == word;
    if (lemma.size() > 1 && is_so) add_form(found, lemma, part, form);
  };
  if (ends_with(word, "s"))
    for (const auto& lemma :
         {without(word, 1), without(word, 2), without(word, std::min<std::size_t>(3, word.size())) + "y"}) {
      add(lemma, 'n', Form::plural);
      add(lemma, 'v', Form::third_person);
    }
  for (const auto& [ending, form] : {std::pair{"ed", Form::past}, std::pair{"ing", Form::gerund}}) {
    if (!ends_with(word, ending)) continue;
    const auto stem = without(word, std::string_view(ending).size());
    add(stem, 'v', form);
    add(stem + "e", 'v', form);
    if (stem.size() > 2) add(without(stem, 1), 'v', form);
    if (stem.size() > 1 && stem.back() == 'i') add(without(stem, 1) + "y", 'v', form);
  }
}

std::vector<Reading> Lexicon::readings(std::string_view word) const {
  const auto share_out = [](auto begin, auto end, double whole) {
    const auto all = std::accumulate(begin, end, 0.0,
                                     [](double sum, const Reading& reading) { return sum + reading.share; });
    std::for_each(begin, end, [&](Reading& reading) { reading.share = whole * reading.share / all; });
  };
  const auto small = lower(word);
  std::vector<Reading> found;
  add_listed(found, small);
  // "does" is no form of a deer, "like" seldom a verb
  if (attn::any_of(found, std::mem_fn(&Reading::is_function))) {
    const auto is_by_hand = [](const Reading& reading) { return reading.kind.empty() && reading.share == 1; };
    const auto rest = std::stable_partition(found.begin(), found.end(), is_by_hand);
    share_out(found.begin(), rest, rest == found.end() ? 1.0 : 0.7);
    share_out(rest, found.end(), 0.3);
    return found;
  }
  add_regular(found, small);
  std::stable_sort(found.begin(), found.end(),
                   [](const Reading& a, const Reading& b) { return a.share > b.share; });
  share_out(found.begin(), found.end(), 1.0);
  return found;
}

std::vector<Reading> Lexicon::guessed_readings(std::string_view word) const {
  auto found = readings(word);
  if (!found.empty()) return found;
  const auto small = lower(word);
  if (!small.empty() && small.front() >= '0' && small.front() <= '9')
    return {{"number", small, "", Form::base, 1}};
  const auto ends = [&](auto... endings) { return ends_with(small, endings...); };
  if (ends("ly")) return {{"adverb", small, "", Form::base, 1}};
  if (ends("ous", "ful", "ive", "able", "ible", "less", "ish", "ic", "al", "ary"))
    return {{"adjective", small, "-", Form::base, 1}};
  if (ends("izes", "ises", "ifies")) return {{"verb", small, "bo", Form::third_person, 1}};
  if (ends("ized", "ised", "ified", "ed")) return {{"verb", small, "btio", Form::past, 1}};
  if (ends("izing", "ing")) return {{"verb", small, "btio", Form::gerund, 1}};
  if (small != word && !ends("tion", "ness")) return {{"noun", small, "p", Form::base, 1}};
  const bool is_plural = ends("s") && !ends("ss", "us", "is");
  return {{"noun", small, ends("tion", "ness", "ment", "ity", "ism") ? "q" : "t",
           is_plural ? Form::plural : Form::base, 1}};
}

std::string plural_of(const std::string& noun) {
  if (ends_with_consonant_and_y(noun)) return without(noun, 1) + "ies";
  return noun + (ends_with(noun, "s", "x", "z", "ch", "sh") ? "es" : "s");
}

std::string form_of(const std::string& verb, Form form) {
  if (form == Form::third_person) return ends_with(verb, "o") ? verb + "es" : plural_of(verb);
  if (form == Form::gerund) {
    if (ends_with(verb, "ie")) return without(verb, 2) + "ying";
    const bool drops_e = ends_with(verb, "e") && !ends_with(verb, "ee", "ye");
    return (drops_e ? without(verb, 1) : doubles_last(verb) ? verb + verb.back() : verb) + "ing";
  }
  if (form == Form::past) {
    if (ends_with(verb, "e")) return verb + "d";
    if (ends_with_consonant_and_y(verb)) return without(verb, 1) + "ied";
    return (doubles_last(verb) ? verb + verb.back() : verb) + "ed";
  }
  return verb;
}

std::vector<WordFeatures> features_of(const Lexicon& lexicon, const std::vector<std::string>& words) {
  std::vector<WordFeatures> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = i == 0 ? small_first_letter(words[i]) : words[i];
    const auto readings = lexicon.guessed_readings(word);
    std::map<std::string, double> shares;
    for (const auto& reading : readings)
      for (const auto& name : names_of(reading)) shares[name] += reading.share;
    if (has_capital(word) && !readings.front().is_function()) shares["capital"] = 1;
    auto& features = all.emplace_back();
    features.named.assign(shares.begin(), shares.end());
    features.code = code_of(readings.front().lemma);
    const bool is_word = word.front() >= 'A' || (word.front() & 0x80) != 0;
    if (is_word && lexicon.readings(word).empty())
      features.taken_for = (readings.front().part.front() == 'a' ? "an " : "a ") + readings.front().part;
  }
  return all;
}

std::vector<std::string> names_of_features(const Lexicon& lexicon) {
  std::set<std::string> names = {"capital"};
  for (const auto& entry : lexicon.entries())
    for (const auto& reading : lexicon.readings(entry.word))
      for (const auto& name : names_of(reading)) names.insert(name);
  for (const auto* form : forms) names.insert({std::string("verb ") + form});
  names.erase("verb plural");
  return {names.begin(), names.end()};
}

std::optional<std::string> read_as(const Lexicon& lexicon, const std::string& word,
                                   const std::vector<std::string>& vocabulary) {
  for (const auto& same : {word, attn::lower_case(word)})
    if (attn::contains(vocabulary, same)) return same;
  const auto kind = kind_of(lexicon, word);
  std::optional<std::string> nearest;
  double most = 0;
  for (const auto& other : vocabulary) {
    const auto its = kind_of(lexicon, other);
    if (its.praise != kind.praise || its.contrasts != kind.contrasts) continue;
    if (its.can_judge && !kind.can_judge) continue;
    if (const auto alike = likeness(kind, its); alike > most) {
      most = alike;
      nearest = other;
    }
  }
  return nearest;
}

std::string with_plain_apostrophes(std::string word) {
  for (auto at = word.find("\u2019"); at != word.npos; at = word.find("\u2019")) word.replace(at, 3, "'");
  return word;
}

std::vector<std::string> with_contractions_cut(const std::vector<std::string>& tokens) {
  std::vector<std::string> cut;
  for (const auto& token : tokens) {
    const auto plain = with_plain_apostrophes(token);
    std::size_t letters = 0;
    for (const std::string_view ending : {"n't", "'s", "'m", "'re", "'ve", "'ll", "'d"})
      if (ends_with(plain, ending)) letters = ending.size();
    cut.push_back(letters == 0 ? token : without(plain, letters));
    if (letters > 0) cut.push_back(plain.substr(plain.size() - letters));
  }
  return cut;
}

}  // namespace english
