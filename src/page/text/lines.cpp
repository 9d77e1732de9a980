#include "page/text/lines.hpp"

#include "attn/text/width.hpp"

namespace attn {

std::vector<std::string> pack(const std::vector<std::string>& pieces, const std::string& separator,
                              std::size_t width) {
  std::vector<std::string> lines;
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    const bool fits = !lines.empty() && display_width(lines.back() + separator + piece) <= width;
    if (fits) {
      lines.back() += separator + piece;
    } else if (display_width(piece) <= width) {
      lines.push_back(piece);
    } else {
      const auto broken = wrap(piece, width);
      lines.insert(lines.end(), broken.begin(), broken.end());
    }
  }
  return lines;
}

std::vector<std::string> before_operators(const std::string& expression) {
  std::vector<std::string> pieces;
  std::size_t start = 0;
  int depth = 0;  // of brackets: "weights[sat, cat]" stays on one line
  for (std::size_t i = 1; i < expression.size(); ++i) {
    depth += expression[i] == '[' ? 1 : expression[i] == ']' ? -1 : 0;
    if (expression[i] != ' ' || depth > 0) continue;
    const auto next = expression.substr(i, 3);
    if (next != " + " && next != " / " && expression[i - 1] != ',') continue;
    pieces.push_back(expression.substr(start, i - start));
    start = i + 1;
  }
  pieces.push_back(expression.substr(start));
  return pieces;
}

}  // namespace attn
