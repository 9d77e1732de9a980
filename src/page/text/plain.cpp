#include "page/text/plain.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "attn/text/width.hpp"

namespace attn {

namespace {

enum class Height { line, below, above };

struct Sign {
  std::string_view ascii;
  Height height = Height::line;
};

const std::map<std::string_view, Sign>& signs() {
  static const std::map<std::string_view, Sign> table = {
      {"×", {"x"}},
      {"−", {"-"}},
      {"·", {"*"}},
      {"√", {"sqrt "}},
      {"Σ", {"sum "}},
      {"…", {"..."}},
      {"α", {"alpha"}},
      {"β", {"beta"}},
      {"γ", {"gamma"}},
      {"Δ", {"Delta"}},
      {"θ", {"theta"}},
      {"λ", {"lambda"}},
      {"φ", {"phi"}},
      {"Φ", {"Phi"}},
      {"ω", {"omega"}},
      {"η", {"eta"}},
      {"σ", {"sigma"}},
      {"π", {"pi"}},
      {"δ", {"delta"}},
      {"ε", {"epsilon"}},
      {"μ", {"mu"}},
      {"∞", {"inf"}},
      {"→", {"->"}},
      {"←", {"<-"}},
      {"↗", {"NE"}},
      {"↖", {"NW"}},
      {"↙", {"SW"}},
      {"↓", {"S"}},
      {"⇒", {"=>"}},
      {"∂", {"d"}},
      {"≤", {"<="}},
      {"≥", {">="}},
      {"≠", {"!="}},
      {"≈", {"~"}},
      {"±", {"+-"}},
      {"°", {" deg"}},
      {"∘", {"*"}},
      {"‖", {"||"}},
      {"⌊", {"floor("}},
      {"⌋", {")"}},
      {"′", {"'"}},
      {"“", {"\""}},
      {"”", {"\""}},
      {"’", {"'"}},
      {"–", {"-"}},
      {"—", {"-"}},
      {"¼", {"1/4"}},
      {"½", {"1/2"}},
      {"∧", {"and"}},
      {"∨", {"or"}},
      {"∝", {"proportional to"}},
      {"✓", {"holds:"}},
      {"✗", {"does not hold:"}},
      {"█", {"#"}},
      {"■", {"#"}},
      {"□", {"."}},
      {"▓", {"#"}},
      {"▒", {"+"}},
      {"░", {"."}},
      {"∈", {"in"}},
      {"⊙", {"*"}},
      {"∇", {"grad "}},
      {"│", {" "}},
      {"─", {" "}},
      {"┌", {" "}},
      {"┐", {" "}},
      {"└", {" "}},
      {"┘", {" "}},
      {"├", {" "}},
      {"┤", {" "}},
      {"┬", {" "}},
      {"┴", {" "}},
      {"┼", {" "}},
      {"\u0304", {"bar", Height::below}},
      {"₀", {"0", Height::below}},
      {"₁", {"1", Height::below}},
      {"₂", {"2", Height::below}},
      {"₃", {"3", Height::below}},
      {"₄", {"4", Height::below}},
      {"₅", {"5", Height::below}},
      {"₆", {"6", Height::below}},
      {"₇", {"7", Height::below}},
      {"₈", {"8", Height::below}},
      {"₉", {"9", Height::below}},
      {"₊", {"+", Height::below}},
      {"₋", {"-", Height::below}},
      {"ᵢ", {"i", Height::below}},
      {"ⱼ", {"j", Height::below}},
      {"ₖ", {"k", Height::below}},
      {"ₜ", {"t", Height::below}},
      {"ₛ", {"s", Height::below}},
      {"ₘ", {"m", Height::below}},
      {"ₙ", {"n", Height::below}},
      {"ₕ", {"h", Height::below}},
      {"ₐ", {"a", Height::below}},
      {"ₓ", {"x", Height::below}},
      {"ₚ", {"p", Height::below}},
      {"ₗ", {"l", Height::below}},
      {"ᵥ", {"v", Height::below}},
      {"ₑ", {"e", Height::below}},
      {"ₒ", {"o", Height::below}},
      {"⁰", {"0", Height::above}},
      {"¹", {"1", Height::above}},
      {"²", {"2", Height::above}},
      {"³", {"3", Height::above}},
      {"⁴", {"4", Height::above}},
      {"⁵", {"5", Height::above}},
      {"⁶", {"6", Height::above}},
      {"⁷", {"7", Height::above}},
      {"⁸", {"8", Height::above}},
      {"⁹", {"9", Height::above}},
      {"⁺", {"+", Height::above}},
      {"⁻", {"-", Height::above}},
      {"ᵀ", {"T", Height::above}},
      {"ⁱ", {"i", Height::above}},
      {"ˣ", {"x", Height::above}},
      {"ᵐ", {"m", Height::above}},
      {"ⁿ", {"n", Height::above}},
      {"ʲ", {"j", Height::above}},
      {"ᵏ", {"k", Height::above}},
      {"ᵗ", {"t", Height::above}},
  };
  return table;
}

/// Bytes of the UTF-8 character that a text begins with.
std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
  return length;
}

/// Characters below or above the line that stand together: "_t", "_(t-1)", "^2".
class Raised {
 public:
  void add(const Sign& sign) {
    height_ = sign.height;
    text_ += sign.ascii;
  }

  bool continues(Height height) const { return text_.empty() || height == height_; }

  std::string take() {
    if (text_.empty()) return "";
    const bool is_one = text_.size() == 1 || text_ == "bar";
    const auto start = height_ == Height::below ? "_" : "^";
    return start + (is_one ? std::exchange(text_, {}) : '(' + std::exchange(text_, {}) + ')');
  }

 private:
  Height height_ = Height::line;
  std::string text_;
};

/// In a picture of a mask "·" is a place that is hidden, elsewhere a product.
bool is_picture(std::string_view line) {
  return line.find("■") != line.npos || line.find("█") != line.npos;
}

/// "sum x", "sum_key x": the line has a blank, or a name below the sign, where the sign "sum " brings its
/// own.
bool brings_its_blank(std::string_view sign, std::string_view rest) {
  return sign.ends_with(' ') && (rest.starts_with(' ') || rest.starts_with('_') || rest.starts_with('('));
}

/// "sum_j x": the blank of the sign "sum " stands behind what is below it, where the line has none there.
void append_raised(std::string& text, const std::string& raised, std::string_view next) {
  const bool moves_blank = raised.starts_with('_') && text.ends_with(' ');
  if (moves_blank) text.pop_back();
  text += raised;
  if (moves_blank && next != " ") text += ' ';
}

std::string cell_in_ascii(std::string_view line) {
  std::string text;
  Raised raised;
  const bool has_places = is_picture(line);
  while (!line.empty()) {
    const auto character = line.substr(0, character_length(line));
    line.remove_prefix(character.size());
    const auto sign = signs().find(character);
    const bool is_raised = sign != signs().end() && sign->second.height != Height::line;
    if (!is_raised || !raised.continues(sign->second.height)) append_raised(text, raised.take(), character);
    if (is_raised)
      raised.add(sign->second);
    else if (has_places && character == "·")
      text += '.';
    else if (sign == signs().end())
      text += character;
    else
      text += sign->second.ascii.substr(
          0, sign->second.ascii.size() - brings_its_blank(sign->second.ascii, line));
  }
  append_raised(text, raised.take(), " ");
  return text;
}

/// What stands in columns, behind three blanks or more, stays in its column where there is room for it. The
/// line of a claim is laid out for the words of its sign.
std::string line_in_ascii(std::string_view line) {
  constexpr std::string_view gap = "   ";
  if (line.find("✓") != line.npos || line.find("✗") != line.npos) return cell_in_ascii(line);
  const auto indent = std::min(line.find_first_not_of(' '), line.size());
  std::string text(indent, ' ');
  for (std::size_t begin = indent, column = indent; begin < line.size();) {
    const auto end = std::min(line.find(gap, begin), line.size());
    const auto next = std::min(line.find_first_not_of(' ', end), line.size());
    text += cell_in_ascii(line.substr(begin, end - begin));
    column += display_width(line.substr(begin, end - begin)) + (next - end);
    if (end < line.size()) text.resize(std::max(text.size() + 2, column), ' ');
    begin = next;
  }
  return text;
}

}  // namespace

std::string in_ascii(std::string_view text) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    const auto line = text.substr(start, end - start);
    result += line_in_ascii(line);
    if (end < text.size()) result += '\n';
    start = end + 1;
  }
  return result;
}

bool is_drawing(std::string_view text) {
  for (const std::string_view corner : {"─", "│", "├", "┐", "┘", "┴", "┬"})
    if (text.find(corner) != text.npos) return true;
  return false;
}

}  // namespace attn
