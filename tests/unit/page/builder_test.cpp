#include "page/builder.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "page/text/text.hpp"
#include "tests/unit/watches.hpp"
#include "trace/trace.hpp"

using attn::Tensor;
namespace page = attn::page;

namespace {

page::Page page_of(const std::function<void(attn::Trace&)>& lesson, const attn::PageStyle& style = {}) {
  page::Builder builder({.lesson = "demo", .title = "a lesson", .config = {}}, style);
  attn::Trace trace(builder, {});
  lesson(trace);
  return builder.finish();
}

const page::Step& step_of(const page::Section& section) {
  return std::get<page::Step>(section.content);
}

/// Shares of which row i gives half to key i and the rest to key 0.
Tensor<2> shares(std::size_t length) {
  Tensor<2> weights = xt::zeros<double>({length, length});
  for (std::size_t i = 0; i < length; ++i) {
    weights(i, i) += 0.5;
    weights(i, 0) += 0.5;
  }
  return weights;
}

page::Page page_of_shares(std::size_t length, const attn::PageStyle& style = {}) {
  return page_of(
      [&](attn::Trace& trace) {
        trace.step({.id = "weights",
                    .axes = {"query", "key"},
                    .distribution = true,
                    .worked = [](const attn::Index&) { return attn::Worked(0.5); },
                    .worked_at = attn::Index{length / 2, 0}},
                   shares(length));
      },
      {.precision = style.precision, .full = style.full, .all = true});
}

std::vector<std::string> labels_of(const page::Places& places) {
  std::vector<std::string> labels;
  for (const auto& place : places) labels.push_back(place ? place->label : "…");
  return labels;
}

}  // namespace

TEST_CASE("A page outlives the tensors of its run, and is the same text twice") {
  const auto made = page_of([](attn::Trace& trace) {
    trace.note("idea", "The idea", "Words.", "Q = X W_Q");
    trace.step({.id = "Q", .formula = "X W_Q", .axes = {"query"}}, Tensor<1>{1.0, 2.5});
    trace.note("next", "Try next", "", "attnlab a   look\nattnlab b\n    and see");
  });
  const auto text = attn::text_of(made, {});
  CHECK(text == attn::text_of(made, {}));
  CHECK(text.find("1.0000  2.5000") != text.npos);
  REQUIRE(made.next);
  const auto& commands = made.next->block.value().commands;
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].command == "attnlab a");
  CHECK(commands[0].remark == "look");
  CHECK(commands[1].command == "attnlab b");
  CHECK(commands[1].remark == "and see");
}

TEST_CASE("A table knows its rows, columns and strongest keys") {
  const auto made = page_of_shares(3);
  const auto& table = *step_of(made.sections.at(0)).table;
  CHECK(table.kind == page::Table::Kind::shares);
  CHECK_FALSE(table.is_elided);
  CHECK(table.has_hidden);
  const auto& grid = *table.grids.at(0);
  CHECK(labels_of(grid.columns) == std::vector<std::string>{"0", "1", "2"});
  CHECK(grid.rows.at(0).strongest.size() == 1);
  CHECK(grid.rows.at(2).strongest.size() == 2);
  CHECK(grid.rows.at(2).cells.at(2)->offset == 8);
  CHECK(grid.rows.at(2).cells.at(2)->number == "0.5000");
}

TEST_CASE("An elided table of shares has its ends, and the row that is worked out with its largest shares") {
  const auto made = page_of_shares(40);
  const auto& table = *step_of(made.sections.at(0)).table;
  CHECK(table.is_elided);
  const auto& grid = *table.grids.at(0);
  CHECK(labels_of(grid.columns) == std::vector<std::string>{"0", "1", "2", "…", "37", "38", "39"});
  REQUIRE(grid.rows.size() == 9);
  REQUIRE(grid.rows[4].place);
  CHECK(grid.rows[4].place->index == 20);
  CHECK_FALSE(grid.rows[3].place);
  REQUIRE(grid.rows[4].largest.size() == 2);
  CHECK(grid.rows[4].largest[1].key.index == 20);
  const auto whole = page_of_shares(40, {.full = true});
  CHECK(page::offsets_of(*step_of(whole.sections.at(0)).table).size() == 1600);
}

TEST_CASE("What is no part of a page is folded, without numbers unless somebody asks for them") {
  const auto lesson = [](attn::Trace& trace) {
    trace.page({{.id = "a"}, attn::in_one_line("b"), attn::without_table("c")});
    for (const auto* id : {"d", "c", "b", "a"}) trace.step({.id = id, .axes = {"key"}}, Tensor<1>{1.5, 2.0});
  };
  const auto brief = page_of(lesson);
  REQUIRE(brief.sections.size() == 3);
  CHECK(step_of(brief.sections[0]).id == "a");
  CHECK(brief.sections[0].form == page::Form::whole);
  CHECK(brief.sections[1].form == page::Form::line);
  CHECK(brief.sections[2].form == page::Form::without_numbers);
  REQUIRE(brief.more.size() == 1);
  CHECK(step_of(brief.more[0]).id == "d");
  CHECK_FALSE(step_of(brief.more[0]).table);
  CHECK_FALSE(step_of(brief.sections[2]).table);
  const auto detailed = page_of(lesson, {.has_details = true});
  CHECK(step_of(detailed.more[0]).table);
  CHECK(step_of(detailed.sections[2]).table);
}
