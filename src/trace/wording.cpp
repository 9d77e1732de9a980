#include "trace/wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"

namespace attn {

std::vector<std::string> lines_of(const std::string& text) {
  auto lines = split(text, '\n');
  for (auto& line : lines) line = printable(line);
  return lines;
}

std::string quoted(const std::string& text) {
  return '"' + printable(text) + '"';
}

namespace {

/// "a b c … fan" (4096 words), of a text that would fill the page.
std::string quoted_in_few_lines(const std::string& text) {
  constexpr std::size_t longest = 600, words_shown = 3;
  const auto words = static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
  if (text.size() <= longest || words <= words_shown) return quoted(text);
  std::size_t end = 0;
  for (std::size_t word = 0; word < words_shown; ++word) end = text.find(' ', end + (word > 0 ? 1 : 0));
  return fmt::format("{} ({} words)", quoted(text.substr(0, end) + " …" + text.substr(text.rfind(' '))),
                     words);
}

}  // namespace

std::string option_text(const std::string& name, const ConfigValue& value) {
  return std::visit(
      [&](const auto& set) -> std::string {
        using T = std::decay_t<decltype(set)>;
        if constexpr (std::is_same_v<T, bool>) {
          return set ? name : "";
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
          return fmt::format("{}={}", name, set);
        } else if constexpr (std::is_same_v<T, std::string>) {
          const bool is_word = !set.empty() && set.find(' ') == std::string::npos;
          return fmt::format("{}={}", name, is_word ? printable(set) : quoted(set));
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
          return set.empty() ? "" : fmt::format("{}={}", name, fmt::join(set, ","));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::vector<std::string> texts;
          for (const auto& text : set) texts.push_back(quoted_in_few_lines(text));
          return set.empty() ? "" : fmt::format("{}={}", name, fmt::join(texts, " "));
        } else {
          return "";
        }
      },
      value);
}

std::string note_after_notice(const Event& event) {
  return event.notice.find(event.note) == std::string::npos ? event.note : "";
}

std::string named_shape(const std::vector<std::string>& axes, const Shape& shape) {
  if (axes.empty()) return fmt::format("[{}]", to_string(shape));
  std::vector<std::string> named;
  for (std::size_t i = 0; i < axes.size(); ++i) named.push_back(fmt::format("{} {}", axes[i], shape[i]));
  return fmt::format("[{}]", fmt::join(named, " × "));
}

std::string named_shape(const Event& event) {
  return named_shape(event.axes, event.tensor->shape);
}

std::string measured(const Measurement& measurement, int precision) {
  const auto& [claim, value, limit] = measurement;
  const auto number = fmt::format("{:.{}g}", value == 0.0 ? 0.0 : value, std::max(precision, 1));
  if (!measurement.holds()) return fmt::format("{}, which should be {}", number, to_string(limit));
  if (limit.is_of_rounding) return fmt::format("off by less than {}", limit.bound);
  if (limit.comparison == Limit::Comparison::equal) return fmt::format("exactly {:g}", limit.bound);
  const bool is_upper = limit.comparison == Limit::Comparison::at_most;
  return fmt::format("{}, at {} {}", number, is_upper ? "most" : "least", limit.bound);
}

}  // namespace attn
