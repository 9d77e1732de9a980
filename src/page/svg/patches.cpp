#include <fmt/format.h>

#include <algorithm>

#include "page/svg/panel.hpp"

namespace attn::svg {

namespace {

constexpr double usual_patch = 120.0, highest_panel = 200.0, usual_patch_row = 34.0;

double widest_patch_name(const Matrix& matrix) {
  double widest = 0.0;
  for (const auto& name : matrix.rows.labels) widest = std::max(widest, text_width(name) + 8);
  return matrix.rows.name.empty() ? 0.0 : widest;
}

Room wish_of_patches(const Panel& panel) {
  const auto rows = static_cast<double>(std::get<Matrix>(panel.content).rows.size());
  return {usual_patch, rows * usual_patch_row};
}

Room beside_patches(const Panel& panel, const Room&) {
  return {widest_patch_name(std::get<Matrix>(panel.content)), 0.0};
}

Drawing draw_patches(const Panel& panel, const Look&, const Room& room, const Shown&) {
  const auto& matrix = std::get<Matrix>(panel.content);
  const double left = widest_patch_name(matrix), width = std::max(room.width, 60.0);
  const auto rows = static_cast<double>(matrix.rows.size());
  const double height = std::max(std::min(room.height, highest_panel) / rows, font_size + 4);
  std::string elements;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    const double y = static_cast<double>(i) * height, middle = y + height / 2 + baseline * font_size - 1;
    const auto colour = colour_of_row(matrix, i);
    if (left > 0.0) elements += text(left - 8, middle, matrix.rows.labels[i], Anchor::end, "label");
    elements += rectangle(left, y + 1, width, height - 3, colour);
    elements +=
        text(left + width / 2, middle,
             fmt::format("{:.2f}, {:.2f}, {:.2f}", colour.red / 255, colour.green / 255, colour.blue / 255),
             Anchor::middle, ink_on(colour).red > 0.0 ? "on-dark" : "on-light", 0.0, 16.0);
  }
  return {elements, left + width, rows * height, left};
}

}  // namespace

Colour colour_of_row(const Matrix& matrix, std::size_t row) {
  const auto part = [&](std::size_t j) { return 255 * std::clamp(matrix.values[3 * row + j], 0.0, 1.0); };
  return {part(0), part(1), part(2)};
}

const Kind colours{"colours", wish_of_patches, beside_patches, draw_patches};

}  // namespace attn::svg
