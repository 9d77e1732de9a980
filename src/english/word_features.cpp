#include "english/word_features.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "attn/random/random.hpp"
#include "attn/text/utf8.hpp"

namespace english {

namespace {

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

}  // namespace

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

namespace {

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

/// The cosine of the features: 1 where they are the same.
double likeness(const Kind& a, const Kind& b) {
  double product = 0, square_of_a = 0, square_of_b = 0;
  for (const auto& [name, share] : a.features) {
    square_of_a += share * share;
    if (const auto found = b.features.find(name); found != b.features.end()) product += share * found->second;
  }
  for (const auto& [name, share] : b.features) square_of_b += share * share;
  return product / std::sqrt(square_of_a * square_of_b);
}

}  // namespace

std::optional<std::string> read_as(const Lexicon& lexicon, const std::string& word,
                                   const std::vector<std::string>& vocabulary) {
  const auto in_vocabulary = [&](const std::string& one) {
    return std::find(vocabulary.begin(), vocabulary.end(), one) != vocabulary.end();
  };
  for (const auto& same : {word, attn::lower_case(word)})
    if (in_vocabulary(same)) return same;
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
    const auto apostrophe = plain.rfind('\'');
    const auto begin = apostrophe == plain.npos || apostrophe == 0 ? plain.npos
                       : plain.substr(apostrophe - 1) == "n't"     ? apostrophe - 1
                                                                   : apostrophe;
    static const std::set<std::string> endings = {"n't", "'s", "'m", "'re", "'ve", "'ll", "'d"};
    if (begin == plain.npos || begin == 0 || endings.count(plain.substr(begin)) == 0) {
      cut.push_back(token);
      continue;
    }
    cut.push_back(plain.substr(0, begin));
    cut.push_back(plain.substr(begin));
  }
  return cut;
}

}  // namespace english
