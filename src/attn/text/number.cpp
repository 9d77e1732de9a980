#include "attn/text/number.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

namespace attn {

std::optional<double> parse_number(std::string_view text) {
  const bool has_only_digits_and_signs = text.find_first_not_of("0123456789+-.eE") == text.npos;
  if (text.empty() || text.front() == '+' || !has_only_digits_and_signs) return std::nullopt;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(terminated.c_str(), &end);
  const bool is_whole = end == terminated.c_str() + terminated.size();
  const bool is_too_small = errno == ERANGE && number == 0.0;
  return is_whole && !is_too_small && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace attn
