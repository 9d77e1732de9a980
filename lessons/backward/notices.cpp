#include "lessons/backward/notices.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/text/tokens.hpp"
#include "lessons/workbench/notice.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The entry of a table that is farthest from 0, in the first sample: "d_scaled[dog, the]" and its value.
struct Extreme {
  std::string name;
  double value = 0.0;
};

Extreme extreme_of(const attn::Event& event) {
  const auto& shape = event.tensor->shape;
  const auto rows = shape[shape.size() - 2], columns = shape.back();
  std::size_t at = 0;
  for (std::size_t i = 1; i < rows * columns; ++i)
    if (std::abs(event.tensor->at(i)) > std::abs(event.tensor->at(at))) at = i;
  const auto first = event.axes.size() - 2;
  const auto name = [&](std::size_t axis, std::size_t i) {
    const auto& labels = event.labels[axis];
    return labels.empty() ? name_along(event, axis, i) : attn::numbered_token(labels.of(0), i);
  };
  const bool has_heads = first > 0 && event.axes[first - 1].ends_with("head");
  return {fmt::format("{}[{}{}, {}]", event.id, has_heads ? "0, " : "", name(first, at / columns),
                      name(first + 1, at % columns)),
          event.tensor->at(at)};
}

/// "ffn/W_1" of "ffn/d_W_1": what the gradient is of.
std::string without_d(std::string id) {
  const auto slash = id.rfind('/');
  return id.erase(slash == std::string::npos ? 0 : slash + 1, 2);
}

}  // namespace

std::string notice_of_scaled(const attn::Event& d_scaled) {
  const auto [name, value] = extreme_of(d_scaled);
  if (value == 0.0) return d_scaled.note;
  const auto repeated = name.find('#') == name.npos ? "" : " (#2: the second)";
  return fmt::format("{} Example: {} = {:.4f}{}. Raise that scaled score by 0.01, and L {} by about {:.6f}.",
                     d_scaled.note, name, value, repeated, value > 0.0 ? "grows" : "falls",
                     0.01 * std::abs(value));
}

std::string notice_of_weight(const attn::Event& d_W) {
  const auto [name, value] = extreme_of(d_W);
  if (value == 0.0) return d_W.note;
  const auto parameter = without_d(d_W.id), entry = without_d(name);
  return fmt::format("{} A training step with the learning rate η sets {} ← {} − η · {}: {} becomes {}.",
                     d_W.note, parameter, parameter, d_W.id, entry,
                     value > 0.0 ? fmt::format("smaller by η · {:.4f}", value)
                                 : fmt::format("larger by η · {:.4f}", -value));
}

}  // namespace lessons
