#include "trace/id.hpp"

#include <algorithm>
#include <string>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"

namespace attn {

bool is_valid_name(std::string_view name) {
  try {
    require_valid_utf8(name, "");
  } catch (const Error&) {
    return false;
  }
  const auto is_control = [](char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); };
  const auto points = code_points(name);
  return !name.empty() && std::none_of(points.begin(), points.end(), is_control);
}

}  // namespace attn
