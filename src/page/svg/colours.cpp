#include "page/svg/colours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace attn::svg {

namespace {

using Ramp = std::array<Colour, 5>;

constexpr Ramp blue_on_light = {
    {{247, 251, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}}};
constexpr Ramp orange_on_light = {
    {{247, 251, 255}, {253, 208, 162}, {253, 141, 60}, {217, 72, 1}, {127, 39, 4}}};
constexpr Ramp blue_on_dark = {
    {{30, 34, 41}, {27, 61, 102}, {33, 113, 181}, {107, 174, 214}, {222, 235, 247}}};
constexpr Ramp orange_on_dark = {
    {{30, 34, 41}, {92, 46, 14}, {190, 80, 12}, {253, 150, 75}, {254, 230, 206}}};

constexpr Palette light = {{255, 255, 255}, {27, 27, 27}, {85, 85, 85}, {150, 150, 150}, {194, 24, 91}};
constexpr Palette dark = {{20, 22, 26}, {238, 238, 238}, {170, 176, 186}, {125, 130, 140}, {255, 128, 171}};

constexpr std::array lines_on_light = {Colour{31, 95, 168},  Colour{184, 74, 0},  Colour{0, 117, 90},
                                       Colour{156, 53, 135}, Colour{122, 90, 31}, Colour{179, 38, 30},
                                       Colour{11, 111, 128}, Colour{95, 99, 104}};
constexpr std::array lines_on_dark = {Colour{122, 184, 240}, Colour{255, 154, 82}, Colour{79, 208, 165},
                                      Colour{224, 138, 208}, Colour{209, 171, 98}, Colour{255, 138, 128},
                                      Colour{95, 208, 220},  Colour{181, 186, 194}};
/// The relative luminance of WCAG 2.
double luminance(const Colour& colour) {
  const auto linear = [](double channel) {
    const double part = channel / 255.0;
    return part <= 0.03928 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

std::string named_paint(const std::string& name, const Colour& colour, const Colour& ink) {
  return fmt::format("class=\"attn-{}\" fill=\"{}\" color=\"{}\"", name, hex(colour), hex(ink));
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
  const auto& ramp = theme == Theme::light ? (place < 0.0 ? orange_on_light : blue_on_light)
                                           : (place < 0.0 ? orange_on_dark : blue_on_dark);
  const double along = std::min(std::abs(place), 1.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(along), ramp.size() - 2);
  const double part = along - static_cast<double>(below);
  const auto& [from, to] = std::pair(ramp[below], ramp[below + 1]);
  return {std::lerp(from.red, to.red, part), std::lerp(from.green, to.green, part),
          std::lerp(from.blue, to.blue, part)};
}

Colour ink_on(const Colour& colour) {
  const Colour black, white{255, 255, 255};
  return contrast(black, colour) < contrast(white, colour) ? white : black;
}

const Palette& palette(Theme theme) {
  return theme == Theme::light ? light : dark;
}

Colour line_colour(Theme theme, std::size_t line) {
  const auto& colours = theme == Theme::light ? lines_on_light : lines_on_dark;
  return colours[line % colours.size()];
}

std::string paint(const Colour& colour) {
  return fmt::format("fill=\"{}\" color=\"{}\"", hex(colour), hex(ink_on(colour)));
}

int step_of(double place) {
  return static_cast<int>(std::lround(std::clamp(place, -1.0, 1.0) * shade_steps));
}

std::string paint_of_place(double place) {
  const int step = step_of(place);
  const auto colour = shade(Theme::light, static_cast<double>(step) / shade_steps);
  return named_paint(fmt::format("shade{}", step), colour, ink_on(colour));
}

std::string paint_of_part(std::size_t part) {
  constexpr std::array places = {0.85, 0.4, -0.25, -0.6, 0.15, 0.6, -0.45, -0.85};
  return paint_of_place(places[part % places.size()]);
}

std::string paint_of_mark() {
  return named_paint("marked", light.mark, ink_on(light.mark));
}

std::string paint_of_line(std::size_t line) {
  const auto colour = line_colour(Theme::light, line);
  return named_paint(fmt::format("line{}", line % lines_on_light.size()), colour, colour);
}

std::string rules_of_dark_paints(std::string_view selector) {
  std::string rules;
  const auto add = [&](const std::string& name, const Colour& colour, const Colour& ink) {
    rules += fmt::format("{} .attn-{}{{fill:{};color:{}}}", selector, name, hex(colour), hex(ink));
  };
  for (int step = -shade_steps; step <= shade_steps; ++step) {
    const auto colour = shade(Theme::dark, static_cast<double>(step) / shade_steps);
    add(fmt::format("shade{}", step), colour, ink_on(colour));
  }
  for (std::size_t line = 0; line < lines_on_dark.size(); ++line)
    add(fmt::format("line{}", line), lines_on_dark[line], lines_on_dark[line]);
  add("marked", dark.mark, ink_on(dark.mark));
  return rules;
}

}  // namespace attn::svg
