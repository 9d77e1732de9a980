#include <catch2/catch.hpp>

#include "trace/diff/text_page.hpp"
#include "trace/diff/trace_diff.hpp"

namespace {

/// "name value; name value", values as JSON.
std::string parsed(std::string_view text) {
  std::string result;
  for (const auto& [name, value] : attn::parse_printed_options(text))
    result += (result.empty() ? "" : "; ") + name + ' ' + attn::to_string(value);
  return result;
}

}  // namespace

TEST_CASE("printed options are numbers, words, flags and texts") {
  CHECK(parsed("d_k=8  dropout=0.1  causal  dtype=float64") ==
        R"(d_k 8; dropout 0.1; causal true; dtype "float64")");
  CHECK(parsed(R"(sentence="the cat" "a dog"  seed=42)") == R"(sentence ["the cat","a dog"]; seed 42)");
  CHECK(parsed("lengths=16,64  pattern=\"my file\"") == R"(lengths "16,64"; pattern ["my file"])");
  CHECK(parsed("") == "");
}

TEST_CASE("lines break between options and within texts") {
  CHECK(parsed("d_k=8\nsentence=\"the\ncat sat\"\ncausal") ==
        R"(d_k 8; sentence ["the cat sat"]; causal true)");
}

TEST_CASE("a text may hold quotation marks and what looks like options") {
  CHECK(parsed(R"(sentence="say "no" now"  seed=1)") == R"(sentence ["say \"no\" now"]; seed 1)");
  CHECK(parsed(R"(sentence="a  seed=2"  seed=1)") == R"(sentence ["a seed=2"]; seed 1)");
}

TEST_CASE("numbers that are written otherwise than usual keep their digits") {
  CHECK(parsed("a=0.10  b=042  c=inf  d=1e3") == R"(a "0.10"; b "042"; c "inf"; d "1e3")");
}

TEST_CASE("what is no option is a flag, and nothing is lost") {
  CHECK(parsed("a  a  =  \"") == R"(a true; a (2) true;  ""; " true)");
}

TEST_CASE("a text that does not end goes on to the end") {
  CHECK(parsed("a=\"b c") == R"(a ["b c"])");
}
