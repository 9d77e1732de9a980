#include "trace/svg/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/error.hpp"
#include "trace/svg/svg_heatmap.hpp"
#include "trace/svg/svg_plot.hpp"

namespace attn {

namespace {

constexpr double margin = 24.0;
constexpr double room_for_title = 34.0;

constexpr std::string_view style_sheet = R"(<style>
svg { font-family: "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", system-ui, sans-serif; }
.paper { fill: #ffffff; }
text { fill: #1b1b1b; font-size: 12px; }
.title { font-size: 18px; font-weight: bold; }
.heading { font-size: 14px; font-weight: bold; }
.formula { font-size: 12px; fill: #555555; }
.caption { font-weight: bold; }
.cell { stroke: #ffffff; stroke-width: 1; }
.frame { fill: none; stroke: #888888; }
.grid { stroke: #888888; stroke-opacity: 0.25; }
.line { fill: none; stroke-width: 2; }
.on-light { fill: #111111; }
.on-dark { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  .paper { fill: #1b1b1b; }
  text { fill: #eeeeee; }
  .on-light { fill: #111111; }
  .formula { fill: #aaaaaa; }
  .cell { stroke: #1b1b1b; }
}
</style>
)";

bool is_curve(const Event& event) {
  return event.curve && (event.tensor->shape.size() == 1 || event.tensor->shape.size() == 2);
}

/// The part of a formula that stands on its first line.
std::string first_line(const std::string& formula) {
  return formula.substr(0, formula.find('\n'));
}

}  // namespace

SvgRenderer::SvgRenderer(const Header& header) : title_(header.lesson + ": " + header.title) {
  width_ = 2 * margin + svg::text_width(title_, 18.0);
  height_ = margin + room_for_title;
}

void SvgRenderer::receive(const Event& event) {
  if (!event.tensor || event.tensor->data == nullptr || event.tensor->shape.empty()) return;
  if (!event.distribution && !is_curve(event)) return;
  const auto drawing = event.distribution ? svg::heatmaps(event) : svg::line_plot(event);
  const auto formula = event.id + (event.formula.empty() ? "" : " = " + first_line(event.formula));
  draw(event.title, formula, drawing);
}

void SvgRenderer::draw(const std::string& heading, const std::string& line, const svg::Drawing& drawing) {
  auto figure = svg::text(0.0, 14.0, heading, svg::Anchor::start, "heading");
  figure += svg::text(0.0, 32.0, line, svg::Anchor::start, "formula");
  figure += svg::at(0.0, 46.0, drawing.elements);
  place(figure, std::max(drawing.width, svg::text_width(line, 12.0)), drawing.height + 46.0);
}

void SvgRenderer::place(const std::string& figure, double width, double height) {
  figures_ += svg::at(margin, height_, figure);
  width_ = std::max(width_, width + 2 * margin);
  height_ += height + 2 * margin;
}

std::string SvgRenderer::finish() {
  if (figures_.empty())
    throw Error(
        "--format svg draws attention weights and curves, but none are shown; valid: a lesson that has them, "
        "and "
        "--steps that name them");
  auto document = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n{3}<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n",
      width_, height_, svg::escaped(title_), style_sheet);
  document += svg::text(margin, margin + 14.0, title_, svg::Anchor::start, "title");
  document += std::exchange(figures_, {}) + "</svg>\n";
  return document;
}

}  // namespace attn
