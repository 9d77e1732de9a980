#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <regex>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/softmax.hpp"
#include "page/svg/svg.hpp"
#include "tests/documents/well_formed.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

/// What a lesson that shows such weights or curves is drawn as.
template <class Lesson>
std::string drawn(Lesson lesson, bool batched = false) {
  attn::SvgRenderer renderer({.lesson = "self-attention", .title = "a title", .config = {}});
  attn::Trace trace(renderer, {.batched = batched});
  lesson(trace);
  return renderer.finish();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("weights are drawn with their tokens, their values and a colour bar") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.label("key", {{{"le", "chat"}}});
    trace.step(
        {.id = "weights", .formula = "softmax(scaled)", .axes = {"query", "key"}, .distribution = true},
        Tensor<2>{{0.25, 0.75}, {1.0, 0.0}});
  });
  CHECK(is_well_formed(document));
  for (const auto* word : {">the<", ">cat<", ">le<", ">chat<", ">0.25<", ">0.75<", ">1.00<",
                           "weights = softmax(scaled)", ">query</text>", ">key</text>", ">0.5</text>"})
    CHECK_THAT(document, Contains(word));
  CHECK(count(document, "class=\"cell\"") == 4);
}

TEST_CASE("every heatmap is coloured on one scale from 0 to 1, and the picture says so") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "flat", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{0.25, 0.125}});
    trace.step({.id = "sharp", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{0.0, 1.0}});
  });
  for (const double weight : {0.25, 0.125, 0.0, 1.0})
    CHECK_THAT(document, Contains("fill=\"" + attn::svg::shade(weight) + "\" class=\"cell\""));
  CHECK(count(document, "weight: one scale from 0 to 1 in all pictures") == 2);
}

TEST_CASE("a picture and each of its figures has a title and a description") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "weights", .title = "Shares", .axes = {"query", "key"}, .distribution = true},
               Tensor<2>{{0.25, 0.75}});
    trace.step({.id = "schedule", .title = "Up & down", .axes = {"step"}, .curve = true},
               Tensor<1>{1.0, 2.0});
  });
  CHECK(is_well_formed(document));
  for (const auto* part :
       {"<title>self-attention: a title</title>\n<desc>Pictures of a run",
        "<title>Shares</title>\n<desc>A heatmap of weights: a row for each query, a column for "
        "each key.</desc>",
        "<title>Up &amp; down</title>\n<desc>A plot of schedule over step.</desc>"})
    CHECK_THAT(document, Contains(part));
}

TEST_CASE("every head of every sample has a heatmap of its own with its own tokens") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.label("key", {{{"a", "b"}, {"c", "<pad>"}}});
        trace.step({.id = "weights", .axes = {"head", "query", "key"}, .distribution = true},
                   Tensor<4>(xt::ones<double>({2, 3, 2, 2})));
      },
      true);
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("batch 1 · head 2"));
  CHECK(count(document, ">c</text>") == 3);
  CHECK(count(document, ">&lt;pad&gt;</text>") == 3);
  CHECK(count(document, "class=\"cell\"") == 24);
}

TEST_CASE("tokens cannot break out of the document") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("key", {{{"</text><script>", "\"&'\x1B[31m"}}});
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{0.5, 0.5}});
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document, !Contains("<script"));
  CHECK_THAT(document, !Contains("\x1B"));
}

TEST_CASE("of a long sentence the first hundred tokens are drawn, and it says so") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true},
               Tensor<2>(xt::ones<double>({3, 200})));
  });
  CHECK(count(document, "class=\"cell\"") == 300);
  CHECK_THAT(document, Contains("first 100 tokens"));
}

TEST_CASE("a curve is drawn as a line with its name, with gaps where it is not finite") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("head", {{{"warm", "cold"}}});
    trace.step({.id = "schedule", .axes = {"head", "position"}, .curve = true},
               Tensor<2>{{1.0, 2.0, 3.0}, {1.0, std::nan(""), 3.0}});
  });
  CHECK(is_well_formed(document));
  CHECK(count(document, "<path") == 2);
  CHECK_THAT(document, Contains("head warm"));
  CHECK_THAT(document, !Contains("nan"));
}

TEST_CASE(
    "a mask is drawn with a dark cell where a query may see a key, without numbers, and with a legend") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.label("key", {{{"le", "chat"}}});
    trace.input({.id = "mask", .axes = {"query", "key"}}, attn::Mask<2>{{true, false}, {true, true}});
  });
  CHECK(is_well_formed(document));
  for (const auto* part : {"<title>the → le: seen</title>", "<title>the → chat: hidden</title>",
                           "<title>cat → chat: seen</title>", ">may be seen<", ">hidden<"})
    CHECK_THAT(document, Contains(part));
  CHECK(count(document, "fill=\"" + attn::svg::shade(1.0) + "\" class=\"cell\"") == 3);
  CHECK(count(document, "fill=\"" + attn::svg::shade(0.0) + "\" class=\"cell\"") == 1);
  CHECK_THAT(document, !Contains(">1.00<") && !Contains("one scale from 0 to 1 in all pictures"));
}

TEST_CASE("a weight that a mask hides is hatched, without a number, and is no 0") {
  const auto document = drawn([](attn::Trace& trace) {
    const Tensor<2> scores{{0.0, -std::numeric_limits<double>::infinity()}, {0.0, -800.0}};
    trace.step({.id = "weights",
                .axes = {"query", "key"},
                .distribution = true,
                .worked = attn::worked_softmax(attn::Known<2>{"scores", scores}, 2)},
               attn::softmax(scores));
  });
  CHECK(is_well_formed(document));
  CHECK(count(document, "class=\"hidden\"") == 2);  // and one of the legend
  CHECK_THAT(document, Contains("<title>0 → 1: hidden</title>") && Contains("<title>1 → 1: 0.0000</title>") &&
                           Contains(">hidden</text>"));
  CHECK(count(document, ">0.00</text>") == 1);
}

TEST_CASE("truth values that are no mask are not drawn") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{1.0}});
    trace.input({.id = "kept", .axes = {"token", "d_model"}}, attn::Mask<2>{{true, false}});
  });
  CHECK_THAT(document, !Contains("kept"));
}

namespace {

/// Where the figures of a document stand, in order: those outermost in the drawing.
std::vector<std::pair<double, double>> places_of_figures(const std::string& document) {
  const std::regex figure("<g transform=\"translate\\(([0-9.]+) ([0-9.]+)\\)\">\n<title>");
  std::vector<std::pair<double, double>> places;
  for (std::sregex_iterator match(document.begin(), document.end(), figure), end; match != end; ++match)
    places.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  return places;
}

std::string figures_of(std::size_t count, std::size_t tokens) {
  return drawn([&](attn::Trace& trace) {
    for (std::size_t i = 0; i < count; ++i)
      trace.step({.id = "w" + std::to_string(i), .axes = {"query", "key"}, .distribution = true},
                 Tensor<2>(xt::ones<double>({tokens, tokens})));
  });
}

}  // namespace

TEST_CASE("narrow figures stand side by side, and a new row begins where the next one has no room") {
  const auto narrow = places_of_figures(figures_of(9, 4));
  REQUIRE(narrow.size() == 9);
  CHECK(narrow[0].second == narrow[1].second);
  CHECK(narrow[0].first < narrow[1].first);
  std::size_t in_first_row = 0;
  for (const auto& place : narrow) in_first_row += place.second == narrow[0].second ? 1U : 0U;
  REQUIRE(in_first_row < narrow.size());
  CHECK(narrow[in_first_row].first == narrow[0].first);
  CHECK(narrow[in_first_row].second > narrow[0].second);

  const auto wide = places_of_figures(figures_of(2, 70));
  REQUIRE(wide.size() == 2);
  CHECK(wide[0].first == wide[1].first);
  CHECK(wide[0].second < wide[1].second);
}

TEST_CASE("the document is as wide as its widest row and as high as its rows together") {
  const auto size_of = [](const std::string& document) {
    std::smatch match;
    REQUIRE(std::regex_search(document, match, std::regex("width=\"([0-9]+)\" height=\"([0-9]+)\"")));
    return std::pair(std::stod(match[1]), std::stod(match[2]));
  };
  const auto [one_wide, one_high] = size_of(figures_of(1, 4));
  const auto [two_wide, two_high] = size_of(figures_of(2, 4));
  CHECK(two_wide > one_wide);
  CHECK(two_high == one_high);
  CHECK(size_of(figures_of(9, 4)).second > one_high);
}

TEST_CASE("a trace without weights and curves is refused") {
  CHECK_THROWS_AS(drawn([](attn::Trace& trace) {
                    trace.step({.id = "Q", .axes = {"query", "d_k"}}, Tensor<2>{{1.0}});
                  }),
                  attn::Error);
}

TEST_CASE("a picture fetches nothing and runs nothing") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{1.0}});
  });
  for (const auto* forbidden : {"<script", "href", "url(", "@import", "<image", "<foreignObject"})
    CHECK_THAT(document, !Contains(forbidden));
}

TEST_CASE("a token that XML does not allow is replaced") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("key", {{{"a\xEF\xBF\xBE", "\xEF\xBF\xBF\xEF\xBF\xBF"}}});
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, Tensor<2>{{0.25, 0.75}});
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("a\xEF\xBF\xBD") && !Contains("\xEF\xBF\xBE") && !Contains("\xEF\xBF\xBF"));
}
