#include "page/text/plain.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>
#include <regex>
#include <set>

#include "page/text/text.hpp"
#include "tests/unit/watches.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

using Lesson = std::function<void(attn::Trace&)>;

std::string demo_page(const Lesson& lesson, const attn::PageStyle& style, bool batched = false) {
  attn::TextRenderer renderer({"demo", "a lesson", {{"causal", true}}}, style);
  attn::Trace trace(renderer, {.batched = batched});
  lesson(trace);
  return renderer.finish();
}

std::string plain(const Lesson& lesson, bool batched = false) {
  return demo_page(lesson, {.plain = true}, batched);
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x80; });
}

/// A page with a drawing, formulas, weights, a mask, a curve and claims.
void full_page(attn::Trace& trace) {
  for (const auto* axis : {"query", "key"}) trace.label(axis, {{{"the", "cat", "the"}}});
  trace.note("idea", "The idea", "It’s “softmax”.",
             "headᵢ = softmax(Qᵢ Kᵢᵀ / √d_k) ⊙ M, hₜ₋₁ → hₜ, x² ≤ 10⁻³");
  trace.note("flow", "The flow", "", "Q [3×4] ┐\n        ├ Q Kᵀ → softmax\nK [3×4] ┘");
  trace.step({.id = "weights",
              .title = "Shares",
              .formula = "softmax(scaled)",
              .axes = {"query", "key"},
              .note = "γ and β are ½ · x̄.",
              .distribution = true},
             Tensor<2>{{0.25, 0.5, 0.25}, {0.0, 1.0, 0.0}, {0.4, 0.2, 0.4}});
  trace.input({.id = "mask", .axes = {"query", "key"}},
              attn::Mask<2>{{true, false, true}, {true, true, true}, {true, true, true}});
  trace.step({.id = "rates", .axes = {"step"}, .curve = true}, Tensor<1>{0.125, 0.5, -0.75});
  trace.step({.id = "entropy", .formula = "−Σ w ln w"}, 1.25);
  trace.claim({"sums", "rows sum to 1", "max |Σⱼ w − 1|", 0.0, attn::within_rounding(1e-12)});
  trace.claim({"broken", "it is ≥ 1", "min x", 0.5, attn::at_least(1)});
}

}  // namespace

TEST_CASE("A plain page is ASCII, and has no rule and no colour") {
  const auto text = plain(full_page);
  INFO(text);
  CHECK(is_ascii(text));
  CHECK_THAT(text, Catch::StartsWith("demo: a lesson\n  causal\n"));
  CHECK(is_ascii(demo_page(full_page, {.all = true, .color = true, .plain = true})));
}

TEST_CASE("A plain row is a sentence with each key, the second of two equal ones by its number") {
  const auto text = plain(full_page);
  CHECK_THAT(text, Contains("  weights: the looks at the 0.2500, cat 0.5000, the#2 0.2500\n"
                            "  weights: cat looks at the 0.0000, cat 1.0000, the#2 0.0000\n"
                            "  weights: the#2 looks at the 0.4000, cat 0.2000, the#2 0.4000\n"));
  CHECK_THAT(text, Contains("  mask: the sees the yes, cat no, the#2 yes\n"));
}

TEST_CASE("A plain row without tokens is named by its place, and a vector is one row") {
  const auto text = plain([](attn::Trace& trace) {
    trace.step({.id = "gates", .axes = {"position", "hidden"}}, Tensor<2>{{1.0, -0.5}, {0.25, 2.0}});
    trace.step({.id = "pooled", .axes = {"d_model"}}, Tensor<1>{1.5, -2.5});
  });
  CHECK_THAT(text,
             Contains("  gates: position 0 has 1.0000, -0.5000\n  gates: position 1 has 0.2500, 2.0000\n"));
  CHECK_THAT(text, Contains("  pooled: 1.5000, -2.5000\n"));
}

TEST_CASE("A plain row says of which head and which sentence it is") {
  const auto text = plain(
      [](attn::Trace& trace) {
        trace.label("query", {{{"Hi", "you"}, {"Bye", "<pad>"}}});
        trace.step({.id = "heads", .axes = {"head", "query", "d_v"}},
                   Tensor<4>(0.5 * xt::ones<double>({2, 2, 2, 1})));
      },
      true);
  CHECK_THAT(text, Contains("  heads, batch 0 * head 1: Hi has 0.5000\n"));
  CHECK_THAT(text, Contains("  heads, batch 1 * head 0: <pad> is padding, which nobody reads\n"));
}

TEST_CASE("Every number of a page is on the plain page") {
  const std::regex number("-?[0-9]+\\.[0-9]+");
  const auto numbers_in = [&](const std::string& text) {
    std::multiset<std::string> numbers;
    for (std::sregex_iterator match(text.begin(), text.end(), number), end; match != end; ++match)
      numbers.insert(match->str());
    return numbers;
  };
  const Lesson lesson = [](attn::Trace& trace) {
    trace.step({.id = "scores", .axes = {"head", "query", "key"}},
               Tensor<3>{{{0.125, -std::numeric_limits<double>::infinity()}, {2.5, -1e-9}},
                         {{7.75, 8.5}, {-9.25, 1.0}}});
    trace.step({.id = "entropy", .formula = "−Σ w ln w"}, 1.25);
    trace.claim({"theory", "within 4 standard errors", "x", 1.5, attn::at_most(4)});
  };
  const auto page = numbers_in(demo_page(lesson, {})), on_plain_page = numbers_in(plain(lesson));
  CHECK(page.size() == 9);
  CHECK(std::includes(on_plain_page.begin(), on_plain_page.end(), page.begin(), page.end()));
  CHECK_THAT(plain(lesson), Contains("-inf"));
}

TEST_CASE("A curve that has no table on the page has its numbers on the plain page") {
  const auto lesson = [](attn::Trace& trace) {
    trace.page({attn::without_table("loss")});
    trace.step({.id = "loss", .axes = {"step"}, .curve = true}, Tensor<1>{1.5, 0.25});
  };
  CHECK_THAT(plain(lesson), Contains("  loss: 1.5000, 0.2500\n"));
  CHECK_THAT(demo_page(lesson, {}), !Contains("1.5000, 0"));
}

TEST_CASE("A claim ends where the lines of a page do, however wide the word before it") {
  const auto text = plain([](attn::Trace& trace) {
    trace.claim({"sums", "rows sum to 1", "x", 0.0, attn::at_most(1e-12)});
    trace.claim({"broken", "it is at least 1", "x", 0.5, attn::at_least(1)});
  });
  std::smatch claim;
  for (const auto* start : {"  holds: ", "  does not hold: "}) {
    REQUIRE(std::regex_search(text, claim, std::regex(start + std::string(".*\n"))));
    CHECK(claim.length() == 81);
  }
}

TEST_CASE("The reader's own tokens stay as they are") {
  const auto text = plain([](attn::Trace& trace) {
    trace.label("key", {{{"Übergröße", "猫"}}});
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{0.25, 0.75}});
  });
  CHECK_THAT(text, Contains("  weights: query 0 looks at Übergröße 0.2500, 猫 0.7500\n"));
}

TEST_CASE("Signs of mathematics in ASCII") {
  CHECK(attn::in_ascii("Σⱼ w, Σⱼexp") == "sum_j w, sum_j exp");
  CHECK(attn::in_ascii("Q Kᵀ / √d_k") == "Q K^T / sqrt d_k");
  CHECK(attn::in_ascii("Σ_key exp, Σ output, √(x)") == "sum_key exp, sum output, sqrt(x)");
  CHECK(attn::in_ascii("f ∘ c") == "f * c");
  CHECK(attn::in_ascii("[head·d_v 2×3]") == "[head*d_v 2x3]");
  CHECK(attn::in_ascii("hₜ₋₁ → hₜ") == "h_(t-1) -> h_t");
  CHECK(attn::in_ascii("x² − 10⁻¹²") == "x^2 - 10^(-12)");
  CHECK(attn::in_ascii("xᵢ²") == "x_i^2");
  CHECK(attn::in_ascii("off by ≤ 1e-12 ≈ 0\n") == "off by <= 1e-12 ~ 0\n");
  CHECK(attn::in_ascii("") == "");
}
