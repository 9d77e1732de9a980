#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <regex>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/ops/softmax.hpp"
#include "page/html/markup.hpp"
#include "page/svg/svg.hpp"
#include "tests/documents/well_formed.hpp"
#include "tests/unit/known.hpp"
#include "trace/trace.hpp"

using attn::PictureStyle;
using attn::Tensor;
using attn::svg::Theme;
using Catch::Contains;

namespace {

/// What a lesson that shows such weights or curves is drawn as.
template <class Lesson>
std::string drawn(Lesson lesson, bool batched = false, const PictureStyle& style = {}) {
  attn::SvgRenderer renderer({.lesson = "self-attention", .title = "a title", .config = {}}, style);
  attn::Trace trace(renderer, {.batched = batched});
  lesson(trace);
  return renderer.finish();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The cells with such a paint.
std::size_t painted(const std::string& document, const std::string& paint) {
  std::size_t found = 0;
  for (auto at = document.find(paint + ">\n<path"); at != document.npos;
       at = document.find(paint + ">\n<path", at + 1))
    found += count(document.substr(at, document.find("</g>", at) - at), "<title>");
  return found;
}

/// Those of that place on the scale.
std::size_t painted(const std::string& document, double place) {
  return painted(document, attn::svg::paint_of_place(place));
}

std::size_t cells(const std::string& document) {
  return count(document, "<title>") - 1;
}

void show_weights(attn::Trace& trace, const Tensor<2>& weights) {
  trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, weights);
}

void show_heads(attn::Trace& trace, std::size_t heads, std::size_t tokens) {
  trace.step({.id = "weights", .axes = {"head", "query", "key"}, .distribution = true},
             Tensor<4>(xt::ones<double>({std::size_t{1}, heads, tokens, tokens})));
}

std::pair<double, double> size_of(const std::string& document) {
  std::smatch match;
  REQUIRE(std::regex_search(document, match, std::regex("width=\"([0-9.]+)\" height=\"([0-9.]+)\"")));
  return {std::stod(match[1]), std::stod(match[2])};
}

}  // namespace

TEST_CASE("documents that are not well formed are told from those that are") {
  CHECK(is_well_formed("<a b=\"1 &lt; 2 > 1\"><c/>&amp;</a>\n"));
  for (const auto* wrong :
       {"<a>\n", "<a></b>\n", "</a>\n", "<a b=\"1\"c=\"2\"/>\n", "<a b=1/>\n", "<a b=\"&\"/>\n",
        "<a>&nbsp;</a>\n", "<a <b/>/>\n", "<a b=\"1/>\n", "<a/>", "< a/>\n"})
    CHECK_FALSE(is_well_formed(wrong));
}

TEST_CASE("weights are drawn with their tokens, their values, what they are and a colour bar") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.label("key", {{{"le", "chat"}}});
    show_weights(trace, {{0.25, 0.75}, {1.0, 0.0}});
  });
  CHECK(is_well_formed(document));
  for (const auto* words :
       {">Who looks at whom</text>", "<desc>attnlab self-attention.", ">the<", ">cat<", ">le<", ">chat<",
        ">0.25<", ">0.75<", ">1.00<", ">query</text>", ">key →</text>", "A row: the share of each key."})
    CHECK_THAT(document, Contains(words));
  CHECK(cells(document) == 4);
  CHECK_THAT(document, !Contains(">0<") && !Contains(">0.00<"));
}

TEST_CASE("the panels of a picture have one scale, and each its caption") {
  const auto document = drawn([](attn::Trace& trace) {
    for (const auto* id : {"flat/weights", "sharp/weights"})
      trace.step({.id = id, .axes = {"query", "key"}, .distribution = true},
                 id[0] == 'f' ? Tensor<2>{{0.25, 0.75}, {0.5, 0.5}} : Tensor<2>{{0.0, 1.0}, {1.0, 0.0}});
  });
  for (const auto& [weight, times] :
       {std::pair<double, std::size_t>(0.25, 1), {0.75, 1}, {0.5, 2}, {0.0, 2}, {1.0, 2}})
    CHECK(painted(document, weight) == times);
  CHECK(count(document, ">flat</text>") == 1);
  CHECK(count(document, ">sharp</text>") == 1);
  CHECK(count(document, "A row: the share") == 1);
}

TEST_CASE("a scale ends at the largest share where all are small, or where that is asked for, and says so") {
  const auto lesson = [](double largest) {
    return [largest](attn::Trace& trace) { show_weights(trace, {{largest, 0.01}, {0.01, 0.01}}); };
  };
  const auto ends = [](double at) {
    return Contains("The scale ends at " + fmt::format("{:g}", at) + ", not at 1.");
  };
  CHECK_THAT(drawn(lesson(0.08)), ends(0.08));
  CHECK(painted(drawn(lesson(0.08)), 1.0) == 1);
  CHECK_THAT(drawn(lesson(0.6)), !Contains("not at 1"));
  CHECK_THAT(drawn(lesson(0.6), false, {.is_scale_largest = true}), ends(0.6));
  const auto to_1 = drawn(lesson(0.08), false, {.is_scale_largest = false});
  CHECK_THAT(to_1, !Contains("not at 1"));
  CHECK(painted(to_1, 0.08) == 1);
}

TEST_CASE("a matrix has blue cells above 0 and orange ones below, with numbers of a few digits") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.step({.id = "W_Q", .axes = {"d_model", "d_k"}}, Tensor<2>{{12.345, -20.0}, {0.0, 0.01}});
      },
      false, {.takes_all = true});
  CHECK(is_well_formed(document));
  for (const auto& [place, times] : {std::pair<double, std::size_t>(-1.0, 1), {0.0, 2}, {12.345 / 20.0, 1}})
    CHECK(painted(document, place) == times);
  for (const auto* words : {">12.3<", ">−20.0<", ">0<", "Blue is above 0"})
    CHECK_THAT(document, Contains(words));
  CHECK_THAT(document, !Contains(">0.0<"));
}

TEST_CASE("a picture has a title and a description") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.step({.id = "schedule", .title = "Up & down", .axes = {"step"}, .curve = true},
               Tensor<1>{1.0, 2.0});
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document,
             Contains("role=\"img\"") && Contains("<title>Up &amp; down</title>\n<desc>attnlab self-"));
}

TEST_CASE("every head of every sample has a panel of its own with its own tokens") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.label("key", {{{"a", "b"}, {"c", "<pad>"}}});
        trace.step({.id = "weights", .axes = {"head", "query", "key"}, .distribution = true},
                   Tensor<4>(xt::ones<double>({2, 3, 2, 2})));
      },
      true);
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("batch 1, head 2"));
  CHECK(count(document, ">c</text>") == 3);
  CHECK(count(document, ">&lt;pad&gt;</text>") == 3);
  CHECK(cells(document) == 24);
}

TEST_CASE("a head alone, and none that is not there") {
  const auto heads = [](attn::Trace& trace) { show_heads(trace, 3, 2); };
  const auto document = drawn(heads, false, {.head = 2});
  CHECK(cells(document) == 4);
  CHECK_THAT(document, Contains(">Who looks at whom, head 2<"));
  CHECK_THROWS_WITH(drawn(heads, false, {.head = 3}), "--head 3: there are 3 heads; valid: 0 to 2");
  CHECK_THROWS_WITH(drawn([](attn::Trace& trace) { show_weights(trace, {{1.0}}); }, false, {.head = 0}),
                    Contains("--head 0: nothing that is drawn here has heads"));
}

TEST_CASE("tokens cannot break out of the document") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("key", {{{"</text><script>", "\"&'\x1B[31m"}}});
    show_weights(trace, {{0.5, 0.5}});
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document, !Contains("<script"));
  CHECK_THAT(document, !Contains("\x1B"));
}

TEST_CASE("a long sentence is an image with ticks, and small") {
  const auto document = drawn([](attn::Trace& trace) {
    Tensor<2> weights(xt::ones<double>({512, 512}));
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights.data()[i] = static_cast<double>(i * 7919 % 1000) / 2e5;
    show_weights(trace, weights);
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("href=\"data:image/png;base64,iVBORw0KGgo") && Contains(">500</text>") &&
                           Contains("The scale ends at 0.005"));
  CHECK(cells(document) == 0);
  CHECK(document.size() < 1'000'000);
}

TEST_CASE("twenty words are a small document, without numbers") {
  const auto document = drawn([](attn::Trace& trace) {
    show_weights(trace, Tensor<2>(xt::ones<double>({20, 20}) * 0.3));
  });
  CHECK(document.size() < 60'000);
  CHECK_THAT(document, !Contains(">0.30<"));
}

TEST_CASE("numbers stand in cells where they are readable, or as they are asked for") {
  const auto words = [](std::size_t tokens) {
    return [tokens](attn::Trace& trace) {
      show_weights(trace, Tensor<2>(xt::ones<double>({tokens, tokens}) * 0.3));
    };
  };
  CHECK(count(drawn(words(5)), ">0.30<") == 25);
  CHECK(count(drawn(words(5), false, {.numbers = false}), ">0.30<") == 0);
  CHECK(count(drawn(words(30)), ">0.30<") == 0);
  CHECK(count(drawn(words(30), false, {.numbers = true}), ">.30<") == 900);
}

TEST_CASE("a curve is drawn as a line with its name, round ticks, and gaps where it is not finite") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("head", {{{"warm", "cold"}}});
    trace.step({.id = "schedule", .axes = {"head", "position"}, .curve = true},
               Tensor<2>{{1.03, 2.0, 2.97}, {1.0, std::nan(""), 3.0}});
  });
  CHECK(is_well_formed(document));
  CHECK(count(document, "class=\"attn-line\"") == 2);  // and one beside each name
  for (const auto* words : {">warm</text>", ">cold</text>", ">position</text>", ">2</text>", ">3</text>"})
    CHECK_THAT(document, Contains(words));
  CHECK_THAT(document, !Contains("nan"));
}

TEST_CASE("single curves over the same positions stand in one panel, each with its caption") {
  const auto lesson = [](attn::Trace& trace) {
    for (const auto* id : {"weight_raw", "weight_scaled"})
      trace.step({.id = id, .axes = {"d_k"}, .curve = true},
                 id[7] == 'r' ? Tensor<1>{0.4, 0.9} : Tensor<1>{0.4, 0.3});
  };
  const auto document =
      drawn(lesson, false, {.picture = {"two", {{"weight_raw", "raw"}, {"weight_s*", ""}}}});
  CHECK(count(document, ">d_k</text>") == 1);
  CHECK_THAT(document, Contains(">raw<") && Contains(">weight_scaled<"));
}

TEST_CASE("a head alone of curves") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.step({.id = "entropy", .axes = {"head", "layer"}, .curve = true},
                   Tensor<2>{{1.0, 2.0}, {3.0, 4.0}});
      },
      false, {.head = 1});
  CHECK_THAT(document, Contains(">head 1<") && !Contains(">head 0<"));
}

TEST_CASE("numbers and words that have no room are remarked on, and a larger picture has it") {
  const auto remarks = [](std::size_t tokens, const PictureStyle& style) {
    attn::SvgRenderer renderer({.lesson = "sdpa", .title = "", .config = {}}, style);
    attn::Trace trace(renderer, {.batched = false});
    std::vector<std::string> words(tokens, "word");
    trace.label("query", {{words}});
    trace.label("key", {{words}});
    show_weights(trace, Tensor<2>(xt::ones<double>({tokens, tokens}) * 0.1));
    renderer.finish();
    return renderer.remarks();
  };
  CHECK(remarks(30, {}).empty());
  CHECK_THAT(remarks(60, {}), Catch::VectorContains(std::string(
                                  "some words have no room; valid: fewer of them, or a larger --size")));
  CHECK(remarks(60, {.size = {{1300, 1300}}}).empty());
  CHECK(remarks(60, {.kind = &attn::svg::arcs}).size() == 1);
  CHECK(remarks(30, {.numbers = true}).empty());
  CHECK(remarks(50, {.numbers = true, .size = {{1300, 1300}}}).size() == 1);
}

TEST_CASE(
    "a mask is drawn with a dark cell where a query may see a key, hatched elsewhere, and with a legend") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.label("key", {{{"le", "chat"}}});
    trace.input({.id = "mask", .axes = {"query", "key"}}, attn::Mask<2>{{true, false}, {true, true}});
  });
  CHECK(is_well_formed(document));
  for (const auto* part :
       {"<title>the → le: seen</title>", "<title>cat → chat: seen</title>", ">may be seen<", ">hidden<"})
    CHECK_THAT(document, Contains(part));
  CHECK(painted(document, 1.0) == 3);
  CHECK(cells(document) == 3);
  CHECK_THAT(document, !Contains(">1.00<") && !Contains(">0.5</text>"));
}

TEST_CASE("a weight that a mask hides is hatched, without a number, and is no 0") {
  const auto document = drawn([](attn::Trace& trace) {
    const Tensor<2> scores{{0.0, -std::numeric_limits<double>::infinity()}, {0.0, -800.0}};
    trace.step({.id = "weights",
                .axes = {"query", "key"},
                .distribution = true,
                .worked = attn::worked_softmax(known("scores", scores), 2)},
               attn::softmax(scores));
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document,
             !Contains("<title>0 → 1:") && Contains("<title>1 → 1: 0</title>") && Contains(">hidden</text>"));
  CHECK(count(document, "class=\"attn-hatching\"") == 2);  // behind the cells, and in the legend
}

TEST_CASE("in a long row a weight of 0 behind a hidden key is no hidden one") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        Tensor<2> scores(xt::zeros<double>({1, 100}));
        scores(0, 1) = -std::numeric_limits<double>::infinity();
        scores(0, 2) = -800.0;
        trace.step({.id = "weights",
                    .axes = {"query", "key"},
                    .distribution = true,
                    .worked = attn::worked_softmax(known("scores", scores), 100)},
                   attn::softmax(scores));
      },
      false, {.kind = &attn::svg::heatmap});
  CHECK_THAT(document, Contains("→ 2: 0</title>"));
  CHECK_THAT(document, !Contains("→ 1: 0</title>"));
}

TEST_CASE("what is no number has a colour of its own, and the legend says so") {
  const auto document = drawn([](attn::Trace& trace) {
    show_weights(trace, {{std::nan(""), 1.0}, {0.5, 0.5}});
  });
  CHECK(cells(document) == 4);
  CHECK(painted(document, attn::svg::paint_of_mark()) == 1);
  CHECK_THAT(document, Contains(">nan: not a number</text>") && Contains(">nan</text>"));
}

TEST_CASE("truth values that are no mask are not drawn") {
  const auto document = drawn([](attn::Trace& trace) {
    show_weights(trace, {{1.0}});
    trace.input({.id = "kept", .axes = {"token", "d_model"}}, attn::Mask<2>{{true, false}});
  });
  CHECK_THAT(document, !Contains("kept"));
}

TEST_CASE("the lesson's picture is what it names, in that order") {
  const auto lesson = [](attn::Trace& trace) {
    for (const auto* id : {"a/weights", "b/weights", "c/weights"})
      trace.step({.id = id, .axes = {"query", "key"}, .distribution = true},
                 Tensor<2>{{0.5, 0.5}, {0.5, 0.5}});
  };
  const PictureStyle style{.picture = {"two", {{"c/*", "third"}, {"a/weights", ""}}}};
  const auto document = drawn(lesson, false, style);
  CHECK(cells(document) == 8);
  CHECK_THAT(document, Contains("<title>Two</title>"));
  CHECK(document.find(">third<") < document.find(">a<"));
  CHECK(cells(drawn(lesson, false, {.picture = {"none of these", {{"d/weights", ""}}}})) == 12);
}

TEST_CASE("the note on the picture has its title") {
  const auto lesson = [](attn::Trace& trace) {
    show_weights(trace, {{0.5, 0.5}, {1.0, 0.0}});
    trace.picture("seen", "Row 1 looks back: 1.00", "", "");
  };
  const attn::Picture picture = {"one", {{"weights", ""}}};
  CHECK_THAT(drawn(lesson, false, {.picture = picture}), Contains("<title>Row 1 looks back: 1.00</title>"));
  CHECK_THAT(drawn(lesson, false, {.picture = picture, .title = "mine"}), Contains("<title>mine</title>"));
  CHECK_THAT(drawn(lesson, false, {.picture = {"none", {{"Q", ""}}}}), !Contains("looks back"));
}

TEST_CASE("a few rows of much larger numbers do not make the others pale") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.step({.id = "X", .axes = {"token", "d_model"}},
                   Tensor<2>{{-1.0}, {2.0}, {-2.0}, {2.0}, {2.0}, {-2.0}, {2.0}, {2.0}, {50.0}, {50.0}});
      },
      false, {.takes_all = true, .numbers = false});
  CHECK(painted(document, -0.5) == 1);
  CHECK(painted(document, 1.0) == 7);
  CHECK(painted(document, -1.0) == 2);
  CHECK_THAT(document, Contains(">2 and more</text>"));
}

TEST_CASE("the lesson's own picture says what is to be seen in it, and another one does not") {
  const auto lesson = [](attn::Trace& trace) {
    show_weights(trace, {{0.5, 0.5}, {1.0, 0.0}});
    trace.picture("seen", "In the picture", "Row 1 looks\nback.", "");
  };
  const attn::Picture picture = {"one", {{"weights", ""}}};
  CHECK(count(drawn(lesson, false, {.picture = picture}), "Row 1 looks back.") == 2);
  for (const auto& other :
       {PictureStyle{.kind = &attn::svg::arcs, .picture = picture},
        PictureStyle{.picture = picture, .takes_all = true},
        PictureStyle{.picture = picture, .title = "mine"}, PictureStyle{.picture = {"none", {{"Q", ""}}}}})
    CHECK(count(drawn(lesson, false, other), "Row 1") == 0);
}

TEST_CASE(
    "the fence of the lesson's picture points at rows, cells, columns, bars, lines, points and values") {
  const auto pointing = [](const std::string& marks, std::vector<attn::Picture::Part> parts) {
    attn::SvgRenderer renderer({.lesson = "self-attention", .title = "a title", .config = {}},
                               {.picture = {"one", std::move(parts)}});
    attn::Trace trace(renderer, {.batched = false});
    show_heads(trace, 2, 2);
    trace.step({.id = "shares", .axes = {"class"}, .distribution = true}, Tensor<1>{0.9, 0.1});
    trace.step({.id = "losses", .axes = {"training", "step"}, .curve = true},
               Tensor<2>{{2.0, 1.0}, {3.0, 0.5}});
    trace.picture("seen", "In the picture", "Seen.", marks);
    auto document = renderer.finish();
    CHECK(is_well_formed(document));
    return std::pair(std::move(document), renderer.remarks());
  };
  const std::string frame = "class=\"attn-frame\"", mark = "attn-mark\"";
  const auto framed = [&](const std::string& marks, const std::string& id = "weights") {
    const auto [document, remarks] = pointing(marks, {{id, ""}});
    CHECK(remarks.empty());
    return std::pair(count(document, frame), count(document, mark));
  };
  CHECK(framed("") == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(framed("weights[*, 1]: new") == std::pair<std::size_t, std::size_t>(2, 3));
  CHECK(framed("weights[*, 0, -1]:\n\nweights[1, *, 0]: here") == std::pair<std::size_t, std::size_t>(3, 1));
  CHECK(framed("weights[0, 1]:\nweights[1, *, 0]:") == std::pair<std::size_t, std::size_t>(2, 1));
  CHECK(framed("weights[1, 0..1]: all") == std::pair<std::size_t, std::size_t>(1, 1));
  CHECK(framed("weights[1, 0..-1]: all") == std::pair<std::size_t, std::size_t>(1, 1));
  CHECK(framed("losses[1]: n²", "losses") == std::pair<std::size_t, std::size_t>(0, 0));
  CHECK(framed("shares[-1]: rare", "shares") == std::pair<std::size_t, std::size_t>(0, 2));
  const auto [curves, none] =
      pointing("losses[0, 1]: low\nlosses[*, 0]: start\nlosses = 2.5: guess", {{"losses", ""}});
  CHECK(count(curves, "class=\"attn-point\"") == 1);
  CHECK(count(curves, "class=\"attn-guide\"") == 2);
  CHECK(count(curves, mark) == 3);
  CHECK(none.empty());
  CHECK_THAT(pointing("shares: of each class", {{"shares", ""}}).first, Contains(">of each class</text>"));
  for (const std::string wrong :
       {"shares[2]: third", "Shares[0]: none", "shares[0, 0]: deep", "shares[0..2]: many"})
    CHECK(pointing(wrong, {{"shares", ""}}).second ==
          std::vector{"the picture has no place for \"" + wrong + "\""});
  CHECK_THROWS_WITH(pointing("shares[rare]: word", {{"shares", ""}}),
                    Contains("\"rare\"") && Contains("0, 2"));
}

TEST_CASE("three tables of one size, whose numbers are not, have a scale each, and words stand for an id") {
  const auto lesson = [](attn::Trace& trace) {
    trace.step({.id = "x", .axes = {"query", "key"}}, Tensor<2>{{1000.0, 500.0}});
    trace.step({.id = "p/x", .axes = {"query", "key"}}, Tensor<2>{{4.0, 1.0}});
    trace.step({.id = "q/x", .axes = {"query", "key"}}, Tensor<2>{{0.02, INFINITY}});
    trace.picture("seen", "In the picture", "Seen.", "p/x: the middle\n");
  };
  const auto document =
      drawn(lesson, false,
            {.picture = {"one", {{"x", "", "heatmap"}, {"p/x", "", "heatmap"}, {"q/x", "", "heatmap"}}}});
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("Each table has a scale of its own.") && Contains(">the middle</text>") &&
                           !Contains(">p/x</text>") && Contains(">∞</text>"));
  CHECK(painted(document, 1.0) == 3);
}

TEST_CASE("tables of which each has what the others have not are one, with a colour for each") {
  const double none = -std::numeric_limits<double>::infinity();
  const auto document = drawn(
      [&](attn::Trace& trace) {
        trace.step({.id = "hop=0/scores", .axes = {"query", "key"}}, Tensor<2>{{1.0, none}, {none, 4.0}});
        trace.step({.id = "hop=1/scores", .axes = {"query", "key"}}, Tensor<2>{{none, 2.0}, {3.0, none}});
      },
      false, {.picture = {"one", {{"hop=*/scores", "", "together"}}}});
  CHECK(is_well_formed(document));
  CHECK(cells(document) == 4);
  for (const auto* hop : {">hop 0</text>", ">hop 1</text>"}) CHECK(count(document, hop) == 2);
  CHECK_THAT(document, !Contains("no number"));
  for (const std::size_t part : {0, 1}) CHECK(painted(document, attn::svg::paint_of_part(part)) == 2);
}

TEST_CASE("columns that are called as the parts of such a table have their colours") {
  const double none = -std::numeric_limits<double>::infinity();
  const auto document = drawn(
      [&](attn::Trace& trace) {
        trace.step({.id = "hop=0/scores", .axes = {"query", "key"}}, Tensor<2>{{1.0, none}, {none, 4.0}});
        trace.step({.id = "hop=1/scores", .axes = {"query", "key"}}, Tensor<2>{{none, 2.0}, {3.0, none}});
        trace.label("hop", {{{"hop 0", "hop 1"}}});
        trace.step({.id = "holds", .axes = {"rank", "hop"}}, Tensor<2>{{0.0, 1.0}, {1.0, 0.0}, {5.0, 5.0}});
      },
      false, {.picture = {"one", {{"hop=*/scores", "", "together"}, {"holds", "whose keys", "heatmap"}}}});
  for (const std::size_t part : {0, 1}) CHECK(painted(document, attn::svg::paint_of_part(part)) == 2 + 3);
}

TEST_CASE("queries of one sentence and keys of another are called target and source") {
  const auto axes = [](const std::vector<std::string>& keys) {
    attn::SvgRenderer renderer({.lesson = "cross-attention",
                                .title = "",
                                .config = {{"target", std::vector<std::string>{"le chat"}}}});
    attn::Trace trace(renderer, {.batched = false});
    trace.label("query", {{{"le", "chat"}}});
    trace.label("key", {{keys}});
    show_weights(trace, {{0.5, 0.5}, {1.0, 0.0}});
    return renderer.finish();
  };
  CHECK_THAT(axes({"the", "cat"}), Contains(">target<") && Contains(">source →<"));
  CHECK_THAT(axes({"le", "chat"}), Contains(">query<") && Contains(">key →<"));
}

TEST_CASE("rows of red, green and blue are patches of that colour") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.step({.id = "values", .axes = {"key", "d_v"}}, Tensor<2>{{1.0, 0.0, 0.0}, {0.0, 0.2, 2.0}});
      },
      false, {.picture = {"one", {{"values", "", "colours"}}}});
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("\"#ff0000\"") && Contains("\"#0033ff\"") && Contains(">0.00, 0.20, 1.00<"));
}

TEST_CASE("a palette gives bars their colours and is no panel, and | begins a column") {
  const auto lesson = [](attn::Trace& trace) {
    trace.label("key", {{{"red", "blue"}}});
    trace.step({.id = "values", .axes = {"key", "d_v"}}, Tensor<2>{{1.0, 0.0, 0.0}, {0.0, 0.0, 1.0}});
    for (const auto* id : {"hot/shares", "cold/shares"})
      trace.step({.id = id, .axes = {"key"}, .distribution = true}, Tensor<1>{0.75, 0.25});
  };
  const std::vector<attn::Picture::Part> parts = {
      {"values", "", "palette"}, {"hot/shares", "hot"}, {"cold/shares", "cold", "", {}, true}};
  const auto document = drawn(lesson, false, {.picture = {"two", parts}});
  CHECK(is_well_formed(document));
  for (const auto* colour : {"\"#ff0000\"", "\"#0000ff\""}) CHECK(count(document, colour) == 2);
  CHECK_THAT(document, !Contains(">values<"));
  const std::string explanation = "A row: the share of each key.";
  CHECK(count(document, explanation) == 2);  // of each column
  auto in_one = parts;
  in_one[2].begins_column = false;
  CHECK(count(drawn(lesson, false, {.picture = {"two", in_one}}), explanation) == 1);
}

TEST_CASE("bars stand upright above their names, and have the colour of the line of that caption") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.label("key", {{{"a-rather-long-name", "cat"}}});
        trace.step({.id = "weights", .axes = {"key"}, .distribution = true}, Tensor<1>{0.75, 0.25});
        for (const auto* id : {"first", "second"})
          trace.step({.id = id, .axes = {"step"}, .curve = true}, Tensor<1>{2.0, 1.0});
      },
      false,
      {.picture = {"bars and lines",
                   {{"weights", "slow"}, {"first", "quick", "lines"}, {"second", "slow", "lines"}}}});
  CHECK(is_well_formed(document));
  const std::regex bar("width=\"([0-9.]+)\" height=\"([0-9.]+)\" " + attn::svg::paint_of_line(1));
  std::vector<std::pair<double, double>> bars;
  for (std::sregex_iterator match(document.begin(), document.end(), bar), end; match != end; ++match)
    bars.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  REQUIRE(bars.size() == 2);
  CHECK(bars[0].first == bars[1].first);
  CHECK(bars[0].second == Approx(3 * bars[1].second).margin(0.2));
  CHECK(std::regex_search(document, std::regex("rotate\\(-45[^>]*>a-rather-long-name<")));
}

TEST_CASE("stacks are one panel with a bar for each step, whose shares stand side by side") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        trace.label("key", {{{"the", "cat"}}});
        for (const auto* id : {"dot/weights", "general/weights"})
          trace.step({.id = id, .axes = {"query", "key"}, .distribution = true},
                     id[0] == 'd' ? Tensor<2>{{0.25, 0.75}} : Tensor<2>{{0.6, 0.4}});
        trace.picture("seen", "", "", "dot/weights: q · k\ndot/weights[0, 1]:");
      },
      false, {.picture = {"two", {{"dot/weights", "", "stacks"}, {"general/weights", "", "stacks"}}}});
  CHECK(is_well_formed(document));
  for (const auto* words : {">dot</text>", ">general</text>", ">q · k</text>"})
    CHECK_THAT(document, Contains(words));
  CHECK(count(document, ">cat</text>") == 1);
  CHECK(count(document, "<g " + attn::svg::paint_of_place(0.85)) == 1);
  const std::regex width("width=\"([0-9.]+)\" height=\"[0-9.]+\" />");
  std::vector<double> widths;
  for (std::sregex_iterator match(document.begin(), document.end(), width), end; match != end; ++match)
    widths.push_back(std::stod((*match)[1]));
  REQUIRE(widths.size() == 4);
  CHECK(widths[1] == Approx(3 * widths[0]).margin(0.2));
  CHECK(widths[0] + widths[1] == Approx(widths[2] + widths[3]).margin(0.2));
}

TEST_CASE("arcs are as thick as the share, and of nothing but attention") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        show_weights(trace, {{0.8, 0.2}, {1.0, 0.0}});
      },
      false, {.kind = &attn::svg::arcs});
  CHECK(is_well_formed(document));
  CHECK(cells(document) == 6);  // three in the legend
  for (const auto* width : {"2.5", "8.1", "10.0"})
    CHECK_THAT(document, Contains(fmt::format("stroke-width=\"{}\"", width)));
  CHECK_THROWS_WITH(drawn(
                        [](attn::Trace& trace) {
                          trace.step({.id = "Q", .axes = {"query", "d_k"}}, Tensor<2>{{1.0}});
                        },
                        false, {.kind = &attn::svg::arcs, .takes_all = true}),
                    Contains("--picture arcs") && Contains("Q is [query 1 × d_k 1]"));
}

TEST_CASE("of very many shares the largest have arcs, and the legend says so") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        Tensor<2> weights(xt::zeros<double>({100, 100}));
        for (std::size_t i = 0; i < weights.size(); ++i)
          weights.data()[i] = static_cast<double>(i * 7919 % 10000) / 1e4;
        show_weights(trace, weights);
      },
      false, {.kind = &attn::svg::arcs});
  CHECK(cells(document) == 203);  // three in the legend
  CHECK_THAT(document, Contains(">the 200 largest shares<"));
}

TEST_CASE("a row is drawn as bars, of many shares the largest") {
  const auto document = drawn([](attn::Trace& trace) {
    std::vector<std::string> words;
    Tensor<1> shares(xt::zeros<double>({20}));
    for (std::size_t i = 0; i < 20; ++i)
      words.push_back("w" + std::to_string(i)), shares[i] = 0.02 + 0.003 * static_cast<double>(i);
    trace.label("vocabulary", {{words}});
    trace.step({.id = "probabilities", .axes = {"vocabulary"}, .distribution = true}, shares);
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document,
             Contains(">w19<") && Contains(">w8<") && !Contains(">w7<") && Contains("the 12 largest of 20"));
}

TEST_CASE("panels stand in a grid that fills the picture") {
  const auto [one_wide, one_high] = size_of(drawn([](attn::Trace& trace) { show_heads(trace, 1, 5); }));
  const auto [two_wide, two_high] = size_of(drawn([](attn::Trace& trace) { show_heads(trace, 2, 5); }));
  CHECK(one_wide <= two_wide);
  CHECK(two_high < 1.1 * one_high);
  for (const std::size_t heads : {8, 12, 48}) {
    const auto [width, height] = size_of(drawn([&](attn::Trace& trace) { show_heads(trace, heads, 10); }));
    INFO(heads << " heads");
    CHECK(width < 1100);
    CHECK(height < 1000);
  }
}

TEST_CASE("a width alone leaves the height to the picture") {
  const auto [width, height] = size_of(drawn([](attn::Trace& trace) { show_heads(trace, 2, 5); }));
  const auto lesson = [](attn::Trace& trace) { show_heads(trace, 2, 5); };
  CHECK(size_of(drawn(lesson, false, {.size = {{680}}})).second == Approx(680 * height / width).margin(0.1));
}

TEST_CASE("a size is that of the whole picture, which keeps its proportions") {
  const auto document =
      drawn([](attn::Trace& trace) { show_weights(trace, {{1.0}}); }, false, {.size = {{1920, 1080}}});
  CHECK(size_of(document) == std::pair(1920.0, 1080.0));
  std::smatch box;
  REQUIRE(std::regex_search(document, box, std::regex("viewBox=\"\\S+ \\S+ (\\S+) (\\S+)\"")));
  CHECK(std::stod(box[1]) / std::stod(box[2]) == Approx(1920.0 / 1080.0).epsilon(0.001));
}

TEST_CASE("a bare picture has its labels and nothing else to read") {
  const auto document = drawn(
      [](attn::Trace& trace) {
        show_weights(trace, {{1.0, 0.0}, {0.5, 0.5}});
      },
      false, {.is_bare = true});
  CHECK_THAT(document, Contains(">key →</text>") && !Contains(">a title</text>") && !Contains(">A row:"));
}

TEST_CASE("a trace without weights and curves is refused, with what could be drawn") {
  CHECK_THROWS_WITH(drawn([](attn::Trace& trace) {
                      trace.step({.id = "Q", .axes = {"query", "d_k"}}, Tensor<2>{{1.0}});
                    }),
                    Contains("--steps") && Contains(": Q"));
}

TEST_CASE("a picture fetches nothing and runs nothing") {
  const auto document = drawn([](attn::Trace& trace) { show_weights(trace, {{1.0}}); });
  for (const auto* forbidden : {"<script", "href", "url(", "@import", "<image", "<foreignObject"})
    CHECK_THAT(document, !Contains(forbidden));
}

TEST_CASE("every rule of a picture is of its own classes, so that no page around it changes") {
  const auto document = drawn([](attn::Trace& trace) { show_weights(trace, {{1.0}}); }, false,
                              {.theme = attn::PictureTheme::automatic});
  const auto begin = document.find("<style>") + 7;
  auto sheet = document.substr(begin, document.find("</style>") - begin);
  sheet = std::regex_replace(sheet, std::regex("@media\\([^)]*\\)\\{"), "");
  std::size_t rules = 0;
  const std::regex rule("\\s*([^{}]+)\\{[^{}]*\\}");
  for (std::sregex_iterator match(sheet.begin(), sheet.end(), rule), end; match != end; ++match, ++rules)
    CHECK_THAT((*match)[1].str(), Catch::StartsWith(".attn-"));
  CHECK(rules > 10);
  const std::regex name("class=\"([^\"]*)\"");
  for (std::sregex_iterator match(document.begin(), document.end(), name), end; match != end; ++match)
    CHECK_THAT((*match)[1].str(), Catch::StartsWith("attn-"));
}

TEST_CASE("a picture is light, dark, or both for the reader's scheme to choose from") {
  const auto with = [](attn::PictureTheme theme) {
    return drawn([](attn::Trace& trace) { show_weights(trace, {{1.0}}); }, false, {.theme = theme});
  };
  using enum attn::PictureTheme;
  for (const auto& [picture, name] : {std::pair(with(light), "light"), {with(dark), "dark"}})
    CHECK_THAT(picture, Contains(fmt::format("class=\"attn-picture attn-{}\"", name)) &&
                            Contains(fmt::format(".attn-{} text{{", name)) &&
                            !Contains("prefers-color-scheme"));
  CHECK_THAT(with(automatic),
             Contains("class=\"attn-picture attn-auto\"") && Contains("prefers-color-scheme"));
  const auto cell = "{fill:" + attn::svg::hex(attn::svg::shade(Theme::dark, 1.0));
  CHECK_THAT(with(dark), Contains(".attn-dark .attn-shade32" + cell));
  CHECK_THAT(with(automatic), Contains(".attn-auto .attn-shade32" + cell));
  CHECK_THAT(with(light), !Contains(cell));
}

TEST_CASE("what is written can be read on every colour") {
  using namespace attn::svg;
  for (const auto theme : {Theme::light, Theme::dark}) {
    for (int i = -100; i <= 100; ++i) {
      const auto colour = shade(theme, i / 100.0);
      INFO(i / 100.0 << " is " << hex(colour));
      CHECK(contrast(ink_on(colour), colour) >= 4.5);
    }
    const auto& [paper, ink, muted, rule, mark] = palette(theme);
    CHECK(contrast(ink, paper) >= 7.0);
    CHECK(contrast(muted, paper) >= 4.5);
    CHECK(contrast(mark, paper) >= 4.5);
    CHECK(contrast(ink_on(mark), mark) >= 4.5);
  }
}

TEST_CASE("blue and orange of one size are told apart with every kind of colour blindness") {
  using namespace attn::svg;
  // Of those who lack the long, the middle or the short wave receptor (Viénot, Brettel and Mollon 1999,
  // linear RGB).
  const double lacking[3][3][3] = {{{0.112, 0.888, 0.0}, {0.112, 0.888, 0.0}, {0.004, -0.004, 1.0}},
                                   {{0.292, 0.708, 0.0}, {0.292, 0.708, 0.0}, {-0.022, 0.022, 1.0}},
                                   {{1.0, 0.144, -0.144}, {0.0, 0.859, 0.141}, {0.0, 0.859, 0.141}}};
  for (const auto theme : {Theme::light, Theme::dark})
    for (const double place : {0.3, 0.5, 0.75}) {
      const auto above = shade(theme, place), below = shade(theme, -place);
      for (const auto& seen : lacking) {
        double distance = 0.0;
        for (const auto& row : seen) {
          const double part = row[0] * (above.red - below.red) + row[1] * (above.green - below.green) +
                              row[2] * (above.blue - below.blue);
          distance += part * part;
        }
        INFO(place);
        CHECK(std::sqrt(distance) > 40.0);
      }
    }
}

TEST_CASE("shaded cells of a page of HTML have the colours of pictures") {
  using namespace attn::svg;
  const std::string sheet(attn::html::style_sheet());
  for (const auto theme : {Theme::light, Theme::dark})
    for (const auto& [name, levels, sign] : {std::tuple('s', 10, 1), {'p', 8, 1}, {'n', 8, -1}})
      for (int level = 1; level <= levels; ++level) {
        const auto colour = shade(theme, sign * static_cast<double>(level) / levels);
        CHECK_THAT(sheet, Contains(std::string(".") + name + std::to_string(level) + " { background: " +
                                   hex(colour) + "; color: " + hex(ink_on(colour)) + "; }"));
      }
}

TEST_CASE("a token that XML does not allow is replaced") {
  const auto document = drawn([](attn::Trace& trace) {
    trace.label("key", {{{"a\xEF\xBF\xBE", "\xEF\xBF\xBF\xEF\xBF\xBF"}}});
    show_weights(trace, {{0.25, 0.75}});
  });
  CHECK(is_well_formed(document));
  CHECK_THAT(document, Contains("a\xEF\xBF\xBD") && !Contains("\xEF\xBF\xBE") && !Contains("\xEF\xBF\xBF"));
}
