#include "corpora/grammar.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/random/random.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using corpora::Grammar;

namespace {

const std::string declarations =
    "features\n"                // line 1
    "  number = one many\n"     // 2
    "  gender = he she\n"       // 3
    "variables\n"               // 4
    "  X Y = number gender\n"   // 5
    "vowels\n"                  // 6
    "  target = a e i o u h\n"  // 7
    "shape noun\n"              // 8
    "  category noun\n"         // 9
    "  source one many\n"       // 10
    "  target one many\n"       // 11
    "  decides\n"               // 12
    "shape word\n"              // 13
    "  category word\n"         // 14
    "  target one many\n"       // 15
    "  target he:one she:one he:many she:many\n"
    "noun <noun X>\n"                 // 17
    "  cat cats = chat chats : he\n"  // 18
    "  apple apples = pomme pommes : she\n"
    "  man men = homme hommes : he\n"
    "word <the X>\n"                  // 21
    "  the = le/l' la/l' les les\n"   // 22
    "word <sleeps X>\n"               // 23
    "  slept = dormait dormaient\n";  // 24

const std::string rules =
    "<sentence>\n"                      // 25
    "  <the X> <noun X> <sleeps X>\n";  // 26

/// What is said about a grammar, after its name.
std::string refusal(const std::string& text) {
  try {
    Grammar::read(text, "my.grammar");
  } catch (const attn::Error& error) {
    const std::string message = error.what();
    CHECK_THAT(message, StartsWith("my.grammar"));
    CHECK_THAT(message, Contains("; valid: "));
    CHECK(message.find('\n') == std::string::npos);
    return message.substr(std::string("my.grammar").size());
  }
  return "no error";
}

/// About other rules than those above.
std::string refusal_of_rules(const std::string& lines) {
  return refusal(declarations + lines);
}

}  // namespace

TEST_CASE("a small grammar has its sentences and no others") {
  const auto grammar = Grammar::read(declarations + rules, "my.grammar");
  CHECK(grammar.lengths() == std::vector<std::size_t>{3});
  CHECK(grammar.source_words() ==
        std::vector<std::string>{"apple", "apples", "cat", "cats", "man", "men", "slept", "the"});
  CHECK(grammar.target_words() == std::vector<std::string>{"chat", "chats", "dormaient", "dormait", "homme",
                                                           "hommes", "l'", "la", "le", "les", "pomme",
                                                           "pommes"});
  attn::Generator random(1);
  CHECK(draw_distinct(grammar, random, 6, 1, 9).size() == 6);
  CHECK(grammar.draw(random, 3).source.size() == 3);
  CHECK(target_text(*grammar.translate({"the", "men", "slept"})) == "les hommes dormaient");
  CHECK_FALSE(grammar.translate({"the", "slept"}));
  CHECK_FALSE(grammar.translate({}));
}

TEST_CASE("what cannot be drawn is refused") {
  const auto grammar = Grammar::read(declarations + rules, "my.grammar");
  attn::Generator random(1);
  CHECK_THROWS_WITH(grammar.draw(random, 4), "my.grammar has no sentence of 4 words; valid: 3");
}

TEST_CASE("there are no more distinct pairs than the grammar has") {
  const auto grammar = Grammar::read(declarations + rules, "my.grammar");
  attn::Generator random(1);
  CHECK(draw_distinct(grammar, random, 1, 5, 9).empty());
  const auto pairs = draw_distinct(grammar, random, 7, 1, 9);
  CHECK(pairs.size() == 6);
  CHECK(draw_distinct(grammar, random, 7, 1, 9, {source_text(pairs.front())}).size() == 5);
}

TEST_CASE("a rule's weight is how often it is taken") {
  const auto grammar =
      Grammar::read(declarations +
                        "word <big X>\n  big = gros\n<sentence>\n  3 <the X> <noun X> <sleeps X>\n"
                        "  <big X> <noun X> <sleeps X>\n",
                    "my.grammar");
  attn::Generator random(1);
  std::size_t rarer = 0;
  for (std::size_t i = 0; i < 4000; ++i) rarer += grammar.draw(random, 3).source.front().text == "big";
  CHECK(rarer > 900);
  CHECK(rarer < 1100);
}

TEST_CASE("a comment, a line that goes on with = and CRLF are tolerated") {
  const auto grammar = Grammar::read(declarations +
                                         "# rules\r\n<sentence>  # all\r\n  <the X> <noun X> <sleeps X>\r\n"
                                         "    = <sleeps> <noun> <the>\r\n",
                                     "my.grammar");
  CHECK(target_text(*grammar.translate({"the", "men", "slept"})) == "dormaient hommes les");
}

TEST_CASE("an empty grammar and one without a sentence are refused") {
  CHECK_THAT(refusal(""), StartsWith(" is empty: it has no rule; valid: "));
  CHECK_THAT(refusal("# nothing\n\n"), StartsWith(" is empty: it has no rule; valid: "));
  CHECK_THAT(refusal(declarations), StartsWith(" has no section <sentence>; valid: "));
  CHECK_THAT(refusal("  <a>\n"),
             StartsWith(", line 1: an indented line comes before the first section; valid: "));
  CHECK_THAT(refusal("<sentence>\n"), StartsWith(", line 1: \"<sentence>\" has no lines; valid: "));
  CHECK_THAT(refusal("nouns\n  a = b\n"), StartsWith(", line 1: \"nouns\" is no section; valid: "));
  CHECK_THAT(refusal("\xFF"), Contains("byte"));
}

TEST_CASE("an unknown name in a rule is refused with its line") {
  CHECK(refusal_of_rules("<sentence>\n  <the X> <nuon X> <sleeps X>\n") ==
        ", line 26: <nuon> is no nonterminal of this file; valid: <noun>, or a section that begins with it");
  CHECK(refusal_of_rules("<sentence>\n  <the Z> <noun Z>\n") ==
        ", line 26: \"Z\" is no variable; valid: X, Y");
  CHECK(refusal_of_rules("<sentence>\n  <noun X:plural>\n") ==
        ", line 26: \"plural\" is no value of a feature; valid: he, many, one, she");
  CHECK(refusal_of_rules("<sentence>\n  <noun X Y>\n") ==
        ", line 26: \"<noun X Y>\" has 2 variables; valid: 1, as on line 17");
  CHECK(refusal("features\n  number = one\nvariables\n  X = nombre\n") ==
        ", line 4: \"nombre\" is no feature; valid: number");
  CHECK(refusal("features\n  number = one one\n") ==
        ", line 2: \"one\" is there already; valid: a name for one value or group only");
  CHECK_THAT(refusal_of_rules("verb <runs X>\n  ran = courait\n" + rules),
             StartsWith(", line 25: \"verb\" is no shape; valid: noun, word"));
  CHECK(
      refusal(
          "features\n  a = b\n  c = d\nvariables\n  X = a\n  Y = c\n<sentence>\n  <s d>\n<s X>\n  <s X>\n") ==
      ", line 8: \"d\" is a c, which the variable does not have; valid: a value of a");
}

TEST_CASE("more values than a condition can tell apart are refused") {
  std::string features = "features\n  number =";
  for (int value = 0; value < 257; ++value) features += " v" + std::to_string(value);
  CHECK(refusal(features + "\n") == ", line 2: the features have too many values; valid: at most 256");
}

TEST_CASE("sides that do not match are refused with their line") {
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X> = <the>\n") ==
        ", line 26: <noun X> has nothing on the target side; valid: <noun X>, or a word that comes from it: "
        "word(noun)");
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X> = <the> <noun> <sleeps>\n") ==
        ", line 26: <sleeps> is on the target side only; valid: what stands on the source side");
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X> = <the> <noun> <noun>\n") ==
        ", line 26: <noun X> is 2 times on the target side; valid: once");
  CHECK(refusal_of_rules("<sentence>\n  <noun X> <noun Y> = <noun> <noun>\n") ==
        ", line 26: <noun> is 2 times on the source side; valid: the same variables as there");
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X> = <the> petit <noun>\n") ==
        ", line 26: nothing tells where \"petit\" comes from; valid: petit(the)");
  CHECK_THAT(refusal_of_rules("<sentence>\n  the <noun X>\n"),
             StartsWith(", line 26: the source side has the bare word \"the\"; valid: "));
  CHECK_THAT(refusal_of_rules("<sentence>\n  3 = <noun>\n"),
             StartsWith(", line 26: the source side is empty; valid: "));
  CHECK(refusal_of_rules("<sentence>\n  0 <noun X>\n") ==
        ", line 26: the weight is 0; valid: a weight above 0");
}

TEST_CASE("a rule that cannot end or be used is refused with its line") {
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X>\n  <more>\n<more>\n  <the X> <noun X> <more>\n") ==
        ", line 27: the rule never ends: <more> leads back to itself in each of its rules; valid: a rule "
        "without "
        "it, too");
  CHECK(refusal_of_rules(
            "<sentence>\n  <the X> <noun X>\n  <more>\n<more>\n  <the X> <noun X>\n  <sentence>\n") ==
        ", line 30: <sentence> leads back to itself without a word more; valid: a rule with another "
        "nonterminal "
        "beside it");
  CHECK(refusal_of_rules(rules + "<more>\n  <noun X>\n") ==
        ", line 27: no rule that <sentence> leads to has <more>; valid: a rule with it, or no such section");
  CHECK(refusal_of_rules("word <two X:many>\n  two = deux\n"
                         "<sentence>\n  <the X> <noun X> <sleeps X>\n"
                         "  <two X:one> <noun X>\n") ==
        ", line 29: no words agree with all that the rule asks for; valid: values that its words, and the "
        "rules "
        "that lead to it, have in common");
}

TEST_CASE("a variable that no noun decides, or two decide, is refused with its line") {
  CHECK(refusal_of_rules("<sentence>\n  <the X> <noun X> <sleeps Y>\n") ==
        ", line 26: no word decides Y; valid: one nonterminal with it that leads to a word whose shape "
        "decides");
  CHECK(
      refusal_of_rules("<sentence>\n  <the X> <noun X> <sleeps X> <noun X>\n") ==
      ", line 26: 2 words decide X; valid: one nonterminal with it that leads to a word whose shape decides");
}

TEST_CASE("a bad line of a table is refused with its line") {
  CHECK(refusal_of_rules("noun <noun X>\n  dog dogs doggy = chien chiens\n" + rules) ==
        ", line 26: the source side has 3 forms; valid: 1 or 2 by its shape");
  CHECK(refusal_of_rules("word <big X>\n  big = gros grosse gros\n" + rules) ==
        ", line 26: the target side has 3 forms; valid: 1 or 2 or 4 by its shape");
  CHECK_THAT(refusal_of_rules("word <big X>\n  big gros\n" + rules),
             StartsWith(", line 26: the line has not one = between its two sides; valid: "));
  CHECK_THAT(refusal_of_rules("word <big X>\n  big = a/b/c\n" + rules),
             StartsWith(", line 26: \"a/b/c\" is no word; valid: "));
  CHECK_THAT(refusal_of_rules("word <big X>\n  very_big = gros\n" + rules),
             StartsWith(", line 26: a source form is not one word; valid: "));
  CHECK_THAT(refusal_of_rules("word <sentence>\n  big = gros\n"), StartsWith(" has no section <sentence>"));
  CHECK_THAT(refusal_of_rules(rules + "<sentence>\n  <noun X>\n"),
             StartsWith(", line 27: <sentence> begins on line 25 already; valid: "));
}

TEST_CASE("a file that is not there is refused") {
  CHECK_THROWS_WITH(Grammar::load("/no/such.grammar"), StartsWith("/no/such.grammar cannot be opened: "));
  CHECK_THROWS_WITH(Grammar::load("/tmp"), "/tmp is a directory; valid: a text file with a grammar");
}
