#include "page/html/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "attn/text/utf8.hpp"
#include "page/html/escape.hpp"

namespace attn::html {

namespace {

constexpr std::u32string_view raised = U"ᵀⁱ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ˣʰ¼½′";
constexpr std::u32string_view raised_as = U"Ti0123456789+−xh¼½′";
constexpr std::u32string_view lowered = U"₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₜₕₛₙₘ";
constexpr std::u32string_view lowered_as = U"0123456789+−ijkthsnm";

std::string utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) {
    if (c < 0x80) {
      bytes += static_cast<char>(c);
    } else if (c < 0x800) {
      bytes += static_cast<char>(0xC0 | (c >> 6));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      bytes += static_cast<char>(0xE0 | (c >> 12));
      bytes += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    } else {
      bytes += static_cast<char>(0xF0 | (c >> 18));
      bytes += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      bytes += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
      bytes += static_cast<char>(0x80 | (c & 0x3F));
    }
  }
  return bytes;
}

bool is_one_of(std::u32string_view characters, char32_t c) {
  return characters.find(c) != characters.npos;
}

bool is_digit(char32_t c) {
  return c >= U'0' && c <= U'9';
}

/// Letters of any script, and the marks that combine with them.
bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
  if (is_one_of(raised, c) || is_one_of(lowered, c) || is_one_of(U"Σ∂·×÷±¬", c)) return false;
  return (c >= 0xC0 && c < 0x2000) || (c >= 0x2C00 && c < 0x3000) || c > 0x3040;
}

std::string row(const std::vector<std::string>& items) {
  if (items.size() == 1) return items[0];
  return fmt::format("<mrow>{}</mrow>", fmt::join(items, ""));
}

std::string element(const char* name, const std::string& content) {
  return fmt::format("<{0}>{1}</{0}>", name, content);
}

/// "W_Q" as W with the subscript Q, "d_W_Q" as d with the subscript W_Q; longer names stay as they are.
std::string name_as_math(std::u32string_view name) {
  constexpr std::size_t longest_base = 1;
  const auto underscore = name.find(U'_');
  if (underscore != name.npos && underscore > 0 && underscore <= longest_base && underscore + 1 < name.size())
    return element("msub", element("mi", escaped(utf8(name.substr(0, underscore)))) +
                               name_as_math(name.substr(underscore + 1)));
  return element(is_digit(name[0]) ? "mn" : "mi", escaped(utf8(name)));
}

std::string translated(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string result;
  for (const char32_t c : text) result += c == U',' ? c : to[from.find(c)];
  const bool is_number = std::all_of(result.begin(), result.end(), is_digit);
  const bool is_letter_only = result.size() == 1 && is_letter(result[0]);
  if (is_number || is_letter_only) return element(is_number ? "mn" : "mi", escaped(utf8(result)));
  if (result == U"′") return element("mo", "′");
  return element("mtext", escaped(utf8(result)));
}

/// Reads a formula from left to right.
class FormulaParser {
 public:
  explicit FormulaParser(std::u32string text) : text_(std::move(text)) {}

  std::string whole() {
    std::vector<std::string> items;
    while (at_ < text_.size()) {
      auto more = items_up_to_bracket();
      items.insert(items.end(), more.begin(), more.end());
      if (at_ < text_.size()) items.push_back(sign(text_[at_++]));  // a bracket that nothing opened
    }
    return row(items);
  }

 private:
  char32_t next(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : U'\0';
  }

  std::size_t skip_spaces() {
    const auto start = at_;
    while (next() == U' ') ++at_;
    return at_ - start;
  }

  static bool closes(char32_t c) { return is_one_of(U")]}⌋", c); }

  static char32_t closing_of(char32_t open) {
    switch (open) {
      case U'(':
        return U')';
      case U'[':
        return U']';
      case U'{':
        return U'}';
      case U'⌊':
        return U'⌋';
      default:
        return U'\0';
    }
  }

  static std::string sign(char32_t c) {
    return is_one_of(U"|‖/", c) ? low_sign(c) : element("mo", escaped(utf8({&c, 1})));
  }

  /// As high as a letter, whatever it stands beside.
  static std::string low_sign(char32_t c) {
    return "<mo stretchy=\"false\">" + escaped(utf8({&c, 1})) + "</mo>";
  }

  /// What stands up to the bracket that closes what is read, which is left to read. Factors gather in `run`
  /// until an operator that binds less than a fraction's line; a line takes all of them above it.
  std::vector<std::string> items_up_to_bracket() {
    std::vector<std::string> items, run;
    const auto end_run = [&] {
      items.insert(items.end(), run.begin(), run.end());
      run.clear();
    };
    while (at_ < text_.size()) {
      const auto spaces = skip_spaces();
      const char32_t c = next();
      if (c == U'\0' || closes(c)) break;
      if (c == U'/' && spaces > 0 && next(1) == U' ' && !run.empty()) {
        ++at_;
        const auto above = without_brackets(run);
        const auto below = without_brackets(denominator());
        run = {element("mfrac", row(above) + row(below))};
      } else if (begins_factor(c)) {
        if (spaces > 1 && !(items.empty() && run.empty())) {
          end_run();
          items.push_back("<mspace width=\"1.5em\"/>");
        } else if (spaces > 0 && !run.empty() && !run.back().starts_with("<mo")) {
          run.push_back("<mspace width=\"0.25em\"/>");
        }
        for (auto& item : factor()) run.push_back(std::move(item));
      } else if (is_one_of(U"·∘×/", c) && !run.empty()) {
        ++at_;
        run.push_back(sign(c));
      } else {
        end_run();
        ++at_;
        items.push_back(sign(c));
        if (c == U',' && next() == U' ' && next(1) == U' ') items.push_back("<mspace width=\"1em\"/>");
      }
    }
    end_run();
    return items;
  }

  /// The factors after the line of a fraction.
  std::vector<std::string> denominator() {
    std::vector<std::string> run;
    for (;;) {
      const auto start = at_;
      const auto spaces = skip_spaces();
      if (!begins_factor(next()) || (spaces > 1 && !run.empty())) {
        at_ = start;
        break;
      }
      if (spaces > 0 && !run.empty()) run.push_back("<mspace width=\"0.25em\"/>");
      for (auto& item : factor()) run.push_back(std::move(item));
    }
    if (run.empty()) run.push_back("<mrow></mrow>");
    return run;
  }

  bool begins_factor(char32_t c) const {
    return is_letter(c) || is_digit(c) || is_one_of(U"√Σ∂∞ΠφωσδØ…", c) || closing_of(c) != U'\0';
  }

  /// A name, number, root, sum sign or bracket with the scripts at it.
  std::vector<std::string> factor() {
    std::string base;
    const char32_t c = next();
    if (c == U'√') {
      ++at_;
      auto inner = begins_factor(next()) ? factor() : std::vector<std::string>{"<mrow></mrow>"};
      base = element("msqrt", row(without_brackets(inner)));
    } else if (closing_of(c) != U'\0') {
      base = bracket();
    } else if (is_one_of(U"Σ∂Π…", c)) {
      ++at_;
      base = element("mo", escaped(utf8({&c, 1})));
    } else if (c == U'∞') {
      ++at_;
      base = element("mi", "∞");
    } else {
      base = name_as_math(word());
    }
    return {with_scripts(base)};
  }

  /// A name, which may be a path (encoder/h) or have a number in it (step=0/h), or a number.
  std::u32string_view word() {
    const auto start = at_;
    const bool is_number = is_digit(next());
    while (at_ < text_.size() && (at_ == start || (is_number ? continues_number() : continues_name(start))))
      ++at_;
    return std::u32string_view(text_).substr(start, at_ - start);
  }

  bool continues_number() const {
    const char32_t c = next();
    if (c == U'.' || c == U'-') return is_digit(next(1)) && (c == U'.' || text_[at_ - 1] == U'e');
    return is_digit(c) || (c == U'e' && next(1) == U'-' && is_digit(next(2)));
  }

  bool continues_name(std::size_t start) const {
    const char32_t c = next(), after = next(1);
    if (is_letter(c) || is_digit(c)) return true;
    if (c == U'/') return at_ - start > 1 && is_letter(after);
    if (c == U'=' || c == U'.') return is_digit(after);
    return (c == U'_' || c == U'-') && (is_letter(after) || is_digit(after));
  }

  std::string bracket() {
    const char32_t open = next(), close = closing_of(open);
    ++at_;
    auto inner = items_up_to_bracket();
    const bool is_closed = next() == close;
    if (is_closed) ++at_;
    const bool is_tall = std::any_of(inner.begin(), inner.end(), [](const std::string& item) {
      return item.find("<mfrac>") != item.npos;
    });
    const auto side = [&](char32_t c) { return is_tall ? sign(c) : low_sign(c); };
    inner.insert(inner.begin(), side(open));
    if (is_closed) inner.push_back(side(close));
    return element("mrow", fmt::format("{}", fmt::join(inner, "")));
  }

  std::string with_scripts(const std::string& base) {
    const auto below = scripts(lowered, lowered_as);
    auto above = scripts(raised, raised_as);
    if (above.empty() && next() == U'^') above = exponent();
    if (!below.empty() && !above.empty()) return element("msubsup", base + below + above);
    if (!below.empty()) return element("msub", base + below);
    if (above.empty()) return base;
    constexpr std::string_view open = "<msub>", close = "</msub>";
    if (!base.starts_with(open)) return element("msup", base + above);
    return element("msubsup", base.substr(open.size(), base.size() - open.size() - close.size()) + above);
  }

  std::string scripts(std::u32string_view from, std::u32string_view to) {
    const auto start = at_;
    while (at_ < text_.size() && (is_one_of(from, next()) || (next() == U',' && at_ > start &&
                                                              is_one_of(from, next(1)) && from == lowered)))
      ++at_;
    if (at_ == start) return "";
    return translated(std::u32string_view(text_).substr(start, at_ - start), from, to);
  }

  /// "^2", "^(−2i/d)", "^−0.5", "^T".
  std::string exponent() {
    ++at_;
    std::vector<std::string> items;
    if (is_one_of(U"−-+", next())) items.push_back(sign(text_[at_++]));
    if (begins_factor(next())) {
      for (auto& item : without_brackets(factor())) items.push_back(std::move(item));
    }
    return items.empty() ? "<mrow></mrow>" : row(items);
  }

  /// "(a − b)" that a line or a root holds together anyway.
  static std::vector<std::string> without_brackets(std::vector<std::string> items) {
    if (items.size() != 1) return items;
    for (const auto& [left, right] : {std::pair{sign(U'('), sign(U')')}, {low_sign(U'('), low_sign(U')')}}) {
      const auto open = "<mrow>" + left, close = right + "</mrow>";
      if (!items[0].starts_with(open) || !items[0].ends_with(close)) continue;
      return {element("mrow", items[0].substr(open.size(), items[0].size() - open.size() - close.size()))};
    }
    return items;
  }

  std::u32string text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string mathml(std::string_view formula) {
  return "<math displaystyle=\"true\">" + FormulaParser(code_points(formula)).whole() + "</math>";
}

}  // namespace attn::html
