#include "page/svg/drawing.hpp"

#ifndef __EMSCRIPTEN__
#include <zlib.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <utility>

#include "attn/random/random.hpp"
#include "attn/text/width.hpp"
#include "page/text/plain.hpp"

namespace attn::svg {

namespace {

constexpr int shade_steps = 32;  // on each side of 0

struct Colours {
  std::array<Colour, 5> above_0, below_0;
  Palette palette;
  std::array<Colour, 8> lines;
};

/// Colours given as "0xRRGGBB".
template <class... Numbers>
constexpr std::array<Colour, sizeof...(Numbers)> colours_of(Numbers... rgb) {
  return {Colour{static_cast<double>(rgb >> 16), static_cast<double>(rgb >> 8 & 0xFF),
                 static_cast<double>(rgb & 0xFF)}...};
}

constexpr Colours on_light = {
    colours_of(0xF7FBFF, 0xC6DBEF, 0x6BAED6, 0x2171B5, 0x08306B),
    colours_of(0xF7FBFF, 0xFDD0A2, 0xFD8D3C, 0xD94801, 0x7F2704),
    {{255, 255, 255}, {27, 27, 27}, {85, 85, 85}, {150, 150, 150}, {194, 24, 91}},
    colours_of(0x1F5FA8, 0xB84A00, 0x00755A, 0x9C3587, 0x7A5A1F, 0xB3261E, 0x0B6F80, 0x5F6368)};
constexpr Colours on_dark = {
    colours_of(0x1E2229, 0x1B3D66, 0x2171B5, 0x6BAED6, 0xDEEBF7),
    colours_of(0x1E2229, 0x5C2E0E, 0xBE500C, 0xFD964B, 0xFEE6CE),
    {{20, 22, 26}, {238, 238, 238}, {170, 176, 186}, {125, 130, 140}, {255, 128, 171}},
    colours_of(0x7AB8F0, 0xFF9A52, 0x4FD0A5, 0xE08AD0, 0xD1AB62, 0xFF8A80, 0x5FD0DC, 0xB5BAC2)};

const Colours& colours_on(Theme theme) {
  return theme == Theme::light ? on_light : on_dark;
}

/// The relative luminance of WCAG 2.
double luminance(const Colour& colour) {
  const auto linear = [](double channel) {
    const double part = channel / 255.0;
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

int step_of(double place) {
  return static_cast<int>(std::lround(std::clamp(place, -1.0, 1.0) * shade_steps));
}

Colour shade_of_step(Theme theme, int step) {
  return shade(theme, static_cast<double>(step) / shade_steps);
}

std::string rules_of_dark_paints(std::string_view selector) {
  std::string rules;
  const auto add = [&](std::string_view name, auto number, const Colour& colour, const Colour& ink) {
    rules += fmt::format("{} .attn-{}{}{{fill:{};color:{}}}", selector, name, number, hex(colour), hex(ink));
  };
  for (int step = -shade_steps; step <= shade_steps; ++step) {
    const auto colour = shade_of_step(Theme::dark, step);
    add("shade", step, colour, ink_on(colour));
  }
  for (std::size_t i = 0; i < on_dark.lines.size(); ++i) add("line", i, on_dark.lines[i], on_dark.lines[i]);
  add("marked", "", on_dark.palette.mark, ink_on(on_dark.palette.mark));
  return rules;
}

std::string rules_of(Theme theme, std::string_view selector) {
  const auto& [paper, ink, muted, rule, mark] = palette(theme);
  const bool is_dark = theme == Theme::dark;
  std::string rules(theme_rules());
  for (const auto& [name, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
           {"$picture", std::string(selector)},
           {"$paper", hex(paper)},
           {"$ink", hex(ink)},
           {"$muted", hex(muted)},
           {"$rule", hex(rule)},
           {"$mark", hex(mark)},
           {"$own", is_dark ? "dark" : "light"},
           {"$other", is_dark ? "light" : "dark"}})
    rules = replaced(std::move(rules), name, value);
  return rules + (is_dark ? rules_of_dark_paints(selector) : "");
}

std::string big_endian(std::size_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16), static_cast<char>(number >> 8),
          static_cast<char>(number)};
}

std::string chunk(const std::string& type, const std::string& data) {
  return big_endian(data.size()) + type + data + big_endian(crc32(type + data));
}

}  // namespace

std::string hex(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(colour.red), std::lround(colour.green),
                     std::lround(colour.blue));
}

double contrast(const Colour& one, const Colour& other) {
  const auto [low, high] = std::minmax({luminance(one), luminance(other)});
  return (high + 0.05) / (low + 0.05);
}

Colour shade(Theme theme, double place) {
  const auto& ramp = place < 0.0 ? colours_on(theme).below_0 : colours_on(theme).above_0;
  const double along = std::min(std::abs(place), 1.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(along), ramp.size() - 2);
  const double part = along - static_cast<double>(below);
  const auto &from = ramp[below], &to = ramp[below + 1];
  return {std::lerp(from.red, to.red, part), std::lerp(from.green, to.green, part),
          std::lerp(from.blue, to.blue, part)};
}

Colour ink_on(const Colour& colour) {
  const Colour black, white{255, 255, 255};
  return contrast(black, colour) < contrast(white, colour) ? white : black;
}

const Palette& palette(Theme theme) {
  return colours_on(theme).palette;
}

std::string paint(const Colour& colour) {
  return fmt::format("fill=\"{}\" color=\"{}\"", hex(colour), hex(ink_on(colour)));
}

std::string paint_of_place(double place) {
  const int step = step_of(place);
  return fmt::format("class=\"attn-shade{}\" {}", step, paint(shade_of_step(Theme::light, step)));
}

std::string paint_of_part(std::size_t part) {
  constexpr std::array places = {0.85, 0.4, -0.25, -0.6, 0.15, 0.6, -0.45, -0.85};
  return paint_of_place(places[part % places.size()]);
}

std::string paint_of_mark() {
  return "class=\"attn-marked\" " + paint(on_light.palette.mark);
}

std::string paint_of_line(std::size_t line) {
  const auto colour = hex(on_light.lines[line %= on_light.lines.size()]);
  return fmt::format("class=\"attn-line{0}\" fill=\"{1}\" color=\"{1}\"", line, colour);
}

#ifdef __EMSCRIPTEN__
const bool can_pack = false;

std::string packed(const std::string&, int) {
  return {};
}
#else
const bool can_pack = true;

std::string packed(const std::string& bytes, int level) {
  auto size = compressBound(bytes.size());
  std::string result(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                bytes.size(), level) != Z_OK)
    throw std::bad_alloc();
  result.resize(size);
  return result;
}
#endif

std::string png(const std::vector<double>& places, std::size_t width, Theme theme) {
  constexpr std::size_t fewest_pixels = 1000;  // so that no cell blurs
  const std::size_t height = places.size() / width, zoom = 1 + fewest_pixels / std::max(width, height);
  const auto colour_of = [](double place) {
    if (std::isfinite(place)) return static_cast<char>(2 + shade_steps + step_of(place));
    return static_cast<char>(place < 0.0 ? 0 : 1);
  };
  std::string rows, colours;
  for (std::size_t y = 0; y < height; ++y) {
    std::string row(1, '\0');  // no filter
    for (std::size_t x = 0; x < width; ++x) row.append(zoom, colour_of(places[y * width + x]));
    for (std::size_t i = 0; i < zoom; ++i) rows += row;
  }
  std::vector<Colour> all = {palette(theme).paper, palette(theme).mark};
  for (int step = -shade_steps; step <= shade_steps; ++step) all.push_back(shade_of_step(theme, step));
  for (const auto& [red, green, blue] : all)
    for (const double channel : {red, green, blue}) colours += static_cast<char>(std::lround(channel));
  const std::string eight_bits_of_palette("\x08\x03\0\0\0", 5);
  return "\x89PNG\r\n\x1A\n" +
         chunk("IHDR", big_endian(width * zoom) + big_endian(height * zoom) + eight_bits_of_palette) +
         chunk("PLTE", colours) + chunk("tRNS", std::string(1, '\0')) + chunk("IDAT", packed(rows, 1)) +
         chunk("IEND", "");
}

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
  std::string classes = size < font_size + 1 ? "" : fmt::format("attn-{:.0f}", std::floor(size));
  if (!style.empty()) classes += fmt::format("{}attn-{}", classes.empty() ? "" : " ", style);
  if (!classes.empty()) elements += fmt::format(" class=\"{}\"", classes);
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
  return replaced(replaced(std::move(words), "\xEF\xBF\xBE", "\xEF\xBF\xBD"), "\xEF\xBF\xBF", "\xEF\xBF\xBD");
}

std::string escaped(std::string_view words) {
  auto text = replaced(without_noncharacters(printable(words)), "&", "&amp;");
  return replaced(replaced(replaced(std::move(text), "<", "&lt;"), ">", "&gt;"), "\"", "&quot;");
}

std::string joined(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : ", ") + other;
}

std::string with_minus_sign(std::string number) {
  return replaced(std::move(number), "-", "−");
}

std::string style_sheet(std::string_view theme) {
  const auto selector = fmt::format(".{}", theme);
  auto sheet =
      std::string(common_rules()) + rules_of(theme == "attn-dark" ? Theme::dark : Theme::light, selector);
  if (theme == "attn-auto")
    sheet += fmt::format("@media(prefers-color-scheme:dark){{{}}}\n", rules_of(Theme::dark, selector));
  return fmt::format("<style>\n{}</style>\n", sheet);
}

}  // namespace attn::svg
