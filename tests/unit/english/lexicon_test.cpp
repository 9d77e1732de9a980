#include "english/lexicon.hpp"

#include <catch2/catch.hpp>

using english::Form;
using english::Lexicon;

namespace {

const Lexicon& lexicon() {
  static const Lexicon shipped(ATTN_DATA "/lexicon/english.txt");
  return shipped;
}

english::Reading likeliest(const std::string& word) {
  const auto readings = lexicon().readings(word);
  REQUIRE_FALSE(readings.empty());
  return readings.front();
}

double share_of(const std::string& word, const std::string& feature) {
  const auto words = english::features_of(lexicon(), {"the", word});
  for (const auto& [name, share] : words[1].named)
    if (name == feature) return share;
  return 0;
}

}  // namespace

TEST_CASE("every line of the lexicon is found by bisection, as what it is", "[english]") {
  const auto entries = lexicon().entries();
  CHECK(entries.size() > 25000);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(entries[i].word);
    if (i > 0) REQUIRE(entries[i - 1].word < entries[i].word);
    double shares = 0;
    const auto readings = lexicon().readings(entries[i].word);
    REQUIRE_FALSE(readings.empty());
    for (const auto& reading : readings) shares += reading.share;
    REQUIRE(shares == Approx(1.0));
  }
}

TEST_CASE("words, their regular and their irregular forms are found in either case", "[english]") {
  CHECK(likeliest("animal").part == "noun");
  CHECK(likeliest("animal").kind == "a");
  CHECK(likeliest("Streets").lemma == "street");
  CHECK(likeliest("Streets").form == Form::plural);
  for (const auto& [word, lemma, form] :
       {std::tuple("loves", "love", Form::third_person), std::tuple("crossed", "cross", Form::past),
        std::tuple("eating", "eat", Form::gerund), std::tuple("sat", "sit", Form::past),
        std::tuple("stopped", "stop", Form::past), std::tuple("carries", "carry", Form::third_person)}) {
    CAPTURE(word);
    CHECK(likeliest(word).part == "verb");
    CHECK(likeliest(word).lemma == lemma);
    CHECK(likeliest(word).form == form);
  }
  CHECK(likeliest("mice").lemma == "mouse");
  CHECK(likeliest("men").form == Form::plural);
  CHECK(likeliest("tired").kind == "b");
  CHECK(likeliest("wide").kind == "t");
  CHECK(likeliest("it").part == "pronoun");
  CHECK(lexicon().readings("blorf").empty());
  CHECK(lexicon().readings("").empty());
  CHECK(lexicon().readings("chat noir").empty());
}

TEST_CASE("regular forms are made by rule", "[english]") {
  CHECK(english::plural_of("box") == "boxes");
  CHECK(english::plural_of("city") == "cities");
  CHECK(english::plural_of("day") == "days");
  CHECK(english::form_of("plan", Form::gerund) == "planning");
  CHECK(english::form_of("love", Form::gerund) == "loving");
  CHECK(english::form_of("lie", Form::gerund) == "lying");
  CHECK(english::form_of("see", Form::gerund) == "seeing");
  CHECK(english::form_of("go", Form::third_person) == "goes");
  CHECK(english::form_of("visit", Form::past) == "visited");
}

TEST_CASE("a word that the lexicon lacks is guessed by its ending or its capital, and said to be",
          "[english]") {
  const auto words =
      english::features_of(lexicon(), {"Blorf", "blorfed", "Blorf", "quarkly", "quarkness", "42", "!"});
  CHECK(words[0].taken_for == "a noun");
  CHECK(words[1].taken_for == "a verb");
  CHECK(words[3].taken_for == "an adverb");
  CHECK(words[5].taken_for.empty());
  CHECK(words[6].taken_for.empty());
  CHECK(share_of("Blorf", "noun p") == 1.0);
  CHECK(share_of("blorf", "noun p") == 0.0);
  CHECK(share_of("quarkness", "noun q") == 1.0);
}

TEST_CASE("a word's code has length 1, is that of its lemma and of no other", "[english]") {
  const auto words = english::features_of(lexicon(), {"cat", "cats", "dog"});
  double square = 0, product = 0;
  for (std::size_t i = 0; i < words[0].code.size(); ++i) {
    square += words[0].code[i] * words[0].code[i];
    product += words[0].code[i] * words[2].code[i];
  }
  CHECK(square == Approx(1.0));
  CHECK(std::abs(product) < 0.9);
  CHECK(words[0].code == words[1].code);
}

TEST_CASE("contractions are cut as treebanks cut them", "[english]") {
  const auto cut = [](std::vector<std::string> tokens) { return english::with_contractions_cut(tokens); };
  using Tokens = std::vector<std::string>;
  CHECK(cut({"didn't"}) == Tokens{"did", "n't"});
  CHECK(cut({"can’t"}) == Tokens{"ca", "n't"});
  CHECK(cut({"It's"}) == Tokens{"It", "'s"});
  CHECK(cut({"I'm", "we'll"}) == Tokens{"I", "'m", "we", "'ll"});
  CHECK(cut({"o'clock", "'s", "n't", "J'aime"}) == Tokens{"o'clock", "'s", "n't", "J'aime"});
}

TEST_CASE("of a word that a vocabulary lacks the one is read that is most alike and praises as it does",
          "[english]") {
  const std::vector<std::string> vocabulary = {"the", "film", "dogs", "good", "dull", "not", "was"};
  const auto read = [&](const std::string& word) { return english::read_as(lexicon(), word, vocabulary); };
  CHECK(read("The") == "the");
  CHECK(read("superb") == "good");
  CHECK(read("terrible") == "dull");
  CHECK(read("n't") == "not");
  CHECK(read("wolves") == "dogs");
  CHECK(read("is") == "was");
  CHECK(read("because") == "the");
  CHECK(read("although") == std::nullopt);
  CHECK(english::read_as(lexicon(), "although", {"the", "and", "but"}) == "but");
  CHECK(english::read_as(lexicon(), "and", {"but", "the"}) == "the");
}

TEST_CASE("what is only in another sense similar to a word that judges does not judge", "[english]") {
  const std::vector<std::string> vocabulary = {"good", "bad", "old"};
  for (const std::string word : {"first", "pretty", "cold", "hard", "heavy", "warm", "live", "similar", "sad",
                                 "dramatic", "electric", "hot"})
    CHECK(english::read_as(lexicon(), word, vocabulary) == "old");
  for (const std::string word : {"splendid", "intriguing", "outstanding", "friendly"})
    CHECK(english::read_as(lexicon(), word, vocabulary) == "good");
  for (const std::string word : {"hideous", "rude", "pitiful", "worse"})
    CHECK(english::read_as(lexicon(), word, vocabulary) == "bad");
  CHECK(english::read_as(lexicon(), "service", {"fault", "scene"}) == "scene");
}

TEST_CASE("a word that can be an adjective of praise is not neutral, though it is more often a verb",
          "[english]") {
  const std::vector<std::string> vocabulary = {"boring", "engaging", "ending"};
  const auto read = [&](const std::string& word) { return english::read_as(lexicon(), word, vocabulary); };
  CHECK(read("swimming") == "ending");
  CHECK(read("tiring") == "ending");
  CHECK(read("thrilling") == "engaging");
}
