#include "attn/text/word_vectors.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "attn/error.hpp"
#include "tests/unit/temporary_file.hpp"

using attn::WordVectors;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Vector = std::vector<double>;

namespace {

WordVectors load(std::string_view content) {
  return WordVectors::load(TemporaryFile(content).path());
}

/// What is said about a file with that content, after its name.
std::string refusal_of_vectors(std::string_view content) {
  const TemporaryFile file(content);
  try {
    WordVectors::load(file.path());
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

TEST_CASE("a GloVe file is read without a header") {
  const auto vectors = load("the 0.1 -0.2 3e-5\ncat 1 2 3\n");
  CHECK(vectors.dimension() == 3);
  CHECK(vectors.at("the") == Vector{0.1, -0.2, 3e-5});
  CHECK(vectors.at("cat") == Vector{1, 2, 3});
}

TEST_CASE("a word2vec or fastText file is read with its header") {
  const auto vectors = load("3 2\n</s> 0 0\nthe 0.5 0.25\n, -1 1\n");
  CHECK(vectors.dimension() == 2);
  CHECK(vectors.at("the") == Vector{0.5, 0.25});
  CHECK(vectors.at(",") == Vector{-1, 1});
}

TEST_CASE("numbers keep every bit of a float64") {
  CHECK(load("a 0.1 0.30000000000000004 1.7976931348623157e308 5e-324\n").at("a") ==
        Vector{0.1, 0.30000000000000004, 1.7976931348623157e308, 5e-324});
}

TEST_CASE(
    "spaces at the end, repeated spaces, tabs, CRLF, blank lines and a missing last newline are tolerated") {
  const auto vectors = load("2 2 \r\nthe  0.5 0.25 \r\n\n\tcat\t1   2");
  CHECK(vectors.at("the") == Vector{0.5, 0.25});
  CHECK(vectors.at("cat") == Vector{1, 2});
  CHECK(load("\xEF\xBB\xBFthe 1\n").at("the") == Vector{1});
}

TEST_CASE("words may be of any script, and numbers or signs") {
  const auto vectors = load("猫 1 2\nJ’aime 3 4\n👍🏽 5 6\n42 7 8\n-0.5 9 10\nnew\u00A0york 11 12\n");
  CHECK(vectors.at("猫") == Vector{1, 2});
  CHECK(vectors.at("J’aime") == Vector{3, 4});
  CHECK(vectors.at("👍🏽") == Vector{5, 6});
  CHECK(vectors.at("42") == Vector{7, 8});
  CHECK(vectors.at("-0.5") == Vector{9, 10});
  CHECK(vectors.at("new\u00A0york") == Vector{11, 12});
}

TEST_CASE("a word may have spaces in it") {
  const auto vectors = load("the 1 2\n. . . 3 4\nat name@domain.com 5 6\n");
  CHECK(vectors.at(". . .") == Vector{3, 4});
  CHECK(vectors.at("at name@domain.com") == Vector{5, 6});
}

TEST_CASE("a token is found as written, or else in lower case, and in NFC") {
  const auto vectors = load("the 1\nThe 2\ncat 3\ncafe\u0301 4\nParis 5\nE\u0301vian 6\n");
  CHECK(vectors.at("The") == Vector{2});
  CHECK(vectors.at("the") == Vector{1});
  CHECK(vectors.at("THE") == Vector{1});
  CHECK(vectors.at("caf\u00E9") == Vector{4});
  CHECK(vectors.at("cafe\u0301") == Vector{4});
  CHECK(vectors.at("E\u0301vian") == Vector{6});
  CHECK(vectors.at("CAFÉ") == Vector{4});
  CHECK_THROWS_AS(vectors.at("paris"), attn::Error);
  CHECK(vectors.has("THE"));
  CHECK_FALSE(vectors.has("paris"));
}

TEST_CASE("of two lines for one word the first counts") {
  CHECK(load("a 1\na 2\n").at("a") == Vector{1});
}

TEST_CASE("a token that is not there is named, with the words of a small file") {
  const TemporaryFile file("the 1\ncat 2\n");
  const auto vectors = WordVectors::load(file.path());
  CHECK_THROWS_WITH(vectors.at("unicorn"),
                    "\"unicorn\" is not among the 2 words of " + file.path() + "; valid: \"cat\", \"the\"");
}

TEST_CASE("a token that is not there is named, with the nearest words of a large file") {
  std::string content = "unicorns 1\nunion 1\nacorn 1\n";
  for (char first = 'a'; first <= 'z'; ++first) content += std::string(9, first) + " 1\n";
  const auto vectors = load(content);
  CHECK_THROWS_WITH(vectors.at("unicorn"), EndsWith("; valid: \"unicorns\", \"union\", \"acorn\""));
  CHECK_THROWS_WITH(vectors.at("猫"), Contains("not among the 29 words") && EndsWith("in lower case"));
}

TEST_CASE("control characters of a token do not reach the terminal") {
  CHECK_THROWS_WITH(load("a 1\n").at("\x1B[31m"), StartsWith(R"("\x1b[31m" is not among)"));
}

TEST_CASE("a vector of another length is refused with its line") {
  CHECK_THAT(refusal_of_vectors("the 1 2 3\ncat 1 2\n"),
             StartsWith(R"(, line 2: "cat" has a vector of length 2, not 3)"));
  CHECK_THAT(refusal_of_vectors("the 1 2 3\n\ncat 1 2 3 4\n"),
             StartsWith(R"(, line 3: "cat" has a vector of length 4, not 3)"));
  CHECK_THAT(refusal_of_vectors("1 3\nthe 1 2\n"),
             StartsWith(R"(, line 2: "the" has a vector of length 2, not 3)"));
  CHECK_THAT(refusal_of_vectors("the 1 2\n0.5 0.5\n"),
             StartsWith(R"(, line 2: "0.5" has a vector of length 1, not 2)"));
  CHECK_THAT(refusal_of_vectors("the\n"), StartsWith(R"(, line 1: no number follows "the")"));
}

TEST_CASE("what is no finite number is refused with its line") {
  for (const std::string bad :
       {"x", "1.5.2", "0x1F", "1,5", "nan", "inf", "-Infinity", "1e999", "--1", "1e"}) {
    INFO(bad);
    CHECK_THAT(refusal_of_vectors("the 1 2\ncat 1 " + bad + "\n"),
               StartsWith(", line 2: \"" + bad + "\" is not a finite number"));
  }
}

TEST_CASE("a file with fewer or more lines than its header counts is refused") {
  CHECK_THAT(refusal_of_vectors("3 2\na 1 2\nb 1 2\n"),
             StartsWith(", line 3: the file ends after 2 of the 3 vectors of its header"));
  CHECK_THAT(refusal_of_vectors("1 2\na 1 2\nb 1 2\n"),
             StartsWith(", line 3: this is more than the 1 vectors of the header"));
  CHECK_THAT(refusal_of_vectors("3 2\n"), StartsWith(", line 1: no vector follows the header"));
}

TEST_CASE("a header with an impossible dimension is refused before memory is taken") {
  CHECK_THAT(refusal_of_vectors("3 0\na\n"),
             StartsWith(", line 1: the header promises vectors of 0 numbers; valid: 1 to "));
  CHECK_THAT(refusal_of_vectors("3 99999999999\na 1\n"),
             StartsWith(", line 1: the header promises vectors of 99999999999 "));
  CHECK_THAT(refusal_of_vectors("1 " + std::string(1000, '9') + "\na 1\n"),
             StartsWith(", line 1: the header promises"));
  CHECK_THAT(refusal_of_vectors("99999999999999999999999 1\na 1\n"),
             StartsWith(", line 2: the file ends after 1 of the "));
}

TEST_CASE("an empty file, a directory and a missing file are refused") {
  CHECK_THAT(refusal_of_vectors(""), StartsWith(" is empty; valid: "));
  CHECK_THAT(refusal_of_vectors(" \n\n"), StartsWith(" is empty; valid: "));
  const auto directory = std::filesystem::temp_directory_path().string();
  CHECK_THROWS_WITH(WordVectors::load(directory), StartsWith(directory + " is a directory; valid: "));
  const auto missing = directory + "/attnlab-no-such-file";
  CHECK_THROWS_WITH(WordVectors::load(missing),
                    StartsWith(missing + " cannot be opened: No such file or directory"));
}

TEST_CASE("a file that is no text is refused") {
  CHECK_THAT(refusal_of_vectors("a 1\ncaf\xC3 2\n"),
             StartsWith(", line 2: the word is not valid UTF-8: byte 0xC3 at offset 3"));
  CHECK_THAT(refusal_of_vectors(std::string_view("a 1\nb\0 1\n", 9)),
             StartsWith(", line 2: the line has a NUL byte"));
  CHECK_THAT(refusal_of_vectors(std::string(5000000, 'a')),
             StartsWith(", line 1: the line is longer than 4194304 bytes"));
}
