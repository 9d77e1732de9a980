#include "trace/text/option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

#include "trace/text/table.hpp"

namespace attn {

std::string quoted(const std::string& text) {
  return '"' + printable(text) + '"';
}

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
          for (const auto& text : set) texts.push_back(quoted(text));
          return set.empty() ? "" : fmt::format("{}={}", name, fmt::join(texts, " "));
        } else {
          return "";
        }
      },
      value);
}

}  // namespace attn
