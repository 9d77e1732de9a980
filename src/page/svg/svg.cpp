#include "page/svg/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/printable.hpp"
#include "attn/text/width.hpp"

namespace attn::svg {

namespace {

constexpr std::array<std::array<double, 3>, 5> ramp = {
    {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}}};

}  // namespace

std::string at(double x, double y, const std::string& elements) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, y, elements);
}

std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation) {
  const char* anchors[] = {"start", "middle", "end"};
  const auto turned = rotation == 0.0
                          ? std::string()
                          : fmt::format(" transform=\"rotate({:g} {:.1f} {:.1f})\"", rotation, x, y);
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\"{}>{}</text>\n", x, y,
                     anchors[static_cast<int>(anchor)], style, turned, escaped(words));
}

double text_width(std::string_view words, double font_size) {
  return static_cast<double>(display_width(words)) * 0.6 * font_size;
}

std::string without_noncharacters(std::string words) {
  for (const std::string_view absent : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (auto at = words.find(absent); at != words.npos; at = words.find(absent, at))
      words.replace(at, absent.size(), "\xEF\xBF\xBD");
  return words;
}

std::string escaped(std::string_view words) {
  std::string result;
  for (const char c : without_noncharacters(printable(words))) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string shade(double value) {
  const double place = std::clamp(value, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), ramp.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto channel = [&](std::size_t i) {
    return static_cast<int>(std::lround(ramp[below][i] + part * (ramp[below + 1][i] - ramp[below][i])));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(1), channel(2));
}

bool is_dark(double value) {
  return value > 0.55;
}

}  // namespace attn::svg

namespace attn {

namespace {

constexpr double margin = 24.0;
constexpr double room_for_title = 34.0;
constexpr double widest_row = 1560.0;

constexpr std::string_view about_heatmaps =
    "Pictures of a run of attnlab. In a heatmap a darker cell is a larger weight, on one scale from 0 to 1, "
    "and "
    "a hatched one is hidden by a mask.";

constexpr std::string_view style_sheet = R"(<style>
svg { font-family: "DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", system-ui, sans-serif; }
.paper { fill: #ffffff; }
text { fill: #1b1b1b; font-size: 12px; }
.title { font-size: 18px; font-weight: bold; }
.heading { font-size: 14px; font-weight: bold; }
.formula { font-size: 12px; fill: #555555; }
.caption { font-weight: bold; }
.axis { font-size: 12px; font-style: italic; }
.cell { stroke: #ffffff; stroke-width: 1; }
.hidden { fill: none; stroke: #a0a0a0; stroke-width: 1; }
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

/// A table of which query may see which key.
bool is_mask(const Event& event) {
  return event.tensor->dtype == Dtype::boolean && event.axes.size() >= 2 && event.axes.back() == "key";
}

/// The part of a formula that stands on its first line.
std::string first_line(const std::string& formula) {
  return formula.substr(0, formula.find('\n'));
}

}  // namespace

SvgRenderer::SvgRenderer(const Header& header) : title_(header.lesson + ": " + header.title) {
  if (const auto origin = header.text(origin_of_numbers); origin.starts_with("drawn"))
    title_ += " (" + origin + ")";
  width_ = 2 * margin + svg::text_width(title_, 18.0);
  height_ = margin + room_for_title;
}

void SvgRenderer::receive(const Event& event) {
  if (!event.tensor || event.tensor->data == nullptr || event.tensor->shape.empty()) return;
  if (!event.distribution && !is_curve(event) && !is_mask(event)) return;
  const auto drawing = is_curve(event) ? svg::line_plot(event) : svg::heatmaps(event);
  const auto formula = event.id + (event.formula.empty() ? "" : " = " + first_line(event.formula));
  draw(event.title.empty() ? event.id : event.title, formula, drawing);
}

void SvgRenderer::draw(const std::string& heading, const std::string& line, const svg::Drawing& drawing) {
  auto figure = fmt::format("<title>{}</title>\n<desc>{}</desc>\n", svg::escaped(heading),
                            svg::escaped(drawing.description.empty() ? line : drawing.description));
  figure += svg::text(0.0, 14.0, heading, svg::Anchor::start, "heading");
  figure += svg::text(0.0, 32.0, line, svg::Anchor::start, "formula");
  figure += svg::at(0.0, 46.0, drawing.elements);
  place(figure, std::max({drawing.width, svg::text_width(line, 12.0), svg::text_width(heading, 15.0)}),
        drawing.height + 46.0);
  descriptions_ += ' ' + (drawing.description.empty() ? heading + "." : drawing.description);
}

void SvgRenderer::place(const std::string& figure, double width, double height) {
  if (row_width_ > 0.0 && row_width_ + width > widest_row) {
    height_ += row_height_;
    row_width_ = row_height_ = 0.0;
  }
  figures_ += svg::at(margin + row_width_, height_, figure);
  row_width_ += width + 2 * margin;
  row_height_ = std::max(row_height_, height + 2 * margin);
  width_ = std::max(width_, row_width_);
}

std::string SvgRenderer::finish() {
  if (figures_.empty())
    throw Error(
        "--format svg draws attention weights and curves, but none are shown; valid: a lesson that has them, "
        "and --steps that name them");
  auto document = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" role=\"img\">\n"
      "<title>{2}</title>\n"
      "<desc>{4}{5}</desc>\n"
      "{3}<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n",
      width_, height_ + row_height_, svg::escaped(title_), style_sheet, about_heatmaps,
      svg::escaped(std::exchange(descriptions_, {})));
  document += svg::text(margin, margin + 14.0, title_, svg::Anchor::start, "title");
  document += std::exchange(figures_, {}) + "</svg>\n";
  return document;
}

}  // namespace attn
