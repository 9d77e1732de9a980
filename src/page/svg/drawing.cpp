#include "page/svg/drawing.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/text/printable.hpp"
#include "attn/text/width.hpp"

namespace attn::svg {

namespace {

std::string with(std::string words, std::string_view part, std::string_view other) {
  for (auto at = words.find(part); at != words.npos; at = words.find(part, at + other.size()))
    words.replace(at, part.size(), other);
  return words;
}

std::string rules_of(Theme theme) {
  const auto& [paper, ink, muted, rule, mark] = palette(theme);
  constexpr std::string_view rules =
      ".{0} .attn-paper{{fill:{1}}}.{0} text{{fill:{2}}}.{0} .attn-name{{fill:inherit}}.{0} "
      ".attn-muted{{fill:{3}}}"
      ".{0} .attn-rule{{fill:none;stroke:{4}}}.{0} .attn-grid{{fill:none;stroke:{4};stroke-opacity:.3}}"
      ".{0} .attn-mark{{fill:{5};stroke:{1};stroke-width:4;paint-order:stroke;stroke-linejoin:round}}"
      ".{0} .attn-point{{fill:{5};stroke:{1};stroke-width:1.5}}"
      ".{0} .attn-hatching{{fill:none;stroke:{4};stroke-opacity:.6}}"
      ".{0} .attn-halo{{fill:none;stroke:{1};stroke-width:5.5}}.{0} "
      ".attn-frame{{fill:none;stroke:{5};stroke-width:3}}"
      ".{0} .attn-guide{{fill:none;stroke:{5};stroke-width:1.6;stroke-dasharray:3 3}}"
      ".{0} .attn-edges{{fill:none;stroke:{3};stroke-width:1.3}}.{0} .attn-arrows{{fill:{3}}}"
      ".{0} .attn-box rect{{fill:none;stroke:#2171b5;stroke-width:1.5}}\n";
  return fmt::format(rules, class_of(theme), hex(paper), hex(ink), hex(muted), hex(rule), hex(mark));
}

constexpr std::string_view rules =
    ".attn-picture text{font:400 13px Helvetica,Arial,\"Liberation Sans\",\"DejaVu Sans Condensed\",\"DejaVu "
    "Sans\",\"Noto Sans\","
    "\"Noto Sans CJK JP\",sans-serif;letter-spacing:0;word-spacing:0;stroke:none}\n"
    ".attn-picture .attn-title{font-size:26px;font-weight:700}.attn-picture .attn-mark{font-weight:700}"
    ".attn-picture .attn-caption{font-size:16px;"
    "font-weight:700}.attn-picture .attn-words{font-size:16px}"
    ".attn-picture .attn-name{font-weight:700}"
    ".attn-picture .attn-14{font-size:14px}.attn-picture .attn-15{font-size:15px}"
    ".attn-picture .attn-16{font-size:16px}.attn-picture .attn-17{font-size:17px}"
    ".attn-picture .attn-18{font-size:18px}\n"
    ".attn-picture .attn-flow text{font-family:\"DejaVu Sans Mono\",Menlo,Consolas,monospace;font-size:14px}"
    ".attn-picture .attn-line{fill:none;stroke-width:3}.attn-picture .attn-arc{fill:none}"
    ".attn-picture .attn-marks{fill:none;stroke-width:9;stroke-linecap:round;stroke-dasharray:none}"
    ".attn-picture .attn-on-light{fill:#000000}.attn-picture .attn-on-dark{fill:#ffffff}\n";

}  // namespace

std::string at(double x, double y, const std::string& elements) {
  return fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", px(x), px(y), elements);
}

std::string px(double length) {
  return fmt::format("{:g}", std::round(length * 10.0) / 10.0);
}

std::string rectangle(double x, double y, double width, double height, const Colour& colour,
                      const std::string& inside) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}\n", px(x), px(y),
                     px(width), px(height), hex(colour), inside.empty() ? "/>" : ">" + inside + "</rect>");
}

std::string text(double x, double y, std::string_view words, Anchor anchor, std::string_view style,
                 double rotation, double size) {
  if (words.empty()) return "";
  constexpr const char* anchors[] = {"start", "middle", "end"};
  const auto turned = rotation == 0.0
                          ? std::string()
                          : fmt::format(" transform=\"rotate({:g} {} {})\"", rotation, px(x), px(y));
  const auto larger = size < font_size + 1 ? "" : fmt::format("attn-{:.0f} ", std::floor(size));
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}attn-{}\"{}>{}</text>\n", px(x),
                     px(y), anchors[static_cast<int>(anchor)], larger, style, turned, escaped(words));
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

std::string style_sheet(bool follows_reader) {
  auto sheet = std::string(rules) + rules_of(Theme::light) + rules_of(Theme::dark);
  if (follows_reader)
    sheet +=
        ".attn-auto .attn-dark{display:none}@media(prefers-color-scheme:dark){.attn-auto "
        ".attn-light{display:none}.attn-auto .attn-dark{display:inline}}\n";
  return fmt::format("<style>\n{}</style>\n", sheet);
}

std::string_view class_of(Theme theme) {
  return theme == Theme::light ? "attn-light" : "attn-dark";
}

}  // namespace attn::svg
