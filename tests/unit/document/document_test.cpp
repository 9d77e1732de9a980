#include "document/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "attn/error.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/sdpa.hpp"

namespace {

using Kind = document::Block::Kind;

std::string refusal(const std::string& text) {
  try {
    document::read("page.md", text);
  } catch (const attn::Error& error) {
    return error.what();
  }
  return "";
}

std::string file_named(const std::string& name) {
  std::ifstream file(std::string(ATTN_DATA) + "/../lessons/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(!text.str().empty());
  return text.str();
}

}  // namespace

TEST_CASE("A document is front matter, headings, formulas, prose and items", "[document]") {
  const auto page = document::read("page.md",
                                   "---\ntitle: a title\n  goes on\nexample: one\nexample: two\n---\n"
                                   "## Scores  {one line if trained} {#scores} {drawn as Q Kᵀ}\n\n"
                                   "    scores[query, key] = sum(d_k) Q * K\n\n"
                                   "One sentence.\nAnother one\ngoes on with {max(key) scores:.2f}.\n\n"
                                   "{use parts/mixture.md, mask = causal, under causal/} {with --all}\n"
                                   "{flow output, from scaled, V}\n"
                                   "- a claim: `scores = 0` {#zero}\n");
  CHECK(page.front("title") == "a title goes on");
  CHECK(page.all_front("example").size() == 2);
  REQUIRE(page.blocks().size() == 6);
  CHECK(page.blocks()[0].kind == Kind::heading);
  CHECK(page.blocks()[0].marks.id == "scores");
  CHECK(page.blocks()[0].marks.words.at("one line").has_value());
  CHECK(page.blocks()[0].marks.drawn_as == "Q Kᵀ");
  CHECK(page.blocks()[1].definition->name == "scores");
  CHECK(page.blocks()[2].prose[0].text == "One sentence.\nAnother one goes on with ");
  CHECK(page.blocks()[2].prose[1].format == ".2f");
  CHECK(page.blocks()[3].call.arguments == std::vector<std::string>{"mask = causal", "under causal/"});
  CHECK(page.blocks()[3].marks.words.count("with --all") == 1);
  CHECK(page.blocks()[4].kind == Kind::flow);
  CHECK(page.blocks()[4].call.arguments == std::vector<std::string>{"output", "from scaled", "V"});
  CHECK(page.blocks()[5].code.text() == "scores = 0");
  CHECK(page.blocks()[5].prose[0].text == "a claim");
  CHECK(page.blocks()[5].marks.id == "zero");
}

TEST_CASE("A step, a fence and a remark may stand in one line, and a part has a condition", "[document]") {
  const auto page = document::read("page.md",
                                   "# Inputs\n``` loss = −log p ```\n\n"
                                   "    W_Q[d_model, d_k]: weight  ## Makes queries  {with --all}\n"
                                   "    Q[query, d_k] = sum(d_model) X[query, d_model] *\n"
                                   "        W_Q  ## What each {token(query)} looks for\n"
                                   "A remark.\n"
                                   "{at weights, one line} They sum\nto 1.\n"
                                   "{at scores, hidden}\n"
                                   "{use parts/scores.md} {with --all} {if trained}\n");
  std::vector<Kind> kinds;
  for (const auto& block : page.blocks()) kinds.push_back(block.kind);
  CHECK(kinds == std::vector<Kind>{Kind::heading, Kind::fence, Kind::heading, Kind::formula, Kind::heading,
                                   Kind::formula, Kind::paragraph, Kind::remark, Kind::remark, Kind::choice});
  CHECK(page.blocks()[1].prose[0].text == "loss = −log p");
  CHECK(page.blocks()[2].prose[0].text == "Makes queries");
  CHECK(page.blocks()[2].level == 2);
  CHECK(page.blocks()[2].marks.words.count("with --all") == 1);
  CHECK(page.blocks()[2].place.column == 32);
  CHECK(page.blocks()[3].is_input);
  CHECK(page.blocks()[3].code.text() == "W_Q[d_model, d_k]: weight");
  CHECK(page.blocks()[4].place.line == 6);
  CHECK(page.blocks()[5].definition->name == "Q");
  CHECK(page.blocks()[7].prose[0].text == "They sum to 1.");
  CHECK(page.blocks()[8].prose.empty());
  const auto& branches = page.blocks()[9].choice->branches;
  REQUIRE(branches.size() == 1);
  CHECK(branches[0].condition.has_value());
  CHECK(branches[0].content.at(0).kind == Kind::use);
  CHECK(branches[0].content[0].marks.words.count("with --all") == 1);
}

TEST_CASE("Names in braces may have braces of their own", "[document]") {
  const auto page = document::read(
      "page.md",
      "## Up to {max(key) hop={hop - 1}/m:.2f}  {if hop={last}/m = 1} {#note}\n\n"
      "    l[query] = hop={hop - 1}/l + 1\n\n"
      "{use hop.md, under hop={hop}/,\n    m = hop={hop - 1}/m,\n  for hop from 0 to 3} {with --all}\n"
      "```\n| {hop={last}/m} | b |\n```\n");
  REQUIRE(page.blocks().size() == 4);
  CHECK(page.blocks()[0].marks.id == "note");
  CHECK(page.blocks()[0].marks.condition->operator->()->parts[0]->name == "hop={last}/m");
  CHECK(page.blocks()[0].prose[1].format == ".2f");
  CHECK(page.blocks()[1].definition->expr->parts[0]->name == "hop={hop - 1}/l");
  CHECK(page.blocks()[2].call.arguments ==
        std::vector<std::string>{"under hop={hop}/", "m = hop={hop - 1}/m", "for hop from 0 to 3"});
  CHECK(page.blocks()[2].marks.words.count("with --all") == 1);
  CHECK(page.blocks()[3].rows[0].cells.size() == 2);
}

TEST_CASE("A fence whose lines begin with | is a table", "[document]") {
  const auto page =
      document::read("page.md", "```\n| | T = 1 |\n| {each key} of {token(key)} | {x:.2f} | |\n```\n");
  REQUIRE(page.blocks().size() == 1);
  const auto& rows = page.blocks()[0].rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].each.axes.empty());
  CHECK(rows[0].cells.size() == 2);
  CHECK(rows[0].cells[0].prose.empty());
  CHECK(rows[1].each.axes.at(0).text() == "key");
  REQUIRE(rows[1].cells.size() == 3);
  CHECK(rows[1].cells[0].prose[0].text == "of ");
  CHECK(rows[1].cells[0].prose[1].call->name == "token");
  CHECK(rows[1].cells[1].prose[0].format == ".2f");
  const auto columns =
      document::read("page.md", "```\n| a | {each key} {x} | b |\n```\n").blocks()[0].rows[0];
  CHECK(columns.each.axes.empty());
  REQUIRE(columns.cells.size() == 3);
  CHECK(columns.cells[1].each.axes.at(0).text() == "key");
  CHECK(columns.cells[1].prose.size() == 1);
  CHECK(columns.cells[2].each.axes.empty());
}

TEST_CASE("A comment is no part of the page, and what stands behind it keeps its place", "[document]") {
  const auto page = document::read("page.md",
                                   "<!-- Vaswani et al. 2017 -->\nOne sentence\n<!-- section 3.2,\n"
                                   "second line -->\nAnother one.\n\n```\n<!-- shown -->\n```\n");
  REQUIRE(page.blocks().size() == 3);
  CHECK(page.blocks()[0].prose[0].text == "One sentence");
  CHECK(page.blocks()[1].prose[0].text == "Another one.");
  CHECK(page.blocks()[1].place.line == 5);
  CHECK(page.blocks()[2].prose[0].text == "<!-- shown -->");
}

TEST_CASE("A label has the axis and the words for each entry along it") {
  const auto page = document::read("page.md", "{label head as no. {head + 1}{if head = 0} first{end}}\n");
  REQUIRE(page.blocks().size() == 1);
  CHECK(page.blocks()[0].kind == document::Block::Kind::label);
  CHECK(page.blocks()[0].call.arguments == std::vector<std::string>{"head"});
  REQUIRE(page.blocks()[0].prose.size() == 3);
  CHECK(page.blocks()[0].prose[0].text == "no. ");
  CHECK_THAT(refusal("{label head}\n"), Catch::Matchers::StartsWith("page.md, line 1, column 1: a label"));
}

TEST_CASE("Lines may be there once for each row of values", "[document]") {
  const auto page = document::read("page.md",
                                   "---\n{for kind of dot | general}\n"
                                   "page if scoring={kind}: page/scores = {kind}/scores\n{end for}\n---\n"
                                   "{for m, words of Q, what asks | K,\n  what answers, or not}\n"
                                   "    W_{m}[d_model, d_k]: weight  ## Makes {words}\n{end for}\n"
                                   "```\n{for a of 1 | 2}\n{for b of x | y}\n| {a} | {b} |\n{end for}\n"
                                   "{end for}\n```\nText.\n");
  CHECK(page.front("page if scoring=general") == "page/scores = general/scores");
  REQUIRE(page.blocks().size() == 6);
  CHECK(page.blocks()[1].definition->name == "W_Q");
  CHECK(page.blocks()[2].prose[0].text == "Makes what answers, or not");
  CHECK(page.blocks()[3].place.line == 8);
  CHECK(page.blocks()[4].rows.size() == 4);
  CHECK(page.blocks()[4].rows[1].cells[1].prose[0].text == "y");
  CHECK(page.blocks()[5].place.line == 17);
  CHECK(refusal("{for x of a}\nb\n").starts_with("page.md, line 1"));
  CHECK(refusal("a\n{end for}\n").starts_with("page.md, line 2"));
  CHECK(refusal("{for of a}\n{end for}\n").find("valid: {for NAME of VALUE | VALUE}") != std::string::npos);
  CHECK(refusal("{for x, y of a}\n{end for}\n").find("no value for each of x, y") != std::string::npos);
  CHECK(refusal("a\n{for x of a} {hidden}\n{end for}\n")
            .starts_with("page.md, line 2, column 13: text behind"));
  const auto rest =
      document::read("page.md", "{for n, words of x, 1,000 (a, b),  c}\n{n}: {words}\n{end for}  \n");
  CHECK(rest.blocks().at(0).prose[0].text == "x: 1,000 (a, b),  c");
}

TEST_CASE("Repetitions of empty lines are bounded, many short ones are read at once", "[document]") {
  std::string nested, flat;
  for (int i = 0; i < 5; ++i) {
    nested += fmt::format("{{for x{} of 0", i);
    for (int value = 1; value < 40; ++value) nested += fmt::format(" | {}", value);
    nested += "}\n";
  }
  nested += "\n";
  for (int i = 0; i < 5; ++i) nested += "{end for}\n";
  CHECK(refusal(nested).find("more than 1048576 bytes") != std::string::npos);
  for (int i = 0; i < 20'000; ++i) flat += "{for x of 1}\n{end for}\n";
  CHECK(document::read("page.md", flat + "Text.\n").blocks().size() == 1);
}

TEST_CASE("A fence and a label may have a condition", "[document]") {
  const auto page = document::read("page.md",
                                   "# A\n``` {if trained}\n| a |\n```\n"
                                   "{label head as no. {head}} {if trained}\n");
  REQUIRE(page.blocks().size() == 3);
  CHECK(page.blocks()[1].choice->branches.at(0).content.at(0).rows.size() == 1);
  CHECK(page.blocks()[2].choice->branches.at(0).content.at(0).call.arguments.at(0) == "head");
}

TEST_CASE("A paragraph that is on the long page alone may have a condition", "[document]") {
  const auto page =
      document::read("page.md", "{with --all if 1 < size(query)} It is long.\n\n{with --all} So.\n");
  REQUIRE(page.blocks().size() == 2);
  CHECK(page.blocks()[0].marks.words.at("with --all").has_value());
  CHECK(page.blocks()[0].prose[0].text == "It is long.");
  CHECK_FALSE(page.blocks()[1].marks.words.at("with --all").has_value());
}

TEST_CASE("A list may say how its numbers are printed", "[document]") {
  const auto page = document::read("page.md", "Theory: {list(d_k) sqrt(d_k):.4g}.\n");
  REQUIRE(page.blocks().at(0).prose.size() == 3);
  const auto& list = page.blocks()[0].prose[1];
  CHECK(list.format == ".4g");
  CHECK(list.call->arguments == std::vector<std::string>{"d_k", "sqrt(d_k)"});
  CHECK_THAT(refusal("{list(d_k) d_k:.4q}\n"), Catch::Matchers::StartsWith("page.md, line 1, column 16"));
}

TEST_CASE("A remark may be on several steps, and marks stand behind them", "[document]") {
  const auto page = document::read("page.md", "{at Q, K, with --all, one line if trained}\nWords.\n");
  const auto& remark = page.blocks().at(0);
  CHECK(remark.kind == Kind::remark);
  CHECK(remark.call.arguments == std::vector<std::string>{"Q", "K"});
  CHECK(remark.marks.words.count("with --all") == 1);
  CHECK(remark.marks.words.at("one line").has_value());
  CHECK(refusal("{at Q, with --all, K}\n").find("valid behind the steps") != std::string::npos);
}

TEST_CASE("An input may have the numbers of a formula, which may compare", "[document]") {
  const auto page =
      document::read("page.md", "## T\n\n    p[token, d_model]: as where(token = 0, 1, sin(token))\n");
  const auto& input = page.blocks().at(1);
  CHECK(input.is_input);
  CHECK(lessons::origin_of(input).formula.text() == "where(token = 0, 1, sin(token))");
  const auto drawn = document::read("page.md", "## T\n\n    Q[query, d_k]: normal\n");
  CHECK(lessons::origin_of(drawn.blocks().at(1)).formula.text().empty());
}

TEST_CASE("What a part declares has the names of the axes around it, and may be there only where it is given",
          "[document]") {
  const auto& page = lessons::document_named("transformer-block.md");
  const auto declared = lessons::declared_in(page);
  const auto find = [&](const std::string& id) {
    return *std::find_if(declared.begin(), declared.end(), [&](const auto& one) { return one.id == id; });
  };
  CHECK(find("layer_1/W_1").axes == formula::Axes{"d_model", "layer_1/d_ff"});
  CHECK(find("layer_1/W_1").is_given);
  CHECK(find("W_1").axes == formula::Axes{"d_model", "d_ff"});
  CHECK_FALSE(find("W_1").is_given);
  CHECK(find("layer_1/attention/K_heads").axes == formula::Axes{"layer_1/head", "key", "layer_1/d_k"});
  // kv_head = where(shared, kv_head, head)
  CHECK(find("attention/K_heads").axes == formula::Axes{"kv_head", "key", "d_k"});
}

TEST_CASE("What is wrong with a document is said with its line and column", "[document]") {
  using Catch::Matchers::StartsWith;
  CHECK_THAT(refusal("One.\n\nThe {if a}rest.\n"), StartsWith("page.md, line 3, column 5: {if …} without"));
  CHECK_THAT(refusal("One } two.\n"), StartsWith("page.md, line 1, column 5: a } without"));
  CHECK_THAT(refusal("One.\n\n{use a.md,\nx = 1}\n"),
             StartsWith("page.md, line 3, column 1: a { without its }"));
  CHECK_THAT(refusal("One { two.\n"), StartsWith("page.md, line 1, column 5: a { without"));
  CHECK_THAT(refusal("## A\n\n    scores = sum(d_k Q\n"), StartsWith("page.md, line 3, column 22"));
  CHECK_THAT(refusal("```\nnever ends\n"), StartsWith("page.md, line 1, column 1: ``` without"));
  CHECK_THAT(refusal("a\n\n<!-- never\n\nends\n"), StartsWith("page.md, line 3, column 1: <!-- without"));
  CHECK_THAT(refusal("---\ntitle: a\n"), StartsWith("page.md, line 3"));
  CHECK_THAT(refusal("{if a}\nb\n"), StartsWith("page.md, line 1, column 1: {if …} without"));
  CHECK_THAT(refusal("a\n\n{end}\n"), StartsWith("page.md, line 3"));
  CHECK_THAT(refusal("```\n| a |\nb |\n```\n"), StartsWith("page.md, line 3, column 1: a line of a table"));
  CHECK_THAT(refusal("```\n| a | {b |\n```\n"), StartsWith("page.md, line 2, column 7: a { without"));
  CHECK_THAT(refusal("```\n| {each } a |\n```\n"), StartsWith("page.md, line 2, column 3: {each …} without"));
}

TEST_CASE("A mutated document is read or refused with a place in it", "[document]") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> files = {file_named("sdpa.md"), file_named("masking.md"),
                                          file_named("cross-attention.md"), file_named("lookup.md"),
                                          file_named("parts/mixture.md")};
  const std::string inserted = "{}[]()`-#:\n ,=*/^\\\"{if }{end}{else}{use }{do }";
  const char* wanted = std::getenv("ATTNLAB_DOCUMENTS");
  const auto count = wanted == nullptr ? 3000 : std::stoi(wanted);
  for (int i = 0; i < count; ++i) {
    auto text = files[random() % files.size()];
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      const auto at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 40);
          break;
        case 1:
          text.insert(at, 1, inserted[random() % inserted.size()]);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 60));
      }
      if (text.empty()) text = "x";
    }
    const auto message = refusal(text);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 2;
    if (message.empty()) continue;
    CAPTURE(i, message);
    const auto line = message.find("line ");
    REQUIRE(line != std::string::npos);
    REQUIRE(std::stoul(message.substr(line + 5)) <= lines);
  }
}

TEST_CASE("A lesson's front matter gives its options, and a wrong one is named", "[document]") {
  const auto& sdpa = *lessons::lesson_named("sdpa");
  CHECK(sdpa.name == "sdpa");
  CHECK(sdpa.defaults.sentence == std::vector<std::string>{"girls saw the small cat"});
  CHECK(sdpa.probe->options.source.size() == 3);
  CHECK(sdpa.probe->options.window == std::size_t{3});
  CHECK(sdpa.probe->options.causal);
  CHECK_THROWS_WITH(lessons::options_of("--d-q 3", sdpa.options), Catch::Contains("--d-q"));
  CHECK_THROWS_WITH(lessons::options_of("--d-k three", sdpa.options), Catch::Contains("three"));
}
