#include "page/text/plain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"

namespace attn {

namespace {

/// Signs and what stands for each in ASCII, in which "_" is a blank.
constexpr const char* on_the_line =
    "× x − - · * √ sqrt_ Σ sum_ … ... α alpha β beta γ gamma Δ Delta θ theta λ lambda φ phi Φ Phi "
    "ω omega η eta σ sigma π pi δ delta ε epsilon μ mu ∞ inf → -> ← <- ↗ NE ↖ NW ↙ SW ↓ S ⇒ => ∂ d "
    "≤ <= ≥ >= ≠ != ≈ ~ ± +- ° _deg ∘ * ‖ || ⌊ floor( ⌋ ) ′ ' “ \" ” \" ’ ' – - — - ¼ 1/4 ½ 1/2 ∧ and "
    "∨ or ∝ proportional_to ✓ holds: ✗ does_not_hold: █ # ■ # □ . ▓ # ▒ + ░ . ∈ in ⊙ * ∇ grad_ ";

std::map<std::string, Sign, std::less<>> all_signs() {
  std::map<std::string, Sign, std::less<>> signs = {{"\u0304", {Height::below, "bar"}}};
  const auto add = [&](Height height, std::string_view characters, std::string_view plain) {
    for (const char& one : plain) {
      const auto length = character_length(characters);
      signs[std::string(characters.substr(0, length))] = {height, std::string(1, one)};
      characters.remove_prefix(length);
    }
  };
  add(Height::line, "│─┌┐└┘├┤┬┴┼", std::string(11, ' '));
  add(Height::below, "₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₜₛₘₙₕₐₓₚₗᵥₑₒ", "0123456789+-ijktsmnhaxplveo");
  add(Height::above, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀⁱʰˣᵐⁿʲᵏᵗ", "0123456789+-Tihxmnjkt");
  const auto words = words_in(on_the_line);
  for (std::size_t i = 0; i < words.size(); i += 2)
    signs[std::string(words[i])] = {Height::line, replaced(std::string(words[i + 1]), "_", " ")};
  return signs;
}

/// "sum x", "sum_key x": the line has a blank, or a name below the sign, where the sign "sum " brings its
/// own.
bool brings_its_blank(std::string_view sign, std::string_view rest) {
  return sign.ends_with(' ') && (rest.starts_with(' ') || rest.starts_with('_') || rest.starts_with('('));
}

/// "_t", "_(t-1)", "^2": what stands below or above the line. The blank of the sign "sum " stands behind what
/// is below it, where the line has none there: "sum_j x".
void end_raised(std::string& text, Sign& raised, std::string_view next) {
  const auto& [height, ascii] = raised;
  if (ascii.empty()) return;
  const bool moves_blank = height == Height::below && text.ends_with(' ');
  if (moves_blank) text.pop_back();
  const bool is_one = ascii.size() == 1 || ascii == "bar";
  text += (height == Height::below ? '_' : '^') + (is_one ? ascii : '(' + ascii + ')');
  if (moves_blank && next != " ") text += ' ';
  raised = {};
}

std::string cell_in_ascii(std::string_view line) {
  std::string text;
  Sign raised;
  const bool has_places = is_picture(line);  // in which "·" is one that is hidden, elsewhere a product
  while (!line.empty()) {
    const auto character = line.substr(0, character_length(line));
    line.remove_prefix(character.size());
    const auto& [height, ascii] = sign_of(character);
    if (height != raised.height) end_raised(text, raised, character);
    if (height != Height::line)
      raised = {height, raised.ascii + ascii};
    else if (has_places && character == "·")
      text += '.';
    else
      text += ascii.empty() ? character
                            : std::string_view(ascii).substr(0, ascii.size() - brings_its_blank(ascii, line));
  }
  end_raised(text, raised, " ");
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

std::size_t character_length(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
  return length;
}

const Sign& sign_of(std::string_view character) {
  static const auto signs = all_signs();
  static const Sign none;
  const auto found = signs.find(character);
  return found == signs.end() ? none : found->second;
}

std::string in_ascii(std::string_view text) {
  std::string result;
  for (const auto line : pieces_of(text, "\n")) result += line_in_ascii(line) + '\n';
  result.pop_back();
  return result;
}

bool is_picture(std::string_view text) {
  return text.find("■") != text.npos || text.find("█") != text.npos;
}

bool is_drawing(std::string_view text) {
  for (const std::string_view corner : {"─", "│", "├", "┐", "┘", "┴", "┬"})
    if (text.find(corner) != text.npos) return true;
  return false;
}

std::optional<std::string> with_end(const std::string& line, const std::string& end, std::size_t width) {
  const auto taken = display_width(line) + display_width(end);
  if (taken + (end.empty() ? 0 : 2) > width) return std::nullopt;
  return end.empty() ? line : line + std::string(width - taken, ' ') + end;
}

std::vector<std::string> with_title(std::vector<std::string> heading, const std::string& title,
                                    const std::string& shape, std::size_t width, std::size_t margin) {
  auto& last = heading.back();
  const auto whole = with_end(last + (title.empty() ? "" : "   " + title), shape, width);
  const auto with_shape = whole ? whole : with_end(last, shape, width);
  if (with_shape) last = *with_shape;
  if (!whole && !title.empty())
    for (const auto& line : wrap(title, width - margin)) heading.push_back(std::string(margin, ' ') + line);
  if (!with_shape) heading.push_back(std::string(margin, ' ') + shape);
  return heading;
}

std::string hanging(const std::string& start, const std::vector<std::string>& lines, std::size_t margin) {
  std::string text;
  for (const auto& line : lines)
    text += (text.empty() ? start : std::string(margin, ' ')) + printable(line) + '\n';
  return text;
}

std::string rule(std::size_t width) {
  return fmt::format("{:─<{}}", "", width);
}

std::string_view text_under(std::string_view heading, std::string_view text) {
  const auto begin = text.find("\n[" + std::string(heading) + "]\n") + heading.size() + 4;
  return text.substr(begin, std::min(text.find("\n\n[", begin), text.size() - 1) - begin);
}

std::string replaced(std::string text, std::string_view words, std::string_view others) {
  for (auto at = text.find(words); at != text.npos; at = text.find(words, at + others.size()))
    text.replace(at, words.size(), others);
  return text;
}

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

}  // namespace attn
