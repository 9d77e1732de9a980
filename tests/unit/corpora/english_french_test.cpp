#include "tests/unit/corpora/english_french.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attn/random/random.hpp"
#include "attn/text/tokens.hpp"
#include "corpora/grammar.hpp"
#include "lessons/trained/translation.hpp"

using corpora::Link;
using corpora::SentencePair;
using Texts = std::vector<std::string>;

namespace {

SentencePair translate(const std::string& sentence) {
  INFO(sentence);
  std::istringstream words(sentence);
  const auto pair = english_french().translate({std::istream_iterator<std::string>(words), {}});
  REQUIRE(pair);
  CHECK(source_text(*pair) == sentence);
  return *pair;
}

std::string french(const std::string& sentence) {
  return target_text(translate(sentence));
}

Texts glosses(const SentencePair& pair) {
  Texts result;
  for (const auto& word : pair.source) result.push_back(word.gloss);
  return result;
}

/// The word that decides the form of word `index`; "" where none does.
std::string controller(const SentencePair& pair, std::size_t index) {
  const auto& word = pair.source.at(index);
  return word.controller ? pair.source.at(*word.controller).text : "";
}

/// Everything about a source sentence that a model is trained on.
std::string label(const SentencePair& pair) {
  auto result = target_text(pair);
  for (const auto& word : pair.source)
    result += '|' + word.gloss + '|' + word.category + '|' +
              (word.controller ? std::to_string(*word.controller) : "");
  for (const auto& link : pair.links)
    result += '|' + std::to_string(link.source) + (link.is_sure ? "-" : "?") + std::to_string(link.target);
  return result;
}

std::set<std::string> set_of(const Texts& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

TEST_CASE("sentences of the lessons have their translations") {
  CHECK(french("the small black cat slept") == "le petit chat noir dormait");
  CHECK(french("the cat did not love the apple because it was hungry") ==
        "le chat n'aimait pas la pomme parce qu'il était affamé");
  CHECK(french("the cat did not love the apple because it was rotten") ==
        "le chat n'aimait pas la pomme parce qu'elle était pourrie");
  CHECK(french("the girl who saw the cats slept") == "la fille qui voyait les chats dormait");
  CHECK(french("the cat sat on the mat") == "le chat s'est assis sur le tapis");
  CHECK(french("the cat did not sit") == "le chat ne s'est pas assis");
  CHECK(french("i love cats .") == "j'aime les chats.");
  CHECK(french("she does n't love him") == "elle ne l'aime pas");
  CHECK(french("we ca n't see you") == "nous ne pouvons pas vous voir");
  CHECK(french("the [animals] [verbed] an [vowel-animal]") == "les [noun] [verb] un [noun]");
  CHECK(french("some dogs chased these mice in the garden yesterday") ==
        "des chiens chassaient ces souris dans le jardin hier");
  CHECK(french("a boy ate the red apples and the king loved the book") ==
        "un garçon mangeait les pommes rouges et le roi aimait le livre");
}

TEST_CASE("words elide, join and contract as French wants it") {
  CHECK(french("the old man saw an owl near a house") == "le vieil homme voyait un hibou près d'une maison");
  CHECK(french("the hero never arrived") == "le héros n'arrivait jamais");
  CHECK(french("the uncle goes to the school near the gardens") == "l'oncle va à l'école près des jardins");
  CHECK(french("the boys went to the castles near the hotel") ==
        "les garçons allaient aux châteaux près de l'hôtel");
  CHECK(french("a bear went to the garden near the village") == "un ours allait au jardin près du village");
  CHECK(french("this tree that an owl saw was beautiful") == "cet arbre qu'un hibou voyait était beau");
  CHECK(french("my sword was old") == "mon épée était vieille");
  CHECK(french("her axe was heavy") == "sa hache était lourde");
}

TEST_CASE("words agree across what stands between them") {
  CHECK(french("the girls who saw the cat slept") == "les filles qui voyaient le chat dormaient");
  CHECK(french("the mice that the king saw were hungry") == "les souris que le roi voyait étaient affamées");
  CHECK(french("the queens hear the tired black hen and sing") ==
        "les reines entendent la poule noire fatiguée et chantent");
  CHECK_FALSE(english_french().translate({"the", "girls", "who", "sees", "the", "cat", "slept"}));
  CHECK_FALSE(english_french().translate({"the", "girls", "sleeps"}));
  CHECK_FALSE(english_french().translate({"zebra"}));
  CHECK_FALSE(
      english_french().translate({"the", "cat", "saw", "the", "dog", "because", "it", "was", "hungry"}));
}

TEST_CASE("a gloss is the form of a word's own, and its controller decides it") {
  const auto pair = translate("the cat did not love the old apples because they were rotten");
  CHECK(glosses(pair) == Texts{"le", "chat", "–", "pas", "aimait", "les", "vieilles", "pommes", "parce que",
                               "elles", "étaient", "pourries"});
  CHECK(controller(pair, 0) == "cat");
  CHECK(controller(pair, 1).empty());
  CHECK(controller(pair, 2).empty());
  CHECK(controller(pair, 4) == "cat");
  CHECK(controller(pair, 6) == "apples");
  CHECK(controller(pair, 9) == "apples");
  CHECK(controller(pair, 10) == "apples");
  CHECK(controller(pair, 11) == "apples");
  CHECK(pair.source[4].category == "infinitive");
  CHECK(pair.source[10].category == "copula");

  const auto hungry = translate("the girl who saw the cats that the dog chased slept");
  CHECK(controller(hungry, 10) == "girl");
  CHECK(hungry.source[10].category == "past");
  CHECK(hungry.source[10].nouns_between == 2);
  CHECK(hungry.source[9].nouns_between == 0);
}

TEST_CASE("links are sure, but possible only for what French does not say") {
  const auto pair = translate("the owl did not hear the small black squirrel");
  CHECK(target_text(pair) == "le hibou n'entendait pas le petit écureuil noir");
  CHECK(pair.links == std::vector<Link>{{0, 0, true},
                                        {1, 1, true},
                                        {2, 3, false},
                                        {3, 2, true},
                                        {3, 4, true},
                                        {4, 3, true},
                                        {5, 5, true},
                                        {6, 6, true},
                                        {7, 8, true},
                                        {8, 7, true}});
  CHECK(
      translate("the man goes to the castle").links ==
      std::vector<Link>{{0, 0, true}, {1, 1, true}, {2, 2, true}, {3, 3, true}, {4, 3, true}, {5, 4, true}});
}

TEST_CASE("a source sentence has one translation, gloss, controllers and links, in 200,000 draws") {
  attn::Generator random(1);
  std::unordered_map<std::string, std::string> labels;
  std::size_t ambiguous = 0;
  for (std::size_t i = 0; i < 200000; ++i) {
    const auto pair = english_french().draw(random, 3 + i % 10);
    const auto known = labels.emplace(source_text(pair), label(pair));
    if (!known.second && known.first->second != label(pair)) ++ambiguous;
  }
  CHECK(ambiguous == 0);
}

TEST_CASE("drawn sentences have words of the vocabularies, and links that reach every word") {
  const auto source_words = set_of(english_french().source_words());
  const auto target_words = set_of(english_french().target_words());
  CHECK(source_words.size() > 250);
  CHECK(target_words.size() > 250);
  for (const char* word :
       {"the", "a",      "some",   "these",  "small", "black",   "white",  "big",   "cat",    "cats",
        "dog", "dogs",   "girl",   "girls",  "boy",   "apple",   "apples", "house", "garden", "tree",
        "man", "woman",  "king",   "queen",  "mouse", "mice",    "slept",  "saw",   "loved",  "love",
        "ate", "chased", "hungry", "rotten", "tired", "because", "it",     "was",   "were",   "did",
        "not", "who",    "in",     "on",     "mat",   "sat",     "red",    "book"}) {
    INFO(word);
    CHECK(source_words.count(word) == 1);
  }

  attn::Generator random(2);
  for (std::size_t i = 0; i < 5000; ++i) {
    const auto pair = english_french().draw(random, 3 + i % 23);
    INFO(source_text(pair));
    REQUIRE(pair.source.size() == 3 + i % 23);
    std::vector<bool> source_linked(pair.source.size(), false), target_linked(pair.target.size(), false);
    for (const auto& link : pair.links) {
      REQUIRE(link.source < pair.source.size());
      REQUIRE(link.target < pair.target.size());
      source_linked[link.source] = true;
      if (link.is_sure) target_linked[link.target] = true;
    }
    REQUIRE(std::count(source_linked.begin(), source_linked.end(), false) == 0);
    REQUIRE(std::count(target_linked.begin(), target_linked.end(), false) == 0);
    for (const auto& word : pair.source) {
      REQUIRE(source_words.count(word.text) == 1);
      REQUIRE((!word.controller || pair.source.at(*word.controller).category == "noun" ||
               pair.source.at(*word.controller).category == "pronoun"));
    }
    for (const auto& word : pair.target) REQUIRE(target_words.count(word) == 1);
    if (target_text(pair).find('[') == std::string::npos)
      REQUIRE(lessons::with_elisions_cut(attn::tokenize(target_text(pair))) == pair.target);
  }
}

TEST_CASE("what is drawn can be translated to itself") {
  attn::Generator random(3);
  for (std::size_t i = 0; i < 300; ++i) {
    const auto pair = english_french().draw(random, 3 + i % 14);
    CHECK(label(translate(source_text(pair))) == label(pair));
  }
}

TEST_CASE("a seed gives the same corpus") {
  attn::Generator random(42);
  const auto pairs = draw_distinct(english_french(), random, 50, 3, 16);
  attn::Generator again(42);
  const auto others = draw_distinct(english_french(), again, 50, 3, 16);
  for (std::size_t i = 0; i < pairs.size(); ++i) CHECK(label(pairs[i]) == label(others[i]));
}

TEST_CASE("distinct pairs have the lengths that were asked for, and none is excluded") {
  attn::Generator random(4);
  const auto pairs = draw_distinct(english_french(), random, 20000, 3, 16);
  std::unordered_set<std::string> texts;
  std::vector<std::size_t> counts(17, 0);
  for (const auto& pair : pairs) {
    texts.insert(source_text(pair));
    ++counts.at(pair.source.size());
  }
  CHECK(texts.size() == 20000);
  for (std::size_t length = 3; length <= 16; ++length) CHECK(counts[length] > 700);

  for (const auto& pair : draw_distinct(english_french(), random, 5000, 3, 5, texts))
    CHECK(texts.count(source_text(pair)) == 0);
  for (const auto& pair : draw_distinct(english_french(), random, 500, 17, 25)) {
    CHECK(pair.source.size() >= 17);
    CHECK(pair.source.size() <= 25);
  }
}

TEST_CASE("the grammar has more than a million distinct sentences: 20,000 draws hardly repeat one") {
  attn::Generator random(6);
  constexpr std::size_t draws = 20000;
  std::unordered_set<std::string> texts;
  for (std::size_t i = 0; i < draws; ++i) texts.insert(source_text(english_french().draw(random, 12)));
  // Of a million equally likely ones about draws² / 2,000,000 = 200 would come again, of unequal ones more.
  CHECK(draws - texts.size() < 100);
}
