#include "attn/text/tokens.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"

using attn::tokenize;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using Tokens = std::vector<std::string>;

namespace {

Tokens tokens_of(std::string_view sentence) {
  return tokenize(sentence);
}

std::string joined(const Tokens& tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), std::string());
}

}  // namespace

TEST_CASE("words are tokens and white space is not") {
  CHECK(tokens_of("the cat sat") == Tokens{"the", "cat", "sat"});
  CHECK(tokens_of("  the\tcat\r\n sat\xC2\xA0on\xE3\x80\x80it ") == Tokens{"the", "cat", "sat", "on", "it"});
  CHECK(tokens_of("I") == Tokens{"I"});
}

TEST_CASE("a sentence that is cut already is cut there and nowhere else") {
  CHECK(tokens_of("play│##ing│Ġthe│▁cat│[CLS]│it is│.") ==
        Tokens{"play", "##ing", "Ġthe", "▁cat", "[CLS]", "it is", "."});
  CHECK(tokens_of("##ing│") == Tokens{"##ing"});
  CHECK_THROWS_WITH(tokens_of("│ │"), StartsWith("the sentence is empty"));
}

TEST_CASE("an apostrophe stays inside its word") {
  CHECK(tokens_of("J'aime les chats") == Tokens{"J'aime", "les", "chats"});
  CHECK(tokens_of("J’aime les chats") == Tokens{"J’aime", "les", "chats"});
  CHECK(tokens_of("don't") == Tokens{"don't"});
  CHECK(tokens_of("'quoted'") == Tokens{"'", "quoted", "'"});
}

TEST_CASE("each punctuation mark and symbol is a token of its own") {
  CHECK(tokens_of("Wait, what?!") == Tokens{"Wait", ",", "what", "?", "!"});
  CHECK(tokens_of("(3.14 + 2) = 5,14 €") == Tokens{"(", "3.14", "+", "2", ")", "=", "5,14", "€"});
  CHECK(tokens_of("...") == Tokens{".", ".", "."});
}

TEST_CASE("Chinese, Japanese and Thai are split into words") {
  const auto japanese = tokens_of("猫が座った");
  CHECK(japanese.size() > 2);
  CHECK(japanese[0] == "猫");
  CHECK(japanese[1] == "が");
  CHECK(joined(japanese) == "猫が座った");
  CHECK(tokens_of("我爱自然语言。") == Tokens{"我", "爱", "自然", "语言", "。"});
  CHECK(tokens_of("ฉันรักแมว") == Tokens{"ฉัน", "รัก", "แมว"});
}

TEST_CASE("an emoji sequence is one token") {
  CHECK(tokens_of("👨‍👩‍👧‍👦") == Tokens{"👨‍👩‍👧‍👦"});
  CHECK(tokens_of("🇫🇷🇯🇵") == Tokens{"🇫🇷", "🇯🇵"});
  CHECK(tokens_of("👍🏽👍") == Tokens{"👍🏽", "👍"});
  CHECK(tokens_of("1️⃣ ❤️") == Tokens{"1️⃣", "❤️"});
  CHECK(tokens_of("I 💙 cats") == Tokens{"I", "💙", "cats"});
}

TEST_CASE("accents stay with their letters and tokens come out in NFC") {
  CHECK(tokens_of("cafe\u0301 e\u0323\u0302te") == Tokens{"caf\u00E9", "\u1EC7te"});
  CHECK(tokens_of("caf\u00E9") == tokens_of("cafe\u0301"));
  CHECK(tokens_of("q\u0303") == Tokens{"q\u0303"});
  CHECK(tokens_of("\u1112\u1161\u11AB") == Tokens{"한"});
}

TEST_CASE("tokens are case-sensitive") {
  CHECK(tokens_of("The the") == Tokens{"The", "the"});
}

TEST_CASE("what prints nothing is no token") {
  CHECK(tokens_of(std::string_view("a\0b", 3)) == Tokens{"a", "b"});
  CHECK(tokens_of("a \x01\x7F \u200B\u2060 \uFEFF b") == Tokens{"a", "b"});
  CHECK(tokens_of("\u0301 a") == Tokens{"a"});
  CHECK(tokens_of("b \u0301 a") == Tokens{"b", "a"});
}

TEST_CASE("a sentence without a token is refused") {
  CHECK_THROWS_AS(tokens_of(""), attn::Error);
  CHECK_THROWS_WITH(tokens_of(" \t\n\u00A0\u3000"),
                    "the sentence is empty: it has no visible character; valid: at least one word or symbol");
  CHECK_THROWS_WITH(tokens_of("\u200B\x01"), StartsWith("the sentence is empty: "));
}

TEST_CASE("invalid UTF-8 is refused with the byte and its offset") {
  CHECK_THROWS_WITH(tokens_of("caf\xC3"),
                    "the sentence is not valid UTF-8: byte 0xC3 at offset 3; valid: text in UTF-8");
  CHECK_THROWS_WITH(tokens_of("é \xFF"), Contains("byte 0xFF at offset 3"));
  CHECK_THROWS_WITH(tokens_of("\xC0\xAF"), Contains("byte 0xC0 at offset 0"));
  CHECK_THROWS_WITH(tokens_of("a\x80"), Contains("byte 0x80 at offset 1"));
  CHECK_THROWS_WITH(tokens_of("a\xBF\xBF"), Contains("byte 0xBF at offset 1"));
  CHECK_THROWS_WITH(tokens_of("\xFC\x80\x80\x80"), Contains("byte 0xFC at offset 0"));
  CHECK_THROWS_WITH(tokens_of("ab\xED\xA0\x80"), Contains("byte 0xED at offset 2"));
  CHECK_THROWS_WITH(tokens_of("\xF4\x90\x80\x80"), Contains("byte 0xF4 at offset 0"));
  CHECK_THROWS_WITH(tokens_of("\xE2\x82("), Contains("byte 0xE2 at offset 0"));
  CHECK_THROWS_WITH(tokens_of("\xF8\x88\x80\x80\x80"), Contains("byte 0xF8 at offset 0"));
  CHECK_THROWS_WITH(tokens_of("\xF0\x82\x82\xAC"), Contains("byte 0xF0 at offset 0"));
  CHECK_NOTHROW(
      attn::require_valid_utf8("\x7F\u0080\u07FF\u0800\uD7FF\uE000\uFFFF\U00010000\U0010FFFF", "this"));
}

TEST_CASE("code points are decoded, and an ill-formed byte is a replacement character") {
  CHECK(attn::code_points("a\u00E9\u20AC\U0001F600") == U"a\u00E9\u20AC\U0001F600");
  CHECK(attn::code_points("\xC3(\xE2\x82") == U"\uFFFD(\uFFFD\uFFFD");
  CHECK(attn::code_points("").empty());
}

TEST_CASE("lower case follows Unicode and no particular language") {
  CHECK(attn::lower_case("ÉCOLE Σίσυφος IJ") == "école σίσυφος ij");
}

TEST_CASE("the segments of a text are the whole text") {
  const std::string text = " J'aime, 猫が\u0301 👨‍👩‍👧 \n";
  for (const auto& pieces : {attn::word_segments(text), attn::grapheme_clusters(text)}) {
    std::string whole;
    for (const auto piece : pieces) whole += piece;
    CHECK(whole == text);
  }
  CHECK(attn::word_segments("").empty());
  CHECK(attn::grapheme_clusters("e\u0301a").size() == 2);
}

TEST_CASE("a very long word is one token and a very long sentence has all of its words") {
  const std::string word(1000000, 'a');
  CHECK(tokens_of(word) == Tokens{word});
  std::string sentence;
  for (int i = 0; i < 100000; ++i) sentence += "é ";
  CHECK(tokens_of(sentence).size() == 100000);
}

TEST_CASE("a batch of equal lengths is not padded") {
  const auto batch = tokenize(Tokens{"the cat sat", "a dog ran"});
  CHECK(batch.size() == 2);
  CHECK(batch.length() == 3);
  CHECK(!batch.is_padded());
  CHECK(batch.lengths() == std::vector<std::size_t>{3, 3});
  CHECK(batch.labels().per_sample());
  CHECK(batch.labels().lists == batch.tokens);
}

TEST_CASE("shorter sentences of a batch are padded in the labels only") {
  const auto batch = tokenize(Tokens{"the cat sat", "run !", "the cat sat"});
  CHECK(batch.length() == 3);
  CHECK(batch.is_padded());
  CHECK(batch.lengths() == std::vector<std::size_t>{3, 2, 3});
  CHECK(batch.tokens[1] == Tokens{"run", "!"});
  CHECK(batch.labels().of(1) == Tokens{"run", "!", "<pad>"});
  CHECK(batch.labels().of(2) == Tokens{"the", "cat", "sat"});
}

TEST_CASE("equal sentences share one list of labels") {
  CHECK(tokenize(Tokens{"the cat"}).labels().lists == std::vector<Tokens>{{"the", "cat"}});
  CHECK(tokenize(Tokens{"the cat", "the  cat"}).labels().lists == std::vector<Tokens>{{"the", "cat"}});
}

TEST_CASE("an empty batch has no tokens, lengths or labels") {
  const auto batch = tokenize(Tokens{});
  CHECK(batch.size() == 0);
  CHECK(batch.length() == 0);
  CHECK(!batch.is_padded());
  CHECK(batch.lengths().empty());
  CHECK(batch.labels().empty());
}

TEST_CASE("a batch says which of its sentences is wrong") {
  CHECK_THROWS_WITH(tokenize(Tokens{"the cat", " "}), StartsWith("sentence 2 is empty: "));
  CHECK_THROWS_WITH(tokenize(Tokens{"the cat", "a", "\xFF"}), StartsWith("sentence 3 is not valid UTF-8: "));
  CHECK_THROWS_WITH(tokenize(Tokens{" "}), StartsWith("the sentence is empty: "));
}
