#include "attn/text/width.hpp"

#include <catch2/catch.hpp>

using attn::display_width;
using attn::shorten;
using attn::wrap;
using Lines = std::vector<std::string>;

TEST_CASE("letters, accents and mathematical signs take one column each") {
  CHECK(display_width("") == 0);
  CHECK(display_width("attention") == 9);
  CHECK(display_width("école") == 5);
  CHECK(display_width("Q Kᵀ / √d_k") == 11);
  CHECK(display_width("Σⱼ αᵢⱼ · vⱼ → … ×−∞") == 19);
}

TEST_CASE("letters and signs are as wide among themselves as beside an accent") {
  const auto in_utf8 = [](unsigned c) {
    const auto byte = [](unsigned bits) { return static_cast<char>(bits); };
    return c < 0x800
               ? std::string{byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))}
               : std::string{byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  };
  for (unsigned c = 0xA0; c < 0x3000; ++c) {
    INFO(c);
    const auto text = "a" + in_utf8(c) + in_utf8(c);
    CHECK(display_width(text) + 1 == display_width(text + "e\u0301"));
  }
}

TEST_CASE("wide East Asian characters take two columns") {
  CHECK(display_width("猫が座った。") == 12);
  CHECK(display_width("한국어") == 6);
  CHECK(display_width("\uFF21\uFF22") == 4);
  CHECK(display_width("\uFF71\uFF72") == 2);
  CHECK(display_width("cat 猫") == 6);
}

TEST_CASE("combining marks, joiners and control characters take none") {
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("q\u0303\u0323") == 1);
  CHECK(display_width("ฉันรักแมว") == 7);
  CHECK(display_width("\u1112\u1161\u11AB") == 2);
  CHECK(display_width("a\u200Bb\u2060c\uFEFF") == 3);
  CHECK(display_width("\u0301") == 0);
  CHECK(display_width("a\u20DD") == 1);
  CHECK(display_width("a\uFE0F") == 1);
  CHECK(display_width("co\u00ADoperate") == 10);
  CHECK(display_width(std::string_view("a\0\t\n\x1B\x7F", 6)) == 1);
  CHECK(display_width("a\r\nb\u0085") == 2);
}

TEST_CASE("an emoji takes two columns however many characters it is made of") {
  CHECK(display_width("😀") == 2);
  CHECK(display_width("👨‍👩‍👧‍👦") == 2);
  CHECK(display_width("👍🏽") == 2);
  CHECK(display_width("🇫🇷") == 2);
  CHECK(display_width("🇫🇷🇯🇵") == 4);
  CHECK(display_width("1️⃣") == 2);
  CHECK(display_width("❤️") == 2);
  CHECK(display_width("❤") == 1);
  CHECK(display_width("🏳️‍🌈🏴‍☠️") == 4);
  CHECK(display_width("⛹🏽‍♂️") == 2);
  CHECK(display_width("🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F") == 2);
}

TEST_CASE("a width is found even for text that is no UTF-8") {
  CHECK(display_width("a\xFF") == 2);
}

TEST_CASE("shortening keeps what fits and marks what is gone") {
  CHECK(shorten("attention", 9) == "attention");
  CHECK(shorten("attention", 8) == "attenti…");
  CHECK(shorten("attention", 1) == "…");
  CHECK(shorten("attention", 0) == "");
  CHECK(shorten("", 0) == "");
}

TEST_CASE("shortening never cuts through a character") {
  CHECK(shorten("cafe\u0301s", 5) == "cafe\u0301s");
  CHECK(shorten("cafe\u0301s", 4) == "caf…");
  CHECK(shorten("猫が座った", 6) == "猫が…");
  CHECK(shorten("猫が座った", 5) == "猫が…");
  CHECK(shorten("👨‍👩‍👧‍👦👍🏽👍", 5) == "👨‍👩‍👧‍👦👍🏽…");
  for (std::size_t width = 0; width < 12; ++width)
    CHECK(display_width(shorten("a猫e\u0301👍🏽 x座", width)) <= width);
}

TEST_CASE("padding counts columns, not bytes") {
  CHECK(attn::pad_left("猫", 4) == "  猫");
  CHECK(attn::pad_right("e\u0301", 3) == "e\u0301  ");
  CHECK(attn::pad_left("long", 2) == "long");
  CHECK(attn::pad_right("long", 4) == "long");
}

TEST_CASE("lines are filled with as many words as fit") {
  CHECK(wrap("the cat sat on the mat", 10) == Lines{"the cat", "sat on the", "mat"});
  CHECK(wrap("the cat", 7) == Lines{"the cat"});
  CHECK(wrap("the cat", 6) == Lines{"the", "cat"});
  CHECK(wrap("猫が 座った", 6) == Lines{"猫が", "座った"});
}

TEST_CASE("spaces at a break are dropped, others are kept") {
  CHECK(wrap("a  b   c", 4) == Lines{"a  b", "c"});
  CHECK(wrap("a b   ", 10) == Lines{"a b"});
  CHECK(wrap("  indented text goes on", 10) == Lines{"  indented", "text goes", "on"});
}

TEST_CASE("every newline starts another line") {
  CHECK(wrap("one\ntwo words\n\nfour", 5) == Lines{"one", "two", "words", "", "four"});
  CHECK(wrap("one\n", 5) == Lines{"one", ""});
  CHECK(wrap("", 5) == Lines{""});
  CHECK(wrap("   ", 5) == Lines{""});
}

TEST_CASE("a word longer than a line is broken between characters") {
  CHECK(wrap("an unbelievable word", 6) == Lines{"an", "unbeli", "evable", "word"});
  CHECK(wrap("extraordinary cat", 10) == Lines{"extraordin", "ary cat"});
  CHECK(wrap("e\u0301e\u0301e\u0301", 2) == Lines{"e\u0301e\u0301", "e\u0301"});
  CHECK(wrap("猫が座った", 5) == Lines{"猫が", "座っ", "た"});
}

TEST_CASE("a line narrower than a character still takes one") {
  CHECK(wrap("猫が", 1) == Lines{"猫", "が"});
  CHECK(wrap("ab c", 0) == Lines{"a", "b", "c"});
}

TEST_CASE("a width without end keeps paragraphs whole") {
  CHECK(wrap("the cat\nsat", static_cast<std::size_t>(-1)) == Lines{"the cat", "sat"});
}

TEST_CASE("wrapping loses no word and makes no line too wide") {
  const std::string text =
      "Attention weighs 猫が座った and J’aime les chats, 👨‍👩‍👧‍👦 "
      "incomprehensibilities "
      "e\u0301.";
  for (std::size_t width = 2; width < 60; ++width) {
    std::string letters;
    for (const auto& line : wrap(text, width)) {
      CHECK(display_width(line) <= width);
      CHECK((line.empty() || line.back() != ' '));
      for (const char byte : line)
        if (byte != ' ') letters += byte;
    }
    std::string expected;
    for (const char byte : text)
      if (byte != ' ') expected += byte;
    CHECK(letters == expected);
  }
}
