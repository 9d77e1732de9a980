#include "page/svg/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/text/width.hpp"

namespace attn::svg {

namespace {

std::string with(std::string words, std::string_view part, std::string_view other) {
  for (auto at = words.find(part); at != words.npos; at = words.find(part, at + other.size()))
    words.replace(at, part.size(), other);
  return words;
}

std::string rules_of(Theme theme, std::string_view selector) {
  const auto& [paper, ink, muted, rule, mark] = palette(theme);
  constexpr std::string_view rules =
      "{0} .attn-paper{{fill:{1}}}{0} text{{fill:{2}}}{0} .attn-muted{{fill:{3}}}"
      "{0} .attn-rule,{0} .attn-grid,{0} .attn-hatching{{fill:none;stroke:{4}}}"
      "{0} .attn-gaps,{0} .attn-halo{{fill:none;stroke:{1}}}"
      "{0} .attn-mark{{fill:{5};stroke:{1}}}{0} .attn-point{{fill:{5};stroke:{1};stroke-width:1.5}}"
      "{0} .attn-frame,{0} .attn-guide{{fill:none;stroke:{5}}}"
      "{0} .attn-marked-arc{{fill:none;stroke:{5}}}{0} .attn-image-{6}{{display:inline}}"
      "{0} .attn-image-{7}{{display:none}}{0} .attn-edges{{fill:none;stroke:{3};stroke-width:1.3}}{0} "
      ".attn-arrows{{fill:{3}}}\n";
  const auto& [own, other] = theme == Theme::light ? std::pair("light", "dark") : std::pair("dark", "light");
  return fmt::format(rules, selector, hex(paper), hex(ink), hex(muted), hex(rule), hex(mark), own, other) +
         (theme == Theme::dark ? rules_of_dark_paints(selector) : "");
}

constexpr std::string_view common_rules =
    ".attn-picture text{font:400 13px Helvetica,Arial,\"Liberation Sans\",\"DejaVu Sans Condensed\",\"DejaVu "
    "Sans\",\"Noto Sans\",\"Noto Sans CJK JP\",sans-serif;letter-spacing:0;word-spacing:0;stroke:none}\n"
    ".attn-picture .attn-title{font-size:26px;font-weight:700}"
    ".attn-picture .attn-caption{font-size:16px;font-weight:700}.attn-picture .attn-words{font-size:16px}"
    ".attn-picture .attn-mark{font-weight:700;stroke-width:4;paint-order:stroke;stroke-linejoin:round}"
    ".attn-picture .attn-name{font-weight:700}.attn-picture .attn-14{font-size:14px}"
    ".attn-picture .attn-15{font-size:15px}.attn-picture .attn-16{font-size:16px}"
    ".attn-picture .attn-17{font-size:17px}.attn-picture .attn-18{font-size:18px}\n"
    ".attn-picture .attn-on,.attn-picture .attn-on text{fill:currentColor}"
    ".attn-picture .attn-line{fill:none;stroke:currentColor;stroke-width:3}"
    ".attn-picture .attn-marks{fill:none;stroke:currentColor;stroke-width:9;stroke-linecap:round}"
    ".attn-picture .attn-grid{stroke-opacity:.3}.attn-picture .attn-hatching{stroke-opacity:.6}"
    ".attn-picture .attn-halo{stroke-width:5.5}.attn-picture .attn-frame{stroke-width:3}"
    ".attn-picture .attn-guide{stroke-width:1.6;stroke-dasharray:3 3}"
    ".attn-picture .attn-arc{fill:none;stroke:#2171b5}"
    ".attn-picture .attn-box rect{fill:none;stroke:#2171b5;stroke-width:1.5}"
    ".attn-picture .attn-flow text{font-family:\"DejaVu Sans "
    "Mono\",Menlo,Consolas,monospace;font-size:14px}\n";

}  // namespace

std::string px(double length) {
  return fmt::format("{:g}", std::round(length * 10.0) / 10.0);
}

void Drawing::rectangle(double x, double y, double across, double down, std::string_view attributes) {
  elements += in_px("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" ", x, y, across, down);
  elements += fmt::format("{}/>\n", attributes);
}

void Drawing::frame(double x, double y, double across, double down, std::string_view style) {
  rectangle(x, y, across, down, fmt::format("class=\"attn-{}\"", style));
}

void Drawing::path(std::string_view style, const std::string& lines, std::string_view attributes) {
  if (!lines.empty())
    elements += fmt::format("<path d=\"{}\" class=\"attn-{}\"{}/>\n", lines, style, attributes);
}

void Drawing::text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                   double size, double rotation) {
  if (words.empty()) return;
  elements += in_px("<text x=\"{}\" y=\"{}\"", x, y);
  if (anchor != Anchor::start)
    elements += anchor == Anchor::end ? " text-anchor=\"end\"" : " text-anchor=\"middle\"";
  const auto letters = size < font_size + 1 ? "" : fmt::format("attn-{:.0f}", std::floor(size));
  if (!letters.empty() || !style.empty())
    elements += fmt::format(" class=\"{}{}{}{}\"", letters, letters.empty() || style.empty() ? "" : " ",
                            style.empty() ? "" : "attn-", style);
  if (rotation != 0.0) elements += in_px(" transform=\"rotate({} {} {})\"", rotation, x, y);
  elements += fmt::format(">{}</text>\n", escaped(words));
}

void Drawing::group(std::string_view attributes, const std::string& inside) {
  if (!inside.empty()) elements += fmt::format("<g {}>\n{}</g>\n", attributes, inside);
}

void Drawing::put(double x, double y, const Drawing& drawing) {
  group(in_px("transform=\"translate({} {})\"", x, y), drawing.elements);
  width = std::max(width, x + drawing.width);
  height = std::max(height, y + drawing.height);
  lacks_words = lacks_words || drawing.lacks_words;
  lacks_numbers = lacks_numbers || drawing.lacks_numbers;
}

void Drawing::put_below(double distance, const Drawing& drawing) {
  if (!drawing.elements.empty()) put(0, height + (elements.empty() ? 0.0 : distance), drawing);
}

void Drawing::put_beside(double distance, const Drawing& drawing) {
  if (!drawing.elements.empty()) put(width + (elements.empty() ? 0.0 : distance), 0, drawing);
}

Drawing lines_of_text(const std::string& words, double width, double size, std::string_view style) {
  Drawing drawing;
  const auto columns = static_cast<std::size_t>(width * static_cast<double>(display_width(words)) /
                                                std::max(text_width(words, size), 1.0));
  for (const auto& line : wrap(words, std::max<std::size_t>(columns, 20))) {
    drawing.text(0, drawing.height + size, line, Anchor::start, style);
    drawing.height += 1.4 * size;
    drawing.width = std::max(drawing.width, std::min(text_width(line, size), width));
  }
  return drawing;
}

Drawing in_the_middle(Drawing drawing, double width) {
  if (drawing.width >= width) return drawing;
  Drawing wider;
  wider.put((width - drawing.width) / 2, 0, drawing);
  wider.width = width;
  return wider;
}

double text_width(std::string_view words, double size) {
  constexpr std::string_view wide = "mwMW@%", narrow = "fijlrt.,:;'|!()[] ", slim = "ckszvxy";
  double width = 0.64 * static_cast<double>(display_width(words));
  for (const char c : words) {
    if (wide.find(c) != wide.npos) width += 0.36;
    if (c >= 'A' && c <= 'Z') width += 0.15;
    if (slim.find(c) != slim.npos) width -= 0.05;
    if (narrow.find(c) != narrow.npos) width -= 0.22;
  }
  return 0.93 * width * size;
}

double widest(const std::vector<std::string>& words, double size) {
  double width = 0.0;
  for (const auto& word : words) width = std::max(width, text_width(word, size));
  return width;
}

std::string without_noncharacters(std::string words) {
  for (const std::string_view absent : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    words = with(std::move(words), absent, "\xEF\xBF\xBD");
  return words;
}

std::string escaped(std::string_view words) {
  auto text = with(without_noncharacters(printable(words)), "&", "&amp;");
  return with(with(with(std::move(text), "<", "&lt;"), ">", "&gt;"), "\"", "&quot;");
}

std::string with_minus_sign(std::string number) {
  return with(std::move(number), "-", "−");
}

std::string style_sheet(std::string_view theme) {
  const auto selector = fmt::format(".{}", theme);
  auto sheet =
      std::string(common_rules) + rules_of(theme == "attn-dark" ? Theme::dark : Theme::light, selector);
  if (theme == "attn-auto")
    sheet += fmt::format("@media(prefers-color-scheme:dark){{{}}}\n", rules_of(Theme::dark, selector));
  return fmt::format("<style>\n{}</style>\n", sheet);
}

}  // namespace attn::svg
