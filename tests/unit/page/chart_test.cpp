#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <regex>
#include <sstream>

#include "attn/text/width.hpp"
#include "page/svg/svg.hpp"
#include "page/text/text.hpp"

namespace {

attn::Curves logarithmic(const std::vector<double>& positions, const std::vector<attn::Curves::Line>& lines) {
  attn::Curves curves;
  curves.positions = positions;
  curves.axis = "n";
  curves.lines = lines;
  std::vector<double> all;
  for (const auto& line : lines) all.insert(all.end(), line.values.begin(), line.values.end());
  curves.horizontal = attn::scale_of(positions);
  curves.vertical = attn::scale_of(all);
  curves.horizontal.is_logarithmic = curves.vertical.is_logarithmic = true;
  return curves;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The number of the line that ends with the name.
std::size_t row_of(const std::vector<std::string>& lines, const std::string& name) {
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].size() >= name.size() && lines[i].substr(lines[i].size() - name.size()) == name) return i;
  FAIL("no line ends with " << name);
  return 0;
}

}  // namespace

TEST_CASE("every line of a chart has its name where it ends") {
  const auto lines = lines_of(attn::format_chart(
      logarithmic({10, 100, 1000},
                  {{"square", {1, 100, 10000}}, {"line", {1, 10, 100}}, {"flat", {1, 1, 1}}}),
      attn::tick));
  CHECK(row_of(lines, "square") == 0);
  CHECK(row_of(lines, "flat") == lines.size() - 2);
  const auto middle = row_of(lines, "line");
  CHECK(middle > 3);
  CHECK(middle < lines.size() - 4);
}

TEST_CASE("names that would stand on one another move apart") {
  std::vector<attn::Curves::Line> all;
  for (const char* name : {"a", "b", "c", "d", "e"}) all.push_back({name, {1, 100}});
  const auto lines = lines_of(attn::format_chart(logarithmic({1, 10}, all), attn::tick));
  std::vector<std::size_t> rows;
  for (const auto& line : all) rows.push_back(row_of(lines, " " + line.name));
  std::sort(rows.begin(), rows.end());
  CHECK(rows == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("a chart fits the terminal and has ticks at powers of ten") {
  const auto text =
      attn::format_chart(logarithmic({128, 256, 512}, {{"a-rather-long-name", {0.5, 20, 3000}}}), attn::tick);
  for (const auto& line : lines_of(text)) CHECK(attn::display_width(line) <= 80);
  for (const char* tick : {" 1┤", " 10┤", " 100┤", " 1000┤"}) CHECK(text.find(tick) != std::string::npos);
  CHECK(lines_of(text).back().find("128 ") != std::string::npos);
  CHECK(lines_of(text).back().find(" 512") != std::string::npos);
}

TEST_CASE("a line that ends early has its name inside the chart") {
  const auto lines = lines_of(
      attn::format_chart(logarithmic({1, 10, 100, 1000},
                                     {{"short", {5, 5, std::nan(""), std::nan("")}}, {"long", {1, 2, 3, 4}}}),
                         attn::tick));
  bool is_inside = false;
  for (const auto& line : lines)
    if (const auto at = line.find("short"); at != line.npos) is_inside = line.size() > at + 6;
  CHECK(is_inside);
}

TEST_CASE("a chart of a single point is one dot with its name") {
  const auto text = attn::format_chart(logarithmic({64}, {{"only", {2.0}}}), attn::tick);
  CHECK(text.find("only") != std::string::npos);
}

TEST_CASE("ticks are round: powers of ten where there are three, else 1, 2 and 5 of them, or equal steps") {
  CHECK(attn::ticks_of({1.0, 1000.0, true}) == std::vector<double>{1.0, 10.0, 100.0, 1000.0});
  CHECK(attn::ticks_of({0.5, 200.0, true}) == std::vector<double>{1.0, 10.0, 100.0});
  CHECK(attn::ticks_of({2.0, 32.0, true}) == std::vector<double>{2.0, 5.0, 10.0, 20.0});
  CHECK(attn::ticks_of({0.0, 4.0, false}) == std::vector<double>{0.0, 1.0, 2.0, 3.0, 4.0});
  CHECK(attn::ticks_of({0.13, 1.966, false}) == std::vector<double>{0.5, 1.0, 1.5});
  CHECK(attn::ticks_of({7.0, 7.0, false}) == std::vector<double>{7.0});
}

TEST_CASE("a scale with round ends holds the values") {
  const auto scale = attn::with_round_ends({0.13, 1.966, false});
  CHECK(scale.low == 0.0);
  CHECK(scale.high == 2.0);
  CHECK(attn::with_round_ends({0.5, 200.0, true}).high == 200.0);
}

namespace {

std::string plotted(const attn::Curves& curves) {
  return attn::svg::lines.draw({.content = curves}, {760, 380}, {}).elements;
}

}  // namespace

TEST_CASE("a position has no name where it would run into the one before") {
  const auto drawing = plotted(logarithmic({400, 100, 101}, {{"only", {3.0, 1.0, 2.0}}}));
  CHECK(drawing.find(">100<") != drawing.npos);
  CHECK(drawing.find(">101<") == drawing.npos);
  CHECK(drawing.find(">400<") != drawing.npos);
}

TEST_CASE("lines differ in colour and dashes, and no two names stand on each other") {
  std::vector<attn::Curves::Line> all;
  for (int i = 0; i < 9; ++i) all.push_back({std::string(1, static_cast<char>('a' + i)), {1, 2.0}});
  const auto drawing = plotted(logarithmic({1, 10}, all));
  for (int i = 0; i < 9; ++i) CHECK(drawing.find("<g " + attn::svg::paint_of_line(i)) != drawing.npos);
  CHECK(attn::svg::paint_of_line(0) != attn::svg::paint_of_line(1));
  CHECK(drawing.find("stroke-dasharray") != drawing.npos);
  std::vector<double> heights;
  const std::regex name("y=\"([0-9.]+)\" class=\"attn-15 attn-on attn-name\">[a-i]<");
  for (std::sregex_iterator match(drawing.begin(), drawing.end(), name), end; match != end; ++match)
    heights.push_back(std::stod((*match)[1]));
  REQUIRE(heights.size() == 9);
  std::sort(heights.begin(), heights.end());
  for (std::size_t i = 1; i < heights.size(); ++i) CHECK(heights[i] - heights[i - 1] >= 13.0);
}
