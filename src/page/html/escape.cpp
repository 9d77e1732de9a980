#include "page/html/escape.hpp"

#include <fmt/format.h>

#include "attn/text/printable.hpp"
#include "page/svg/drawing.hpp"

namespace attn::html {

std::string escaped(std::string_view words) {
  return svg::escaped(words);
}

std::string json_string(std::string_view words) {
  std::string text = "\"";
  for (const char c : svg::without_noncharacters(printable(words))) {
    const bool is_special = c == '"' || c == '\\' || c == '<' || c == '>' || c == '&';
    if (is_special)
      text += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      text += c;
  }
  return text + '"';
}

}  // namespace attn::html
