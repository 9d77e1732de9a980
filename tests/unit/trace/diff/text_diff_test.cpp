#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/unit/processor_time.hpp"
#include "trace/diff/diff.hpp"

using attn::compare_texts;
using attn::DiffSettings;
using attn::Verdict;

namespace {

const std::string header = R"(sdpa: scaled dot-product attention
──────────────────────────────────
  sentence="the cat"  d_k=2  seed=42  causal
  precision=4

)";

const std::string idea = R"(The idea
  A query is compared with every key.

)";

const std::string scores = R"(1  scores = Q Kᵀ                       [query 2 × key 2]
   How well does each query match each key?
  scores[cat, the] = −0.5000 · 1.5000 + (2.0000 · 0.7500)
                   ≈ 0.7500
  query      the      cat
  the     1.2500  -0.5000
  cat     0.7500     -inf

)";

const std::string short_steps = R"(  scaled = scores / √2 [2×2], mask [2×2]

)";

const std::string weights = R"(2  weights = softmax(scaled)   Shares   [query 2 × key 2]
  query     the     cat   strongest
  the    0.8520  0.1480   → the  0.8520
  cat    1.0000       ·   → the  1.0000
  · = exactly 0
  the looks most at the: 0.8520.

)";

const std::string claims = R"(1 more table of this run: --all shows it.

What holds on this run
  ✓ each row of weights sums to 1   off by less than 1e-12
1 of 1 claim holds.
)";

const std::string page = header + idea + scores + short_steps + weights + claims;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto place = text.find(what);
  REQUIRE(place != std::string::npos);
  return text.replace(place, what.size(), by);
}

std::string report(const std::string& a, const std::string& b, const DiffSettings& settings = {},
                   bool all = false) {
  return format_diff(compare_texts(a, b, settings), {}, all);
}

Verdict verdict(const std::string& a, const std::string& b, const DiffSettings& settings = {}) {
  return compare_texts(a, b, settings).verdict();
}

}  // namespace

TEST_CASE("a printed trace is equal to itself and there is nothing to say about that") {
  CHECK((verdict(page, page) == Verdict::equal));
  CHECK(report(page, page) == "");
}

TEST_CASE("the first number that differs is named with its step and its line") {
  CHECK(report(page, replaced(page, "-0.5000", "-0.5001")) ==
        R"(scores differs first at line 14: -0.5000 in A, -0.5001 in B
  A    the     1.2500  -0.5000
  B    the     1.2500  -0.5001

  id or heading  lines  numbers  words  max abs  max rel
  scores         9      1 of 10      0   0.0001   0.0002

1 of 7 headings have differences.
)");
}

TEST_CASE("a word that differs is told with both lines") {
  CHECK_THAT(report(page, replaced(page, "every key", "each key")),
             Catch::StartsWith("“The idea” differs first at line 7: `every` in A, `each` in B\n"
                               "  A    A query is compared with every key.\n"
                               "  B    A query is compared with each key.\n"));
}

TEST_CASE("every single digit of a page counts") {
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i] < '0' || page[i] > '9') continue;
    auto other = page;
    other[i] = page[i] == '9' ? '0' : static_cast<char>(page[i] + 1);
    INFO(other);
    CHECK((verdict(page, other) == Verdict::different));
    CHECK(report(page, other) != "");
  }
}

TEST_CASE("numbers are compared within a tolerance that is given") {
  const auto close = replaced(page, "-0.5000", "-0.5001");
  CHECK((verdict(page, close, {.absolute = 1e-3}) == Verdict::within_tolerance));
  CHECK(report(page, close, {.absolute = 1e-3}) ==
        "equal within tolerance; the largest difference is 0.0001 in scores at line 14\n");
  CHECK((verdict(page, close, {.relative = 1e-3}) == Verdict::within_tolerance));
  CHECK((verdict(page, close, {.absolute = 1e-5}) == Verdict::different));
  CHECK((verdict(page, close, {.absolute = 0.0, .relative = 0.0}) == Verdict::different));
}

TEST_CASE("a number in an expression or at the end of a sentence is compared within the tolerance, too") {
  const DiffSettings close{.absolute = 1e-3};
  for (const auto* number : {"−0.5000 ·", "(2.0000", "0.7500)", "0.8520."}) {
    auto other = std::string(number);
    other.replace(other.find_last_of('0'), 1, "1");
    const auto changed = replaced(page, number, other);
    INFO(other);
    CHECK((verdict(page, changed, close) == Verdict::within_tolerance));
    CHECK((verdict(page, changed) == Verdict::different));
  }
  CHECK((verdict(page, replaced(page, "−0.5000 ·", "0.5000 ·"), close) == Verdict::different));
  CHECK((verdict(page, replaced(page, "−0.5000 ·", "-0.5000 ·"), close) == Verdict::within_tolerance));
}

TEST_CASE("words are no numbers, whatever the tolerance") {
  CHECK((verdict(page, replaced(page, "→ the  0.8520", "→ cat  0.8520"), {.absolute = 1e9}) ==
         Verdict::different));
  CHECK((verdict(page, replaced(page, "/ √2 [2×2]", "/ √2 [2×3]"), {.absolute = 1e9}) == Verdict::different));
}

TEST_CASE("infinities and nan equal themselves and nothing else, whatever the tolerance") {
  const DiffSettings generous{.absolute = 1e9};
  CHECK((verdict(page, replaced(page, "-inf", "-9.9"), generous) == Verdict::different));
  CHECK((verdict(page, replaced(page, "-inf", "inf"), generous) == Verdict::different));
  const auto with_nan = replaced(page, "-inf", "nan");
  CHECK((verdict(with_nan, with_nan, generous) == Verdict::equal));
  CHECK((verdict(with_nan, page, generous) == Verdict::different));
}

TEST_CASE("blanks, blank lines, colours and carriage returns do not count") {
  CHECK((verdict(page, replaced(page, "  the     1.2500  -0.5000", "  the       1.2500    -0.5000  ")) ==
         Verdict::equal));
  CHECK((verdict(page, replaced(page, "every key.\n\n", "every key.\n\n\n")) == Verdict::equal));
  CHECK((verdict(page, replaced(page, "The idea", "\x1b[1mThe idea\x1b[0m")) == Verdict::equal));
  CHECK(
      (verdict(page, replaced(page, " 0.8520 ", "\x1b[48;5;24;38;5;231m 0.8520 \x1b[0m")) == Verdict::equal));
  std::string elsewhere;
  for (const char character : page) elsewhere += character == '\n' ? "\r\n" : std::string(1, character);
  CHECK((verdict(page, elsewhere) == Verdict::equal));
  CHECK((verdict(page, page.substr(0, page.size() - 1)) == Verdict::equal));
}

TEST_CASE("a step that only one has leaves the others equal, although their numbers shift") {
  const auto shorter = header + idea + short_steps + replaced(weights, "2  weights", "1  weights") + claims;
  CHECK(report(page, shorter) == R"(scores is the first to differ: line 9 in A only

  id or heading  lines  numbers  words  max abs  max rel
  scores         line 9 in A only

1 of 7 headings have differences.
)");
  CHECK_THAT(report(shorter, page), Catch::Contains("line 9 in B only"));
}

TEST_CASE("a heading that has not the number that follows the one before is different") {
  CHECK_THAT(report(page, replaced(page, "2  weights", "3  weights")),
             Catch::StartsWith("weights differs first at line 19: 2 in A, 3 in B\n"));
}

TEST_CASE("a line that only one has leaves the others of its step equal") {
  const auto longer = replaced(page, "every key.\n", "every key.\n  Then it is scaled.\n");
  CHECK(report(page, longer) == R"(“The idea” differs first at line 8 in B only
  B    Then it is scaled.

  id or heading  lines  numbers  words  max abs  max rel
  “The idea”     6       0 of 0      4        0        0

1 of 7 headings have differences.
)");
}

TEST_CASE("the order of steps counts") {
  CHECK((verdict(page, header + idea + weights + short_steps + scores + claims) == Verdict::different));
}

TEST_CASE("steps of earlier lessons, which share a line, have a name of their own") {
  CHECK_THAT(report(page, replaced(page, "mask [2×2]", "mask [2×3]")),
             Catch::StartsWith("scaled differs first at line 17: `[2×2]` in A, `[2×3]` in B\n"));
  CHECK((verdict(page, replaced(page, "mask [2×2]", "mask [2×3]"), {.only = {"scores"}}) == Verdict::equal));
}

TEST_CASE("what is selected but not on the expected page is refused") {
  CHECK_THROWS_WITH(compare_texts(page, page, {.only = {"weights", "Q"}}),
                    "--steps Q: the expected page does not show it; valid: a page of --all");
}

TEST_CASE("options that differ are told first") {
  const auto other = replaced(replaced(page, "seed=42  causal", "seed=43  causal"), "-0.5000", "-0.5001");
  CHECK_THAT(report(page, other),
             Catch::StartsWith(R"(“sdpa: scaled dot-product atte…” differs first at line 3: `seed=42` in A,
  `seed=43` in B
  A    sentence="the cat"  d_k=2  seed=42  causal
  B    sentence="the cat"  d_k=2  seed=43  causal

scores differs first at line 14: -0.5000 in A, -0.5001 in B
)"));
  CHECK(compare_texts(page, other).first()->name == "scores");
  const auto more = replaced(page, "d_k=2", "d_k=2  temperature=2");
  CHECK_THAT(report(page, more), Catch::Contains("line 3: nothing in A,\n  `temperature=2` in B"));
  CHECK((verdict(page, more) == Verdict::different));
  CHECK((verdict(page, more, {.absolute = 1e9}) == Verdict::different));
  CHECK((verdict(page, more, {.ignores_config = true}) == Verdict::equal));
}

TEST_CASE("a page without drawings has a header, too, and may begin with the command") {
  const auto plain = replaced(page, "──────────────────────────────────\n", "");
  for (const auto& text : {plain, "$ attnlab sdpa\n" + plain, "$ attnlab sdpa\n" + page}) {
    const auto other = replaced(text, "d_k=2", "d_k=3");
    CHECK((verdict(text, other) == Verdict::different));
    CHECK((verdict(text, other, {.ignores_config = true}) == Verdict::equal));
    CHECK((verdict(text, replaced(text, "-0.5000", "-0.5001"), {.ignores_config = true}) ==
           Verdict::different));
  }
}

TEST_CASE("the header says whether a page has some steps alone") {
  CHECK_FALSE(attn::is_of_some_steps(page));
  CHECK(attn::is_of_some_steps(replaced(page, "precision=4", "precision=4  steps=\"weights\"")));
  CHECK_FALSE(attn::is_of_some_steps(replaced(page, "every key", "steps=weights")));
}

TEST_CASE("only what is selected is compared where something is") {
  const auto other = replaced(replaced(page, "every key", "each key"), "0.7500", "0.7501");
  CHECK((verdict(page, other, {.only = {"weights"}}) == Verdict::equal));
  CHECK((verdict(page, other, {.only = {"scores"}}) == Verdict::different));
}

TEST_CASE("the same step of several lessons is compared within its lesson") {
  const auto second = replaced(page, "sdpa: scaled", "masking: scaled");
  const auto tour = page + "\n\n" + second;
  CHECK((verdict(tour, tour) == Verdict::equal));
  CHECK_THAT(report(tour, page + "\n\n" + replaced(second, "0.7500", "0.7501")),
             Catch::StartsWith("scores differs first at line 43: `0.7500)` in A"));
  CHECK(compare_texts(tour, second).parts[7].is_in_both());
}

TEST_CASE("any other text is compared as well") {
  CHECK((verdict("1 2 3\n", "1 2 3") == Verdict::equal));
  CHECK_THAT(report("1 2 3\n", "1 2 4\n"), Catch::StartsWith("“1 2 3” is the first to differ"));
  CHECK((verdict("", "x") == Verdict::different));
}

TEST_CASE("large texts of many changes are compared in an instant") {
  std::string a = header, b = header;
  for (int step = 1; step <= 2000; ++step) {
    a += fmt::format("{0}  step={0}/weights = x   [query 20 × key 4]\n", step);
    b += fmt::format("{0}  step={0}/weights = y   [query 20 × key 4]\n", step);
    for (int row = 0; row < 20; ++row) {
      a += fmt::format("  {}  1.0  2.0  3.0  4.0\n", row);
      b += fmt::format("  {}  1.0  2.0  3.0  4.1\n", row);
    }
    a += "\n";
    b += "\n";
  }
  const auto compare = [&] {
    const auto diff = compare_texts(a, b);
    CHECK(diff.parts.size() == 2001);
    CHECK(diff.parts.back().beyond == 20);
  };
  CHECK(processor_seconds(compare) < instant);
}
