#include "page/html/html.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/ops/matmul.hpp"
#include "page/html/markup.hpp"
#include "tests/documents/xml.hpp"
#include "tests/unit/known.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
using Catch::Contains;

namespace {

/// The page of a lesson that shows these events.
template <class Lesson>
std::string page_of(Lesson lesson, attn::PageStyle style = {}) {
  attn::HtmlRenderer renderer({.lesson = "sdpa", .title = "a title", .config = {}}, style);
  attn::Trace trace(renderer, {});
  lesson(trace);
  return renderer.finish();
}

std::vector<std::string> texts_of(const std::string& document, std::string_view name) {
  std::vector<std::string> texts;
  for (const auto& element : elements_of(document, name)) texts.push_back(element.text);
  return texts;
}

std::string drawn(const std::string& diagram) {
  return attn::html::flow_drawing(diagram,
                                  [](const std::string& name, const std::string& shape) {
                                    return name == "weights" && shape == "2×2" ? std::string("#t-weights")
                                                                               : std::string();
                                  })
      .elements;
}

/// The markup of a note, in an element.
std::string note_of(const std::string& text) {
  return "<section>" + attn::html::note_markup(text, "a name") + "</section>";
}

/// The entries that a cell of a tensor is made of, as the script of a page finds them.
std::vector<double> entries_of(const nlohmann::json& workings, std::size_t tensor, std::size_t cell) {
  const auto& step = workings["tensors"][tensor];
  const std::size_t columns = step["shape"][1];
  const std::vector<std::size_t> at = {cell / columns, cell % columns};
  std::vector<double> entries;
  for (const auto& group : step["steps"]) {
    if (group[1] != 0 && std::find(group[1].begin(), group[1].end(), cell) == group[1].end()) continue;
    for (std::size_t i = 0; i < group[3].size(); i += 2) {
      const auto& place = group[2][group[3][i].get<std::size_t>()];
      auto offset = group[3][i + 1].get<std::size_t>();
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        offset += place[axis + 1].get<std::size_t>() * at[axis];
      entries.push_back(workings["tensors"][place[0].get<std::size_t>()]["values"][offset]);
    }
  }
  return entries;
}

}  // namespace

TEST_CASE("a formula becomes MathML") {
  const std::map<std::string, std::string> formulas = {
      {"X W_Q", "<mi>X</mi><mspace width=\"0.25em\"/><msub><mi>W</mi><mi>Q</mi></msub>"},
      {"Kᵀ", "<msup><mi>K</mi><mi>T</mi></msup>"},
      {"hₜ₋₁", "<msub><mi>h</mi><mtext>t−1</mtext></msub>"},
      {"√d_k", "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"},
      {"a / (b + c)", "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mi>c</mi></mrow></mfrac>"},
      {"encoder/h", "<mi>encoder/h</mi>"},
      {"2^(−i)", "<msup><mn>2</mn><mrow><mo>−</mo><mi>i</mi></mrow></msup>"},
      {"φ(qᵢ)ᵀ",
       "<mi>φ</mi><msup><mrow><mo stretchy=\"false\">(</mo><msub><mi>q</mi><mi>i</mi></msub>"
       "<mo stretchy=\"false\">)</mo></mrow><mi>T</mi></msup>"},
      {"(a / b)", "<mrow><mo>(</mo><mfrac><mi>a</mi><mi>b</mi></mfrac><mo>)</mo></mrow>"},
      {"W_Qᵀ", "<msubsup><mi>W</mi><mi>Q</mi><mi>T</mi></msubsup>"},
      {"d_W_Q^2", "<msubsup><mi>d</mi><msub><mi>W</mi><mi>Q</mi></msub><mn>2</mn></msubsup>"},
      {"hᵢᵀ", "<msubsup><mi>h</mi><mi>i</mi><mi>T</mi></msubsup>"},
      {"wᵢ,ᵢ₊₁", "<msub><mi>w</mi><mtext>i,i+1</mtext></msub>"},
      {"wᵢⱼ", "<msub><mi>w</mi><mtext>ij</mtext></msub>"},
      {"causal_mask", "<mi>causal_mask</mi>"},
      {"1e-12", "<mn>1e-12</mn>"},
      {"a < b & c", "<mi>a</mi><mo>&lt;</mo><mi>b</mi><mo>&amp;</mo><mi>c</mi>"},
  };
  for (const auto& [formula, expected] : formulas) {
    INFO(formula);
    const auto markup = attn::html::mathml(formula);
    CHECK_THAT(markup, Contains(expected));
    CHECK_NOTHROW(elements_of(markup));
  }
}

TEST_CASE("a line of a fraction takes all factors above it and those below") {
  const auto markup = attn::html::mathml("softmax(Q Kᵀ / √d_k) V = 1");
  const auto fractions = elements_of(markup, "mfrac");
  REQUIRE(fractions.size() == 1);
  CHECK(fractions[0].text == "QKTdk");
}

TEST_CASE("whatever its text, a formula is well-formed") {
  for (const std::string formula :
       {"",   " ", "(",  ")",  "((a]",   "/ b",     "a /",   "a / / b", "√", "^",  "x^", "ᵢ",
        "a_", "_", "|x", "⌊x", "\u0304", "</math>", "a ^ b", "− −",     "…", "1.", "x=", "a//b"}) {
    INFO(formula);
    CHECK_NOTHROW(elements_of(attn::html::mathml(formula)));
  }
}

TEST_CASE("a diagram becomes boxes that lead to steps, words, lines and arrows") {
  const auto drawing = drawn("Q [2×4] ┐\n        ├ Q Kᵀ → softmax → weights [2×2]\nK [2×4] ┘");
  const auto links = elements_of(drawing, "a");
  REQUIRE(links.size() == 1);
  CHECK(links[0].attributes.at("href") == "#t-weights");
  CHECK(links[0].text == "weights [2×2]");
  CHECK(elements_of(drawing, "rect").size() == 1);
  CHECK(texts_of(drawing, "text") ==
        std::vector<std::string>{"Q [2×4]", "Q Kᵀ", "softmax", "weights [2×2]", "K [2×4]"});
  const auto paths = elements_of(drawing, "path");
  REQUIRE(paths.size() == 2);
  const auto& arrows = paths[1].attributes.at("d");
  CHECK(std::count(arrows.begin(), arrows.end(), 'Z') == 3);
}

TEST_CASE("lines of a diagram meet where its characters do") {
  // the corner's line goes from the words to the middle of its column and down to the next line
  const auto path = elements_of(drawn("a [1] ┐\n      │"), "path")[0].attributes.at("d");
  CHECK_THAT(path, Contains("M45.0 16.0L54.6 16.0") && Contains("M54.6 16.0L54.6 32.0") &&
                       Contains("M54.6 32.0L54.6 48.0") && Contains("M54.6 48.0L54.6 64.0"));
}

TEST_CASE("lines that join or branch off end with an arrow at the words that they reach") {
  const auto arrows = [](const std::string& diagram) {
    const auto drawing = drawn(diagram);
    const auto begin = drawing.find("class=\"attn-arrows\" d=\"") + 23;
    const auto path = drawing.substr(begin, drawing.find('"', begin) - begin);
    return std::count(path.begin(), path.end(), 'Z');
  };
  CHECK(arrows("Q ┐\n  ├ output\nV ┘") == 1);
  CHECK(arrows("x ┬ a\n  └ b") == 2);
  CHECK(arrows("x ┬→ f → +\n  └──────┘") == 3);
  CHECK(arrows("a ─┐\n   │\n───┘") == 0);
}

TEST_CASE("a box may lead to the step that the last word of its name names") {
  const auto links = elements_of(drawn("new weights [2×2] → h [2]"), "a");
  REQUIRE(links.size() == 1);
  CHECK(links[0].text == "new weights [2×2]");
}

TEST_CASE("an arrow up or down leads from line to line") {
  const auto paths = elements_of(drawn("a\n↑\n└ b ┐\n    ↓"), "path");
  CHECK_THAT(paths[0].attributes.at("d"), Contains("M4.2 64.0L4.2 32.0") && Contains("M4.2 64.0L4.2 80.0"));
  CHECK_THAT(paths[1].attributes.at("d"),
             Contains("M4.2 32.0L0.7 38.0") && Contains("M37.8 128.0L34.3 122.0"));
}

TEST_CASE("words cannot end the element, the attribute or the script that they stand in") {
  const std::string words = "</script>\"'&<b>\u202E\uFFFE\x01";
  const auto text = attn::html::escaped(words);
  CHECK_THAT(text, !Contains("<") && !Contains("\"") && !Contains("\u202E") && !Contains("\uFFFE"));
  CHECK_NOTHROW(elements_of("<p title=\"" + text + "\">" + text + "</p>"));
  const auto json = attn::html::json_string(words);
  CHECK_THAT(json, !Contains("<") && !Contains("&") && !Contains(">"));
  CHECK_THAT(nlohmann::json::parse(json).get<std::string>(), Catch::StartsWith("</script>\"'&<b>"));
}

TEST_CASE("hashes are written in base 64") {
  CHECK(attn::html::base64_of_hex("") == "");
  CHECK(attn::html::base64_of_hex("66") == "Zg==");
  CHECK(attn::html::base64_of_hex("666f") == "Zm8=");
  CHECK(attn::html::base64_of_hex("666f6f") == "Zm9v");
  CHECK(attn::html::base64_of_hex("fbff") == "+/8=");
}

TEST_CASE("a tensor is a table with a caption, its axes and labels, shaded by its values") {
  const auto document = page_of([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.label("key", {{{"le", "chat"}}});
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true},
               Tensor<2>{{0.25, 0.75}, {1.0, 0.0}});
    trace.step({.id = "scores", .axes = {"query", "key"}}, Tensor<2>{{-2.0, 1.0}, {0.0, 0.5}});
  });
  CHECK(texts_of(document, "caption") ==
        std::vector<std::string>{"weights a row for each query, a column for each key",
                                 "scores a row for each query, a column for each key"});
  std::vector<std::string> columns, rows;
  for (const auto& head : elements_of(document, "th"))
    (head.attributes.at("scope") == "col" ? columns : rows).push_back(head.text);
  CHECK(columns == std::vector<std::string>{"query", "le", "chat", "strongest", "query", "le", "chat"});
  CHECK(rows == std::vector<std::string>{"the", "cat", "the", "cat"});
  CHECK_THAT(document, Contains("<td class=\"s3\">0.2500</td><td class=\"s8\">0.7500</td>"
                                "<td class=\"strongest\">chat 0.7500</td>"));
  CHECK_THAT(document, Contains("<td class=\"s10\">1.0000</td><td>·</td>"));
  CHECK_THAT(document, Contains("<td class=\"n8\">-2.0000</td><td class=\"p4\">1.0000</td>"));
}

TEST_CASE("each head has a table, and a reader may choose one") {
  const auto document = page_of([](attn::Trace& trace) {
    trace.step({.id = "weights", .axes = {"head", "query", "key"}, .distribution = true},
               Tensor<4>(xt::ones<double>({1, 3, 2, 2})));
  });
  CHECK(elements_of(document, "table").size() == 3);
  std::vector<std::string> choices;
  for (const auto& label : elements_of(document, "label")) choices.push_back(label.text);
  CHECK(choices == std::vector<std::string>{" side by side", " head 0", " head 1", " head 2"});
}

TEST_CASE("a page tells from which entries each cell came") {
  const Tensor<2> a{{1.5, 2.25}, {3.125, -4.5}}, b{{0.5, -6.25}, {7.75, 8.5}};
  const auto document = page_of([&](attn::Trace& trace) {
    trace.input({.id = "A", .axes = {"query", "d_k"}}, a);
    trace.input({.id = "B", .axes = {"d_k", "key"}}, b);
    const auto known_a = known("A", a), known_b = known("B", b);
    trace.step(
        {.id = "C",
         .axes = {"query", "key"},
         .worked =
             [=](const attn::Index& at) {
               return attn::Worked::sum({attn::Worked::product({known_a({at[0], 0}), known_b({0, at[1]})}),
                                         attn::Worked::product({known_a({at[0], 1}), known_b({1, at[1]})})});
             }},
        attn::matmul(a, b));
  });
  nlohmann::json workings;
  for (const auto& script : elements_of(document, "script"))
    if (script.attributes.count("id") > 0) workings = nlohmann::json::parse(script.text);
  CHECK(workings["tensors"][2]["id"] == "C");
  CHECK(workings["tensors"][2]["steps"].size() == 1);
  CHECK(workings["texts"][0] == "$ · $ + $ · $");
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      CHECK(entries_of(workings, 2, 2 * i + j) == std::vector<double>{a(i, 0), b(0, j), a(i, 1), b(1, j)});
}

TEST_CASE("notes, claims and commands have their places on a page") {
  const auto document = page_of([](attn::Trace& trace) {
    trace.note("idea", "The idea", "Look & see.", "Q Kᵀ / √d_k\nx = 1");
    trace.note("flow", "The flow", "", "Q [2×4] → weights [2×2]");
    trace.note("code", "In NumPy", "", "a = b < c");
    trace.claim(
        {.id = "sums", .claim = "rows sum to 1", .value = 0.0, .limit = attn::within_rounding(1e-12)});
    trace.claim({.id = "off", .claim = "nothing is off", .value = 2.0, .limit = attn::at_most(1e-12)});
    trace.note("next", "Try next", "", "attnlab sdpa --causal   hide\nattnlab lookup\n    and see");
  });
  CHECK(elements_of(document, "math").size() == 2);
  CHECK(elements_of(document, "svg").size() == 1);
  CHECK(texts_of(document, "pre") == std::vector<std::string>{"a = b < c"});
  CHECK(texts_of(document, "h2") ==
        std::vector<std::string>{"The idea", "The flow", "In NumPy", "What holds on this run", "Try next"});
  CHECK_THAT(document, Contains("off by less than 1e-12") && Contains("2, which should be &lt;= 1e-12") &&
                           Contains("1 of 2 claims holds.") &&
                           Contains("<li class=\"fails\"><details open=\"open\">"));
  CHECK(texts_of(document, "li").back() == "attnlab lookup and see");
}

TEST_CASE("an idea has formulas, or a table of words") {
  const auto idea = [](const std::string& lines) {
    return page_of([&](attn::Trace& trace) { trace.note("idea", "The idea", "Look.", lines); });
  };
  for (const std::string formula :
       {"Q = X W_Q,   K = X W_K", "PE(p, 2i)   = sin(p · ωᵢ)", "x = 1\n  = 2 − 1"})
    CHECK(texts_of(idea(formula), "pre").empty());
  CHECK(texts_of(idea("m   the largest score\nl   Σ exp(s − m)"), "tr") ==
        std::vector<std::string>{"mthe largest score", "lΣ exp(s − m)"});
}

TEST_CASE("lines of a note that are laid out in columns are rows of a table") {
  const auto note = note_of("loss in step     1    20\nmain          1.95  0.45\nno warm-up    1.95  0.05");
  CHECK(texts_of(note, "th") == std::vector<std::string>{"loss in step", "main", "no warm-up"});
  CHECK(texts_of(note, "td") == std::vector<std::string>{"1", "20", "1.95", "0.45", "1.95", "0.05"});
  for (const auto& cell : elements_of(note, "td")) CHECK(cell.attributes.at("class") == "right");
  for (const auto& cell : elements_of(note, "th")) CHECK(cell.attributes.at("scope") == "row");
  CHECK(elements_of(note, "div")[0].attributes.at("aria-label") == "a name");
}

TEST_CASE("words over numbers, or that begin in the second column, head the columns of a note's table") {
  const auto scopes = [](const std::string& text) {
    std::vector<std::string> all;
    for (const auto& cell : elements_of(note_of(text), "th"))
      all.push_back(cell.text + ": " + cell.attributes.at("scope"));
    return all;
  };
  CHECK(scopes("d_k    mean\n4    -0.013\n64    0.729") ==
        std::vector<std::string>{"d_k: col", "mean: col", "4: row", "64: row"});
  CHECK(scopes("       asks\nLuong  h\n\nother  s") ==
        std::vector<std::string>{"asks: col", "Luong: row", "other: row"});
}

TEST_CASE("a row of a note's table goes on in one of its later columns") {
  const auto note = note_of(
      "linear   phi replaces exp, and the sums are\n         computed once.\n"
      "flash    4 scores\n         2 sums");
  CHECK(texts_of(note, "th") == std::vector<std::string>{"linear", "flash"});
  CHECK_THAT(note, Contains("the sums are computed once.") && Contains("4 scores<br/>2 sums"));
}

TEST_CASE("sentences beside the table of a note are paragraphs, and a line above it heads it") {
  const auto note = note_of(
      "bytes of a number: 8\n4, multi-head   16384\n1, multi-query   4096\n\nA hop may bring a "
      "larger\nscore.");
  CHECK(texts_of(note, "p") ==
        std::vector<std::string>{"bytes of a number: 8", "A hop may bring a larger score."});
  CHECK(texts_of(note, "th") == std::vector<std::string>{"4, multi-head", "1, multi-query"});
}

TEST_CASE("code, equations and drawings are no tables") {
  for (const std::string text :
       {"for d in [4]:\n    q = d\n    k = d", "E[q · k]   = Σᵢ E[qᵢkᵢ]\nVar(q · k) = Σᵢ Var(qᵢkᵢ)",
        "d_A = d_C   ⇒   a\nd_B = d_D   ⇒   b", "full   local\n█ █    █ ·\n█ █    █ █", "a single  line"}) {
    INFO(text);
    const auto note = note_of(text);
    CHECK(elements_of(note, "table").empty());
    CHECK(texts_of(note, "pre") == std::vector<std::string>{text});
  }
}

TEST_CASE("hostile labels leave a page well-formed") {
  const auto document = page_of([](attn::Trace& trace) {
    trace.label("query", {{{"</table>", "\"><script>", "\u202E\uFFFE]]>"}}});
    trace.step({.id = "weights", .title = "<b>", .formula = "a < b", .axes = {"query", "key"}},
               Tensor<2>{{0.25, NAN}, {INFINITY, 0.0}, {1.0, 2.0}});
  });
  CHECK(elements_of(document, "script").size() == 2);
  CHECK(texts_of(document, "tr").size() == 4);
}
