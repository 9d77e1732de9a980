#include "corpora/sentiment.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "attn/error.hpp"
#include "attn/random/random.hpp"
#include "tests/unit/temporary_file.hpp"

using attn::Generator;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using corpora::LabelledSentence;
using corpora::SentimentCorpus;
using Words = std::vector<std::string>;

namespace {

constexpr const char* lexicon_path = ATTN_DATA "/corpora/sentiment.txt";
const std::set<std::string> negators{"not", "never", "hardly"};

const SentimentCorpus& corpus() {
  static const auto loaded = SentimentCorpus::load(lexicon_path);
  return loaded;
}

std::string text_of(const LabelledSentence& sentence) {
  std::string text;
  for (const auto& word : sentence.words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The words of the lists whose names begin so.
std::set<std::string> words_listed(const std::string& beginning) {
  std::ifstream file(lexicon_path);
  std::set<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(beginning)) continue;
    std::istringstream list(line.substr(line.find(':') + 1));
    for (std::string word; list >> word;) words.insert(word.substr(0, word.find(',')));
  }
  return words;
}

/// 1 for a positive adjective or verb, −1 for a negative one, 0 for other words.
int polarity(const std::string& word) {
  static const auto positive = words_listed("positive"), negative = words_listed("negative");
  return static_cast<int>(positive.count(word)) - static_cast<int>(negative.count(word));
}

/// A clause as a reader understands it.
struct Reading {
  int sign = 1;
  int sentiment_words = 0;
  int negator_count = 0;
  std::string sentiment_word, negator;
};

Reading read_clause(Words::const_iterator word, Words::const_iterator end) {
  Reading reading;
  for (; word != end; ++word) {
    if (polarity(*word) != 0) {
      reading.sign *= polarity(*word);
      reading.sentiment_word = *word;
      ++reading.sentiment_words;
    }
    if (negators.count(*word) != 0) {
      reading.sign = -reading.sign;
      reading.negator = *word;
      ++reading.negator_count;
    }
  }
  return reading;
}

/// One or two clauses: what is between the words "but".
std::vector<Reading> read_clauses(const Words& words) {
  std::vector<Reading> readings;
  for (auto begin = words.begin();; ++begin) {
    const auto end = std::find(begin, words.end(), "but");
    readings.push_back(read_clause(begin, end));
    if (end == words.end()) return readings;
    begin = end;
  }
}

void require_well_formed(const LabelledSentence& sentence) {
  INFO(text_of(sentence));
  const auto readings = read_clauses(sentence.words);
  for (const auto& reading : readings) {
    REQUIRE(reading.sentiment_words == 1);
    REQUIRE(reading.negator_count <= 1);
  }
  const auto& last = readings.back();
  REQUIRE(sentence.is_positive == (last.sign > 0));
  REQUIRE(sentence.words.at(sentence.sentiment_word) == last.sentiment_word);
  REQUIRE(sentence.negator.has_value() == (last.negator_count == 1));
  if (sentence.negator) REQUIRE(sentence.words.at(*sentence.negator) == last.negator);
  if (sentence.negator) REQUIRE(*sentence.negator < sentence.sentiment_word);
  if (sentence.contrast) REQUIRE(*sentence.contrast < sentence.negator.value_or(sentence.sentiment_word));
  REQUIRE(readings.size() == (sentence.contrast ? 2 : 1));
  if (sentence.contrast) REQUIRE(sentence.words.at(*sentence.contrast) == "but");
  if (sentence.contrast) REQUIRE(readings.front().sign == -last.sign);
}

/// The words of a list take turns at the negators.
std::string unseen_negator(const std::string& word) {
  std::ifstream file(lexicon_path);
  std::map<std::string, std::size_t> counts;
  for (std::string line; std::getline(file, line);) {
    const auto list = line.substr(0, line.find(':'));
    if (!list.starts_with("positive") && !list.starts_with("negative")) continue;
    std::istringstream words(line.substr(list.size() + 1));
    for (std::string one; words >> one; ++counts[list])
      if (one.substr(0, one.find(',')) == word) return Words{"not", "never", "hardly"}[counts[list] % 3];
  }
  return "";
}

bool is_unseen_pair(const Reading& reading) {
  static std::map<std::string, std::string> unseen;
  auto& negator = unseen[reading.sentiment_word];
  if (negator.empty()) negator = unseen_negator(reading.sentiment_word);
  return reading.negator_count == 1 && negator == reading.negator;
}

/// A lexicon of one word a list, with a list or a line more.
std::string lexicon_with(const std::string& more) {
  return "nouns: film\nviewers: we\npositive adjectives: good\nnegative adjectives: bad\n"
         "positive verbs: praise\nnegative verbs: avoid\nintensifiers: very\nnegators: not, never\n"
         "asides: in fact\n" +
         more;
}

/// What is said about a lexicon with that content, after the name of its file.
std::string refusal(const std::string& content) {
  const TemporaryFile file(content);
  try {
    SentimentCorpus::load(file.path());
  } catch (const attn::Error& error) {
    const std::string message = error.what();
    REQUIRE_THAT(message, StartsWith(file.path()));
    REQUIRE_THAT(message, Contains("; valid: "));
    REQUIRE(message.find('\n') == std::string::npos);
    return message.substr(file.path().size());
  }
  return "no error";
}

}  // namespace

TEST_CASE("the lexicon has as many positive words as negative ones, twenty of each or more") {
  CHECK(words_listed("positive").size() >= 20);
  CHECK(words_listed("positive adj").size() == words_listed("negative adj").size());
  CHECK(words_listed("positive verb").size() == words_listed("negative verb").size());
  CHECK(words_listed("negators") == negators);
}

TEST_CASE("labels and positions of sentiment are those that a reader finds") {
  Generator random(1);
  for (int draw = 0; draw < 10000; ++draw) {
    require_well_formed(corpus().draw(random));
    require_well_formed(corpus().draw_unseen_pair(random));
  }
}

TEST_CASE("100,000 training sentences have every word bare and with each negator but the unseen one") {
  Generator random(2);
  std::set<std::pair<std::string, std::string>> seen;
  for (int draw = 0; draw < 100000; ++draw)
    for (const auto& reading : read_clauses(corpus().draw(random).words))
      seen.emplace(reading.negator, reading.sentiment_word);

  for (const auto& words : {words_listed("positive"), words_listed("negative")})
    for (const auto& word : words) {
      INFO(word);
      CHECK(seen.count({"", word}) == 1);
      for (const auto& negator : negators)
        CHECK(seen.count({negator, word}) == (negator == unseen_negator(word) ? 0 : 1));
    }
}

TEST_CASE("each negator is the unseen one of positive and of negative words, of adjectives and of verbs") {
  for (const auto* list : {"positive adj", "negative adj", "positive verb", "negative verb"}) {
    std::set<std::string> unseen;
    for (const auto& word : words_listed(list)) unseen.insert(unseen_negator(word));
    CHECK(unseen == negators);
  }
  CHECK(unseen_negator("good") == "not");
  CHECK(unseen_negator("boring") == "never");
}

TEST_CASE("the last clause of a test sentence has an unseen pair, the one before it has not") {
  Generator random(3);
  for (int draw = 0; draw < 20000; ++draw) {
    const auto sentence = corpus().draw_unseen_pair(random);
    const auto readings = read_clauses(sentence.words);
    INFO(text_of(sentence));
    REQUIRE(is_unseen_pair(readings.back()));
    if (readings.size() > 1) REQUIRE_FALSE(is_unseen_pair(readings.front()));
  }
}

TEST_CASE("no word of a training sentence tells its label by itself") {
  Generator random(4);
  std::map<std::string, int> count, positive;
  for (int draw = 0; draw < 100000; ++draw) {
    const auto sentence = corpus().draw(random);
    for (const auto& word : std::set(sentence.words.begin(), sentence.words.end())) {
      ++count[word];
      positive[word] += sentence.is_positive;
    }
  }
  for (const auto& [word, times] : count) {
    INFO(word);
    CHECK(times > 500);
    CHECK(positive[word] / static_cast<double>(times) == Approx(0.5).margin(0.06));
  }
}

TEST_CASE("negators and contrasts are as frequent as promised") {
  Generator random(5);
  int with_negator = 0, with_contrast = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    const auto sentence = corpus().draw(random);
    with_negator += sentence.negator.has_value();
    with_contrast += sentence.contrast.has_value();
  }
  CHECK(with_negator / 20000.0 == Approx(0.5).margin(0.02));
  CHECK(with_contrast / 20000.0 == Approx(0.25).margin(0.02));
}

TEST_CASE("the vocabulary of sentiment is that of the sentences that are drawn") {
  Generator random(6);
  std::set<std::string> words;
  for (int draw = 0; draw < 50000; ++draw) {
    const auto sentence = corpus().draw(random);
    words.insert(sentence.words.begin(), sentence.words.end());
  }
  CHECK(corpus().vocabulary() == Words(words.begin(), words.end()));
}

TEST_CASE("\"an\" stands before vowels, and no intensifier after a negator") {
  Generator random(7);
  const auto intensifiers = words_listed("intensifiers");
  for (int draw = 0; draw < 20000; ++draw) {
    const auto sentence = corpus().draw(random);
    INFO(text_of(sentence));
    for (std::size_t i = 0; i + 1 < sentence.words.size(); ++i) {
      const auto& word = sentence.words[i];
      const auto next = sentence.words[i + 1].front();
      const bool is_vowel = next == 'a' || next == 'e' || next == 'i' || next == 'o' || next == 'u';
      if (word == "a") REQUIRE_FALSE(is_vowel);
      if (word == "an") REQUIRE(is_vowel);
    }
    if (sentence.negator) REQUIRE(intensifiers.count(sentence.words[sentence.sentiment_word - 1]) == 0);
  }
}

TEST_CASE("a seed gives the same sentences everywhere") {
  Generator random(42);
  CHECK(text_of(corpus().draw(random)) == "the show was hardly engaging but the film was truly lively");
  CHECK(text_of(corpus().draw(random)) == "children would praise the script but it was a weak score");
  CHECK(text_of(corpus().draw(random)) == "it was not in truth an amusing play");
  CHECK(text_of(corpus().draw_unseen_pair(random)) == "the plot was not interesting");
}

TEST_CASE("a lexicon may have comments, blank lines, CRLF and a list in several lines") {
  const TemporaryFile file(lexicon_with("# more\r\n\r\n  nouns :  song ,play\r\nasides: in truth, overall"));
  const auto small = SentimentCorpus::load(file.path());
  CHECK(small.vocabulary() == Words{"a",   "an",    "avoid", "bad", "but",     "fact", "film",   "good",
                                    "in",  "it",    "never", "not", "overall", "play", "praise", "song",
                                    "the", "truth", "very",  "was", "we",      "would"});
}

TEST_CASE("a line of a lexicon that is not understood is refused with its number") {
  CHECK_THAT(refusal(lexicon_with("song, play\n")), StartsWith(R"(, line 10: "song, play" has no colon)"));
  CHECK_THAT(
      refusal(lexicon_with("\nverbs: sing\n")),
      StartsWith(R"(, line 11: "verbs" is not the name of a list; valid: nouns, viewers, positive adj)"));
  CHECK_THAT(refusal(lexicon_with("nouns: song,, play\n")), StartsWith(R"(, line 10: "" is no word)"));
  CHECK_THAT(refusal(lexicon_with("nouns:\n")), StartsWith(R"(, line 10: "" is no word)"));
  CHECK_THAT(refusal(lexicon_with("nouns: folk song\n")), StartsWith(R"(, line 10: "folk song" is no word)"));
  CHECK_THAT(refusal(lexicon_with("nouns: \x1b[31m\n")), StartsWith(R"(, line 10: "\x1b[31m" is no word)"));
  CHECK_THAT(refusal(lexicon_with("asides: in  truth\n")), StartsWith(R"(, line 10: "" is no word)"));
}

TEST_CASE("a word of a lexicon with two roles is refused with its line") {
  CHECK_THAT(
      refusal(lexicon_with("negative adjectives: good\n")),
      EndsWith(
          R"(, line 10: "good" is already among the positive adjectives; valid: each word in one role)"));
  CHECK_THAT(refusal(lexicon_with("nouns: film\n")), Contains(R"("film" is already among the nouns)"));
  CHECK_THAT(refusal(lexicon_with("nouns: was\n")), Contains(R"("was" is already among the words that)"));
  CHECK_THAT(refusal(lexicon_with("asides: in fact\n")), Contains(R"(line 10: "in fact" is there twice)"));
  CHECK_THAT(refusal(lexicon_with("asides: not in truth\n")),
             Contains(R"("not" is already among the negators)"));
}

TEST_CASE("a lexicon that is not complete or not a text is refused") {
  CHECK_THAT(refusal(""), StartsWith(" has no nouns; valid: lists of nouns, viewers, "));
  auto one_negator = lexicon_with("");
  one_negator.erase(one_negator.find(", never"), 7);
  CHECK_THAT(refusal(one_negator), StartsWith(" has one negator"));
  CHECK_THAT(refusal(std::string(1 << 21, '#')), StartsWith(", line 1: the line is longer than "));
  CHECK_THROWS_WITH(SentimentCorpus::load("/nonexistent"),
                    StartsWith("/nonexistent cannot be opened: No such"));
  CHECK_THROWS_WITH(SentimentCorpus::load("/tmp"), StartsWith("/tmp is a directory"));
}
