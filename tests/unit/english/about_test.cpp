#include <catch2/catch.hpp>

#include "attn/random/random.hpp"
#include "english/lexicon.hpp"

namespace {

const english::AboutGrammar& grammar() {
  static const english::Lexicon lexicon(ATTN_DATA "/lexicon/english.txt");
  static const english::AboutGrammar all(lexicon, [](const std::string&) { return true; });
  return all;
}

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("of 20,000 drawn sentences each word is about a word of the sentence, an article about a later one",
          "[english]") {
  attn::Generator generator(7);
  std::size_t about_another = 0, all = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto sentence = grammar().draw(generator);
    REQUIRE_FALSE(sentence.words.empty());
    REQUIRE(sentence.words.size() == sentence.about.size());
    for (std::size_t t = 0; t < sentence.words.size(); ++t) {
      REQUIRE_FALSE(sentence.words[t].empty());
      REQUIRE(sentence.about[t] < sentence.words.size());
      ++all;
      about_another += sentence.about[t] != t;
      if (is_one_of(sentence.words[t], {"the", "a", "an"}) && sentence.about[t] != t)
        REQUIRE(sentence.about[t] > t);
      if (is_one_of(sentence.words[t], {"it", "he", "she", "they"}) && sentence.about[t] != t)
        REQUIRE(sentence.about[t] < t);
    }
  }
  CHECK(about_another > all / 2);
  CHECK(about_another < all);
}

TEST_CASE("the same seed draws the same sentences", "[english]") {
  attn::Generator one(3), same(3), other(4);
  const auto first = grammar().draw(one);
  CHECK(first.words == grammar().draw(same).words);
  CHECK(first.words != grammar().draw(other).words);
}

TEST_CASE("a grammar draws no noun, verb or adjective that it is not to use", "[english]") {
  const english::Lexicon lexicon(ATTN_DATA "/lexicon/english.txt");
  const english::AboutGrammar short_words(lexicon, [](const std::string& word) { return word.size() < 6; });
  for (const auto& [kind, nouns] : short_words.words().nouns)
    for (const auto& noun : nouns) REQUIRE(noun.size() < 6);
  CHECK(short_words.words().acts_on_things.size() > 100);
}
