#include "attn/text/shell_words.hpp"

namespace attn {

std::vector<std::string> shell_words(std::string_view command) {
  std::vector<std::string> words;
  char quote = '\0';
  bool is_open = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == ' ' && quote == '\0') {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    if (quote == '\0' ? c == '"' || c == '\'' : c == quote)
      quote = quote == '\0' ? c : '\0';
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      words.back() += command[++i];
    else
      words.back() += c;
  }
  return words;
}

}  // namespace attn
