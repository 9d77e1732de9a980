#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <regex>
#include <sstream>

#include "attn/text/width.hpp"
#include "page/builder.hpp"
#include "page/text/text.hpp"
#include "tests/unit/numbers.hpp"
#include "trace/filter.hpp"
#include "trace/trace.hpp"

using attn::PageStyle;
using attn::Tensor;

namespace {

const std::string rule = [] {
  std::string line;
  for (int i = 0; i < 80; ++i) line += "─";
  return line + "\n";
}();

/// The text of a lesson that emits what `lesson` does, without the header's two lines.
std::string render(const std::function<void(attn::Trace&)>& lesson, const PageStyle& style = {},
                   bool batched = false) {
  attn::TextRenderer renderer({"demo", "a lesson", {}}, style);
  attn::Trace trace(renderer, {.batched = batched});
  lesson(trace);
  const auto text = renderer.finish();
  return text.substr(text.find('\n', text.find('\n') + 1) + 1);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The lines from the first one that begins with `start` (after spaces) on.
std::vector<std::string> lines_from(const std::string& text, const std::string& start) {
  auto lines = lines_of(text);
  const auto begins = [&](const std::string& line) {
    const auto first = line.find_first_not_of(' ');
    return first != std::string::npos && line.compare(first, start.size(), start) == 0;
  };
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), begins));
  return lines;
}

std::string row_of(const Tensor<1>& vector, const PageStyle& style = {}) {
  const auto lines = lines_from(
      render([&](attn::Trace& trace) { trace.input({.id = "v", .axes = {"d_k"}}, vector); }, style), "d_k");
  REQUIRE(lines.size() == 2);
  return lines[1];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Tensor<2> counting(std::size_t rows, std::size_t columns) {
  Tensor<2> tensor({rows, columns});
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<double>(i);
  return tensor;
}

}  // namespace

TEST_CASE("A matrix stands below its definition, title and shape, and above its note") {
  const auto text = render([](attn::Trace& trace) {
    for (const auto* axis : {"query", "key"}) trace.label(axis, {{{"the", "cat"}}});
    trace.input({.id = "K", .title = "Keys", .axes = {"key", "d_k"}}, Tensor<2>{{1.0, -0.5}, {0.25, 2.0}});
    trace.step({.id = "scores",
                .title = "Every query meets every key",
                .formula = "Q Kᵀ",
                .from = {"Q", "K"},
                .axes = {"query", "key"},
                .note = "Row i holds the dot products of query i."},
               Tensor<2>{{1.0, 2.5}, {-3.0, 4.125}});
  });
  CHECK(text == R"(
1  K   Keys                                                      [key 2 × d_k 2]
  key        0        1
  the   1.0000  -0.5000
  cat   0.2500   2.0000

2  scores = Q Kᵀ   Every query meets every key                 [query 2 × key 2]
  query      the      cat
  the     1.0000   2.5000
  cat    -3.0000   4.1250
  Row i holds the dot products of query i.
)");
}

TEST_CASE("The header names the lesson and the options that are set") {
  attn::TextRenderer renderer({"self-attention",
                               "every token looks at every token",
                               {{"sentence", std::vector<std::string>{"The cat", "a\x1b[31m"}},
                                {"d_model", std::int64_t{8}},
                                {"window", std::monostate{}},
                                {"causal", true},
                                {"residual", false},
                                {"dropout", 0.1},
                                {"d_k", std::vector<std::int64_t>{4, 16}},
                                {"dtype", std::string("float64")},
                                {"tokens", std::vector<std::vector<std::string>>{{"The", "cat"}}}}},
                              {});
  CHECK(renderer.finish() ==
        "self-attention: every token looks at every token\n" + rule +
            "  sentence=\"The cat\" \"a␛[31m\"  d_model=8  causal  dropout=0.1  d_k=4,16\n"
            "  dtype=float64\n");
}

TEST_CASE("A note is wrapped and its formula is not") {
  const std::string formula = "a = " + std::string(90, 'x') + "\n    where x  is long";
  const auto text = render([&](attn::Trace& trace) {
    trace.note("idea", "The idea",
               "One two three four five six seven eight nine ten eleven twelve thirteen fourteen.", formula);
  });
  CHECK(text ==
        "\nThe idea\n  One two three four five six seven eight nine ten eleven twelve thirteen\n  "
        "fourteen.\n\n  a = " +
            std::string(90, 'x') + "\n      where x  is long\n");
}

TEST_CASE("The formula of a note is indented by 6 columns as far as it fits into the line") {
  const auto indent_of = [](std::size_t formula_width) {
    const auto text = render([&](attn::Trace& trace) {
      trace.note("idea", "The idea", "Prose.", std::string(formula_width, 'x') + "\ny");
    });
    const auto line = lines_of(text).at(4);
    CHECK(lines_of(text).at(5).find('y') == line.find('x'));
    return line.find('x');
  };
  CHECK(indent_of(74) == 6);
  CHECK(indent_of(75) == 5);
  CHECK(indent_of(78) == 2);
  CHECK(indent_of(79) == 2);
}

TEST_CASE("What rounds to zero has no sign") {
  CHECK(row_of({-0.0, -0.00001, -1.0}) == "        0.0000   0.0000  -1.0000");
  CHECK(row_of({-0.0, -1e-9}) == "        0.0000e+00  -1.0000e-09");
  CHECK(row_of({-0.4, 0.4}, {.precision = 0}) == "       0  0");
}

TEST_CASE("Numbers that are not finite stand at the right of their column") {
  CHECK(row_of({-infinity, infinity, std::nan(""), 12.5}) == "          -inf      inf      nan  12.5000");
}

TEST_CASE("A tensor of very large or very small numbers is in scientific notation throughout") {
  CHECK(row_of({99999.0, 0.5}) == "       99999.0000      0.5000");
  CHECK(row_of({100000.0, 1.0}) == "       1.0000e+05  1.0000e+00");
  CHECK(row_of({0.001, 0.0}) == "       0.0010  0.0000");
  CHECK(row_of({0.00099, 0.0}) == "       9.9000e-04  0.0000e+00");
  CHECK(row_of({0.00099, infinity}) == "       9.9000e-04         inf");
}

TEST_CASE("A tensor of whole numbers has no digits after the point, not even where rounding left some") {
  CHECK(row_of({0.0, 0.0}) == "       0  0");
  CHECK(row_of({99999.0, -1.0}) == "       99999     -1");
  CHECK(row_of({1.0 - 1e-16, 3.0 + 1e-12, infinity}) == "         1    3  inf");
  CHECK(row_of({1.0, 0.3}) == "       1.0000  0.3000");
  CHECK(row_of({1e-12, 1.0}) == "       0.0000  1.0000");
  CHECK(row_of({1e-12, 0.3}) == "       0.0000  0.3000");
}

TEST_CASE("Rounding of a shorter type leaves more of a whole number") {
  const double third_of_three = 1.0 - 0x1p-24;
  const auto row_in = [&](attn::Dtype dtype) {
    attn::TextRenderer renderer({"demo", "a lesson", {}}, {});
    attn::Trace trace(renderer, {.dtype = dtype});
    trace.input({.id = "v", .axes = {"d_k"}}, Tensor<1>{third_of_three, 2.0});
    return lines_from(renderer.finish(), "d_k").at(1);
  };
  CHECK(row_in(attn::Dtype::float32) == "       1  2");
  CHECK(row_in(attn::Dtype::float64) == "       1.0000  2.0000");
}

TEST_CASE("A table of shares has hidden keys where one is exactly 0, any other table has none") {
  const auto has_hidden_keys = [](const Tensor<1>& values, bool distribution) {
    bool has = false;
    struct Look : attn::Sink {
      explicit Look(bool& found) : found_(found) {}
      void receive(const attn::Event& event) override { found_ = attn::page::has_hidden_keys(event); }
      bool& found_;
    } look(has);
    attn::Trace trace(look, {});
    trace.step({.id = "v", .axes = {"key"}, .distribution = distribution}, values);
    return has;
  };
  CHECK(has_hidden_keys({1.0, 0.0}, true));
  CHECK(has_hidden_keys({1.0, -0.0}, true));
  CHECK_FALSE(has_hidden_keys({0.5, 0.5}, true));
  CHECK_FALSE(has_hidden_keys({1.0, 1e-300}, true));
  CHECK_FALSE(has_hidden_keys({1.0, 0.0}, false));
}

TEST_CASE("The zero of a hidden key is explained once, and nowhere without one") {
  const auto page = [](const Tensor<1>& shares) {
    return render([&](attn::Trace& trace) {
      for (const auto* id : {"weights", "weights_again"})
        trace.step({.id = id, .axes = {"key"}, .distribution = true}, shares);
    });
  };
  const auto hidden = page({0.25, 0.75, 0.0});
  const auto legend = hidden.find("· = exactly 0");
  CHECK(legend < hidden.find("weights_again"));
  CHECK(hidden.find("· = exactly 0", legend + 1) == std::string::npos);
  CHECK_FALSE(contains(page({0.25, 0.75}), "exactly 0"));
}

TEST_CASE("The precision is the number of digits") {
  CHECK(row_of({0.7, 0.2}, {.precision = 0}) == "       1  0");
  CHECK(row_of({0.1}, {.precision = 17}) == "       0.10000000000000001");
}

TEST_CASE("Integers are written exactly") {
  const auto text = render([](attn::Trace& trace) {
    trace.input({.id = "lengths", .axes = {"position"}}, attn::Integers<1>{3, -9007199254740993});
  });
  CHECK(contains(text, "             3  -9007199254740993\n"));
}

TEST_CASE("A mask is drawn with marks that are explained once") {
  const auto text = render([](attn::Trace& trace) {
    trace.label("key", {{{"a", "b"}}});
    const attn::Mask<2> mask = {{true, false}, {true, true}};
    trace.input({.id = "mask", .axes = {"query", "key"}}, mask);
    trace.input({.id = "mask_again", .axes = {"query", "key"}}, mask);
  });
  CHECK(text == R"(
1  mask                                                        [query 2 × key 2]
  query  a  b
  0      1  ·
  1      1  1
  1 = may be seen, · = hidden

2  mask_again                                                  [query 2 × key 2]
  query  a  b
  0      1  ·
  1      1  1
)");
}

TEST_CASE("A vector is one row under its labels") {
  const auto text = render([](attn::Trace& trace) {
    trace.label("key", {{{"the", "cat"}}});
    trace.input({.id = "scores", .axes = {"key"}}, Tensor<1>{0.5, 0.25});
  });
  CHECK(contains(text, "[key 2]\n  key     the     cat\n       0.5000  0.2500\n"));
}

TEST_CASE("A scalar stands in its equation") {
  const auto text = render([](attn::Trace& trace) {
    trace.step({.id = "entropy", .title = "Spread", .formula = "−Σ w ln w", .from = {"weights"}}, 1.25);
    trace.step({.id = "count"}, std::int64_t{7});
    trace.step({.id = "sorted"}, true);
  });
  CHECK(text == R"(
1  entropy = −Σ w ln w = 1.2500   Spread

2  count = 7

3  sorted = true
)");
}

TEST_CASE("Every entry of a leading axis has a table with a caption") {
  const auto text = render(
      [](attn::Trace& trace) {
        trace.label("query", {{{"Hi", "you"}, {"Bye", "Sam"}}});
        Tensor<4> tensor = xt::zeros<double>({2, 2, 2, 1});
        tensor(1, 0, 1, 0) = 7.5;
        trace.step({.id = "heads", .axes = {"head", "query", "d_v"}}, tensor);
      },
      {.precision = 1}, true);
  CHECK(contains(text, "[batch 2 × head 2 × query 2 × d_v 1]"));
  CHECK(lines_from(text, "batch 0 · head 0") == lines_of(R"(  batch 0 · head 0
  query    0
  Hi     0.0
  you    0.0

  batch 0 · head 1
  query    0
  Hi     0.0
  you    0.0

  batch 1 · head 0
  query    0
  Bye    0.0
  Sam    7.5

  batch 1 · head 1
  query    0
  Bye    0.0
  Sam    0.0
)"));
}

TEST_CASE("A vector for each sample stands under the sample's own tokens") {
  const auto text = render(
      [](attn::Trace& trace) {
        trace.label("token", {{{"Hi", "you"}, {"Bye", "<pad>"}}});
        trace.step({.id = "ids", .axes = {"token"}}, attn::Integers<2>{{1, 2}, {3, 0}});
      },
      {}, true);
  CHECK(lines_from(text, "batch 0") == lines_of(R"(  batch 0
  token     Hi    you
             1      2

  batch 1
  token    Bye  <pad>
             3      0
)"));
}

TEST_CASE("A leading axis with labels is captioned by them") {
  const auto text = render([](attn::Trace& trace) {
    trace.label("query", {{{"the", "cat"}}});
    trace.step({.id = "hidden", .axes = {"query", "key", "d_a"}}, Tensor<3>(xt::zeros<double>({2, 1, 1})));
  });
  CHECK(contains(text, "\n  query the\n"));
  CHECK(contains(text, "\n  query cat\n"));
}

TEST_CASE("A tensor too wide for the terminal is split into blocks that repeat the row labels") {
  const auto text = render(
      [](attn::Trace& trace) {
        trace.label("token", {{{"the", "cat"}}});
        trace.input({.id = "X", .axes = {"token", "d_model"}}, Tensor<2>(0.5 + counting(2, 13)));
      },
      {.full = true});
  const auto lines = lines_of(text);
  std::size_t rows = 0;
  for (const auto& line : lines) {
    CHECK(attn::display_width(line) <= 80);
    rows += line.rfind("  the", 0) == 0 ? 1U : 0U;
  }
  CHECK(rows == 2);
  CHECK(contains(text, "  the     7.5000   8.5000   9.5000  10.5000  11.5000  12.5000\n"));
}

TEST_CASE("Where nothing asks for all, numbered columns fill one block, and named ones two") {
  const auto numbered = [](std::size_t columns) {
    return render([&](attn::Trace& trace) {
      trace.input({.id = "X", .axes = {"token", "d_model"}}, Tensor<2>(0.5 + counting(1, columns)));
    });
  };
  CHECK_FALSE(contains(numbered(8), "…"));
  CHECK(contains(numbered(12),
                 "\n  0       0.5000   1.5000   2.5000   3.5000   4.5000        …  10.5000  11.5000\n"
                 "  … = left out, shown with --full\n"));
  const auto named = [](std::size_t words) {
    return render([&](attn::Trace& trace) {
      std::vector<std::string> keys;
      for (std::size_t i = 0; i < words; ++i) keys.push_back("w" + std::to_string(i));
      trace.label("key", {{keys}});
      trace.input({.id = "scores", .axes = {"query", "key"}}, Tensor<2>(0.5 + counting(1, words)));
    });
  };
  CHECK_FALSE(contains(named(14), "…"));
  CHECK(contains(named(14), "  query       w7       w8"));
  CHECK(contains(named(30),
                 "  query       w0       w1       w2       w3       w4        …      w28      w29\n"));
}

TEST_CASE("What comes from padding is left out, unless all is asked for") {
  const auto weights = [](bool full) {
    return render(
        [](attn::Trace& trace) {
          trace.label("query", {{{"cats", "<pad>"}}});
          trace.input({.id = "X", .axes = {"query", "d_model"}}, Tensor<2>{{1.0, 2.0}, {0.0, 0.0}});
          trace.step({.id = "output", .axes = {"query", "d_v"}}, Tensor<2>{{1.5, 2.5}, {3.5, 4.5}});
        },
        {.full = full});
  };
  CHECK(contains(weights(false), "\n  <pad>  0  0\n"));
  CHECK(contains(weights(false), "\n  <pad>       –       –\n  – = a row of padding"));
  CHECK(contains(weights(true), "\n  <pad>  3.5000  4.5000\n"));
  CHECK_FALSE(contains(weights(true), "–"));
}

TEST_CASE("Words that look like the signs of what is left out are no reason to explain these") {
  const auto text = render([](attn::Trace& trace) {
    for (const auto* axis : {"query", "key"}) trace.label(axis, {{{"wait", "–", "…"}}});
    trace.step({.id = "scores", .axes = {"query", "key"}}, counting(3, 3));
  });
  CHECK(contains(text, "–"));
  CHECK(contains(text, "…"));
  CHECK_FALSE(contains(text, "padding"));
  CHECK_FALSE(contains(text, "left out"));
}

TEST_CASE("The column of strongest keys never makes a line too wide") {
  for (std::size_t keys = 1; keys <= 20; ++keys) {
    const auto text = render([&](attn::Trace& trace) {
      trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, counting(1, keys));
    });
    for (const auto& line : lines_of(text)) CHECK(attn::display_width(line) <= 80);
  }
}

TEST_CASE("However narrow the terminal, every number is there") {
  for (const std::size_t width : {1U, 20U, 33U}) {
    const auto text = render(
        [](attn::Trace& trace) {
          trace.input({.id = "X", .axes = {"token", "key"}, .distribution = true},
                      Tensor<2>{{0.0, 1.5, 2.5, 3.5, 4.5}});
        },
        {.full = true, .width = width});
    for (const auto* number : {"·", "1.5000", "2.5000", "3.5000", "4.5000", "→ 4  4.5000"})
      CHECK(contains(text, number));
  }
}

TEST_CASE("On a page that is too narrow for a row of weights at least its largest one is there") {
  for (const std::size_t width : {1U, 20U, 33U}) {
    const auto text = render(
        [](attn::Trace& trace) {
          trace.input({.id = "X", .axes = {"token", "key"}, .distribution = true},
                      Tensor<2>{{0.0, 1.5, 2.5, 3.5, 4.5}});
        },
        {.width = width});
    CHECK(contains(text, " 4 4.5000"));
    CHECK_FALSE(contains(text, "1.5000"));
  }
}

TEST_CASE("Wide characters, emoji and combining marks keep the columns aligned") {
  const std::vector<std::string> tokens = {"Übergröße", "猫", "👩‍👩‍👧", "e\u0301",
                                           "Donaudampfschifffahrt"};
  const auto text = render([&](attn::Trace& trace) {
    for (const auto* axis : {"query", "key"}) trace.label(axis, {{tokens}});
    Tensor<2> weights = 0.2 * xt::ones<double>({5, 5});
    for (std::size_t i = 0; i < 5; ++i) weights(i, 4) = 0.3;
    trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, weights);
  });
  const auto lines = lines_from(text, "query");
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    CHECK(attn::display_width(lines[i]) <= 80);
    CHECK(attn::display_width(lines[i].substr(0, lines[i].find("0.2000"))) == 16);
    CHECK(attn::display_width(lines[i].substr(0, lines[i].find("→"))) ==
          attn::display_width(lines[0].substr(0, lines[0].find("strongest"))));
  }
  CHECK(contains(lines[5], "Donaudampfs…"));
}

TEST_CASE("A large tensor shows the edges of its long axes") {
  const auto elided = [](std::size_t rows, std::size_t columns, bool full = false) {
    return render(
        [&](attn::Trace& trace) {
          trace.input({.id = "X", .axes = {"token", "d_model"}}, counting(rows, columns));
        },
        {.precision = 0, .full = full});
  };
  CHECK_FALSE(contains(elided(100, 10), "…"));
  CHECK(contains(elided(167, 6), "left out"));
  CHECK(contains(elided(1001, 1), "\n  …         …\n"));
  CHECK_FALSE(contains(elided(1001, 1, true), "…"));

  const auto text = elided(100, 100);
  CHECK(contains(text, "[token 100 × d_model 100]"));
  CHECK(lines_from(text, "token ") == lines_of(R"(  token     0     1     2     …    97    98    99
  0         0     1     2     …    97    98    99
  1       100   101   102     …   197   198   199
  2       200   201   202     …   297   298   299
  …         …     …     …     …     …     …     …
  97     9700  9701  9702     …  9797  9798  9799
  98     9800  9801  9802     …  9897  9898  9899
  99     9900  9901  9902     …  9997  9998  9999
  … = left out, shown with --full
)"));
}

TEST_CASE("A large tensor shows the first and last heads") {
  const auto text = render([](attn::Trace& trace) {
    trace.step({.id = "weights", .axes = {"head", "query", "key"}},
               Tensor<3>(xt::zeros<double>({8, 12, 12})));
  });
  for (const auto* head : {"head 0", "head 1", "head 2", "head 5", "head 6", "head 7"})
    CHECK(contains(text, head));
  CHECK(contains(text, "\n\n  …\n\n  head 5\n"));
  CHECK_FALSE(contains(text, "head 3"));
  CHECK_FALSE(contains(text, "head 4"));
}

TEST_CASE("Rows of attention end with the strongest key") {
  const auto rows = [](const Tensor<2>& weights) {
    auto lines =
        lines_from(render([&](attn::Trace& trace) {
                     trace.label("key", {{{"the", "cat", "sat"}}});
                     trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, weights);
                   }),
                   "query");
    lines.erase(lines.begin());
    return lines;
  };
  SECTION("by name and with its share, and none for a row that is masked") {
    CHECK(rows({{0.25, 0.75, 0.0}, {0.0, 0.0, 0.0}}) ==
          std::vector<std::string>{"  0      0.2500  0.7500       ·   → cat  0.7500",
                                   "  1           ·       ·       ·", "  · = exactly 0"});
  }
  SECTION("and by number where several tie but for rounding") {
    CHECK(contains(rows({{0.2, 0.4, 0.4}, {0.2, 0.1, 0.7}})[0], "→ 2 tied  0.4000"));
    CHECK(contains(rows({{0.2, 0.4, 0.4 + 1e-16}, {0.2, 0.1, 0.7}})[0], "→ 2 tied  0.4000"));
    CHECK(contains(rows({{0.4, 0.4, 0.2}, {0.2, 0.1, 0.7}})[1], "→ sat     0.7000"));
    CHECK(contains(rows({{1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0}})[0], "→ 3 tied  0.3333"));
    CHECK(contains(rows({{0.2, 0.39999, 0.40001}})[0], "→ sat  0.4000"));
  }
  SECTION("and by the word where those are the same word") {
    const auto text = render([](attn::Trace& trace) {
      trace.label("key", {{{"the", "cat", "the"}}});
      trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true},
                 Tensor<2>{{0.4, 0.2, 0.4}});
    });
    CHECK(contains(text, "→ 2 × the  0.4000"));
  }
  SECTION("also where it is NaN or left out") {
    CHECK_FALSE(contains(rows({{std::nan(""), std::nan(""), std::nan("")}})[0], "→"));
    Tensor<2> weights = xt::zeros<double>({2, 600});
    weights(1, 300) = 0.5;
    const auto text = render([&](attn::Trace& trace) {
      trace.step({.id = "weights", .axes = {"query", "key"}, .distribution = true}, weights);
    });
    CHECK(contains(text, "300 0.5000\n"));
  }
}

TEST_CASE("Colour adds escape sequences and nothing else") {
  const auto lesson = [](attn::Trace& trace) {
    trace.note("idea", "The idea", "Prose.", "a = b");
    trace.step({.id = "weights", .title = "Shares", .axes = {"head", "query", "key"}, .distribution = true},
               Tensor<3>{{{0.0, 1.0}, {0.25, 0.75}}});
    trace.claim({"one", "it holds", "x", 0.0, attn::exactly(0)});
    trace.claim({"two", "it does not", "x", 1.0, attn::exactly(0)});
  };
  const auto plain = render(lesson), colored = render(lesson, {.color = true});
  CHECK_FALSE(contains(plain, "\x1b"));
  const std::regex escape("\x1b\\[[0-9;]*m"), trailing_spaces(" +\n");
  const auto stripped = std::regex_replace(colored, escape, "");
  CHECK(std::regex_replace(stripped, trailing_spaces, "\n") == plain);

  CHECK(contains(colored, "\x1b[1mThe idea\x1b[0m"));
  CHECK(contains(colored, "\x1b[32m✓\x1b[0m"));
  CHECK(contains(colored, "\x1b[31m✗\x1b[0m"));
  CHECK(contains(colored, "       · \x1b[48;5;18;38;5;231m 1.0000 \x1b[0m"));
}

TEST_CASE("No token reaches the terminal with an escape sequence, a line break or another direction") {
  const auto text = render([](attn::Trace& trace) {
    trace.label("token", {{{"a\x1b[2Jb", "c\nd", "\u202e", "\u009b", "\x7f"}}});
    trace.input({.id = "X", .axes = {"token", "d_k"}}, counting(5, 1));
  });
  CHECK(contains(text, "  a␛[2Jb"));
  CHECK(contains(text, "  c␊d"));
  CHECK(contains(text, "\n  �"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\u202e"));
  CHECK_FALSE(contains(text, "\u009b"));
  CHECK_FALSE(contains(text, "\x7f"));
}

TEST_CASE("Claims are listed at the end, with what was measured where a mark does not say it") {
  const auto claims = [](attn::Trace& trace) {
    trace.claim(
        {"sums", "rows of weights sum to 1", "max |Σ weights − 1|", 2.2e-16, attn::within_rounding(1e-12)});
    trace.note("between", "Between", "Prose.");
    trace.claim({"noise", "differs by rounding", "max |a − b|", 3.4e-7, attn::within_rounding(2e-6)});
    trace.claim({"sign", "has a sign", "min |a| − min |b|", -1e-17, attn::within_rounding(1e-2)});
    trace.claim({"future", "future weights are 0", "max |w|", -0.0, attn::exactly(0)});
    trace.claim(
        {"theory", "within 4 standard errors", "|m − E| / SE", 1.234567, attn::at_most(4), "Of the mean."});
  };
  CHECK(render(claims) == R"(
Between
  Prose.

What holds on this run
  ✓ rows of weights sum to 1
  ✓ differs by rounding
  ✓ has a sign
  ✓ future weights are 0                                               exactly 0
  ✓ within 4 standard errors                                    1.235, at most 4
5 of 5 claims hold.
)");
  const auto whole = render(claims, {.all = true});
  CHECK(contains(whole, "rows of weights sum to 1                              off by less than 1e-12\n"));
  CHECK(contains(whole, "differs by rounding                                   off by less than 2e-06\n"));
}

TEST_CASE("What rounding left is told by its limit, however large, and what is measured by itself") {
  const auto text = render(
      [](attn::Trace& trace) {
        trace.claim({"a", "large numbers", "x", 2.12345, attn::within_rounding(10.0)});
        trace.claim({"b", "too large", "x", 2.12345, attn::within_rounding(1.0)});
        trace.claim({"c", "a small share", "y", 0.0123, attn::at_most(0.05)});
      },
      {.all = true});
  CHECK(contains(text, "off by less than 10\n"));
  CHECK(contains(text, "2.123, which should be <= 1\n"));
  CHECK(contains(text, "0.0123, at most 0.05\n"));
}

TEST_CASE("Claims that do not hold are named") {
  const auto text = render([](attn::Trace& trace) {
    trace.claim({"a", "rows sum to 1", "x", 1.04e-12, attn::at_most(1e-12)});
    trace.claim({"b", "it is finite", "y", std::nan(""), attn::at_most(1e-12)});
    trace.claim({"c", "it is large", "z", 3.0, attn::at_least(1)});
  });
  CHECK(contains(text, "1.04e-12, which should be <= 1e-12\n    x\n  ✗ it is finite"));
  CHECK(contains(text, "nan, which should be <= 1e-12\n    y\n  ✓ it is large"));
  CHECK(contains(text, "3, at least 1\n1 of 3"));
  CHECK(contains(text, "\n1 of 3 claims holds. These do not: \"rows sum to 1\", \"it is finite\".\n"));

  const auto alone = render([](attn::Trace& trace) {
    trace.claim({"a", "rows sum to 1", "x", 2.0, attn::exactly(1)});
  });
  CHECK(contains(alone, "\n0 of 1 claims hold. This one does not: \"rows sum to 1\".\n"));
}

TEST_CASE("A lesson without claims says nothing about them") {
  CHECK_FALSE(contains(render([](attn::Trace& trace) { trace.note("a", "A", "b"); }), "claim"));
}

TEST_CASE("Tensors without numbers are an aligned list of shapes") {
  attn::TextRenderer renderer({"demo", "a lesson", {}}, {});
  attn::Filter filter(renderer, {}, true);
  attn::Trace trace(filter, {.batched = false});
  trace.note("idea", "The idea", "Prose.");
  trace.input({.id = "X", .title = "Vectors", .axes = {"token", "d_model"}}, counting(2, 3));
  trace.step({.id = "pooled", .formula = "mean of X", .from = {"X"}, .axes = {"d_model"}},
             Tensor<1>{1, 2, 3});
  trace.step({.id = "n", .formula = std::string(80, 'x')}, std::int64_t{2});
  trace.claim({"a", "it holds", "x", 0.0, attn::exactly(0)});
  CHECK(renderer.finish() == "demo: a lesson\n" + rule + R"(
1  X       [token 2 × d_model 3]
2  pooled  [d_model 3]            mean of X
3  n       [scalar]               )" +
                                 std::string(45, 'x') + "…\n");
}

TEST_CASE("The colours of shares darken step by step and keep the digits readable") {
  const auto channel = [](int level) {
    const int steps[] = {0, 95, 135, 175, 215, 255};
    const double value = steps[level] / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const auto luminance = [&](int color) {
    const int index = color - 16;
    return 0.2126 * channel(index / 36) + 0.7152 * channel(index / 6 % 6) + 0.0722 * channel(index % 6);
  };
  const auto contrast = [&](const attn::CellColor& color) {
    const double a = luminance(color.background) + 0.05, b = luminance(color.foreground) + 0.05;
    return std::max(a, b) / std::min(a, b);
  };
  double last = 2.0;
  int shades = 0;
  for (int percent = 1; percent <= 100; ++percent) {
    const auto color = attn::cell_color(percent / 100.0);
    REQUIRE(color);
    CHECK(contrast(*color) >= 4.5);
    const double now = luminance(color->background);
    CHECK(now <= last);
    shades += now < last ? 1 : 0;
    last = now;
  }
  CHECK(shades == 7);
}

TEST_CASE("Only a positive share is shaded, and rounding noise does not choose the shade") {
  CHECK_FALSE(attn::cell_color(0.0));
  CHECK_FALSE(attn::cell_color(-0.5));
  CHECK_FALSE(attn::cell_color(std::nan("")));
  CHECK(attn::cell_color(1e-300));
  CHECK(attn::cell_color(1.25)->background == attn::cell_color(1.0)->background);
  for (int i = 1; i <= 7; ++i)
    CHECK(attn::cell_color(i / 7.0 + 1e-15)->background == attn::cell_color(i / 7.0 - 1e-15)->background);
}
