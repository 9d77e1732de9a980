#include <fmt/format.h>

#include <cctype>
#include <utility>
#include <vector>

#include "page/html/markup.hpp"
#include "page/text/plain.hpp"

namespace attn::html {

namespace {

/// A character below or above the line, and the one that it is there; "line" for others.
Sign script_of(std::string_view character) {
  if (character == "¼" || character == "½" || character == "′")
    return {Height::above, std::string(character)};
  auto sign = sign_of(character);
  if (sign.height != Height::line && sign.ascii == "-") sign.ascii = "−";
  if (character == "\u0304") sign.height = Height::line;  // it combines with the letter before
  return sign;
}

/// Of a text with at least one character.
bool is_one_of(std::string_view characters, std::string_view c) {
  return !c.empty() && characters.find(c) != characters.npos;
}

bool is_digit(std::string_view c) {
  return c.size() == 1 && c[0] >= '0' && c[0] <= '9';
}

/// Letters of any script, and the marks that combine with them.
bool is_letter(std::string_view c) {
  if (c.size() == 1) return std::isalpha(static_cast<unsigned char>(c[0])) != 0;
  if (script_of(c).height != Height::line || is_one_of("Σ∂·×÷±¬", c)) return false;
  return (c >= "\u00C0" && c < "\u2000") || (c >= "\u2C00" && c < "\u3000") || c > "\u3040";
}

std::string row(const std::vector<std::string>& items) {
  if (items.size() == 1) return items[0];
  return fmt::format("<mrow>{}</mrow>", fmt::join(items, ""));
}

std::string element(const char* name, const std::string& content) {
  return fmt::format("<{0}>{1}</{0}>", name, content);
}

/// "W_Q" as W with the subscript Q, "d_W_Q" as d with the subscript W_Q; longer names stay as they are.
std::string name_as_math(std::string_view name) {
  const auto first = character_length(name);
  if (name[0] != '_' && name.size() > first + 1 && name[first] == '_')
    return element("msub",
                   element("mi", escaped(name.substr(0, first))) + name_as_math(name.substr(first + 1)));
  return element(is_digit(name.substr(0, first)) ? "mn" : "mi", escaped(name));
}

/// What stands below or above the line.
std::string script_as_math(const std::string& script) {
  const bool is_number = script.find_first_not_of("0123456789") == script.npos;
  const bool is_one_letter = character_length(script) == script.size() && is_letter(script);
  return element(is_number ? "mn" : is_one_letter ? "mi" : script == "′" ? "mo" : "mtext", escaped(script));
}

/// Reads a formula from left to right.
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) {
    for (; !text.empty(); text.remove_prefix(characters_.back().size()))
      characters_.push_back(text.substr(0, character_length(text)));
  }

  std::string whole() {
    std::vector<std::string> items;
    while (at_ < characters_.size()) {
      auto more = items_up_to_bracket();
      items.insert(items.end(), more.begin(), more.end());
      if (at_ < characters_.size()) items.push_back(sign(take()));  // a bracket that nothing opened
    }
    return row(items);
  }

 private:
  /// The next character, or one after it; nothing at the end.
  std::string_view next(std::size_t ahead = 0) const {
    return at_ + ahead < characters_.size() ? characters_[at_ + ahead] : std::string_view();
  }

  std::string_view take() { return at_ < characters_.size() ? characters_[at_++] : std::string_view(); }

  std::size_t skip_spaces() {
    const auto start = at_;
    while (next() == " ") ++at_;
    return at_ - start;
  }

  static std::string_view closing_of(std::string_view open) {
    return open == "(" ? ")" : open == "[" ? "]" : open == "{" ? "}" : open == "⌊" ? "⌋" : "";
  }

  static std::string sign(std::string_view c) {
    return is_one_of("|‖/", c) ? low_sign(c) : element("mo", escaped(c));
  }

  /// As high as a letter, whatever it stands beside.
  static std::string low_sign(std::string_view c) { return "<mo stretchy=\"false\">" + escaped(c) + "</mo>"; }

  /// What stands up to the bracket that closes what is read, which is left to read. Factors gather in `run`
  /// until an operator that binds less than a fraction's line; a line takes all of them above it.
  std::vector<std::string> items_up_to_bracket() {
    std::vector<std::string> items, run;
    const auto end_run = [&] {
      items.insert(items.end(), run.begin(), run.end());
      run.clear();
    };
    while (at_ < characters_.size()) {
      const auto spaces = skip_spaces();
      const auto c = next();
      if (c.empty() || is_one_of(")]}⌋", c)) break;
      if (c == "/" && spaces > 0 && next(1) == " " && !run.empty()) {
        take();
        const auto above = without_brackets(row(run));
        run = {element("mfrac", above + without_brackets(row(denominator())))};
      } else if (begins_factor(c)) {
        if (spaces > 1 && !(items.empty() && run.empty())) {
          end_run();
          items.push_back("<mspace width=\"1.5em\"/>");
        } else if (spaces > 0 && !run.empty() && !run.back().starts_with("<mo")) {
          run.push_back("<mspace width=\"0.25em\"/>");
        }
        run.push_back(factor());
      } else if (is_one_of("·∘×/", c) && !run.empty()) {
        run.push_back(sign(take()));
      } else {
        end_run();
        items.push_back(sign(take()));
        if (c == "," && next() == " " && next(1) == " ") items.push_back("<mspace width=\"1em\"/>");
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
      run.push_back(factor());
    }
    return run;
  }

  static bool begins_factor(std::string_view c) {
    return is_letter(c) || is_digit(c) || is_one_of("√Σ∂∞ΠφωσδØ…", c) || !closing_of(c).empty();
  }

  /// A name, number, root, sum sign or bracket with the scripts at it.
  std::string factor() {
    const auto c = next();
    if (!closing_of(c).empty()) return with_scripts(bracket());
    if (!is_one_of("√Σ∂Π…∞", c)) return with_scripts(name_as_math(word()));
    take();
    if (c != "√") return with_scripts(element(c == "∞" ? "mi" : "mo", escaped(c)));
    return with_scripts(
        element("msqrt", begins_factor(next()) ? without_brackets(factor()) : std::string("<mrow></mrow>")));
  }

  /// A name, which may be a path (encoder/h) or have a number in it (step=0/h), or a number.
  std::string word() {
    const auto start = at_;
    std::string word(take());
    const bool is_number = is_digit(word);
    while (is_number ? continues_number() : continues_name(start)) word += take();
    return word;
  }

  bool continues_number() const {
    const auto c = next();
    if (c == "." || c == "-") return is_digit(next(1)) && (c == "." || characters_[at_ - 1] == "e");
    return is_digit(c) || (c == "e" && next(1) == "-" && is_digit(next(2)));
  }

  bool continues_name(std::size_t start) const {
    const auto c = next(), after = next(1);
    if (is_letter(c) || is_digit(c)) return true;
    if (c == "/") return at_ - start > 1 && is_letter(after);
    if (c == "=" || c == ".") return is_digit(after);
    return (c == "_" || c == "-") && (is_letter(after) || is_digit(after));
  }

  std::string bracket() {
    const auto open = take(), close = closing_of(open);
    auto inner = items_up_to_bracket();
    const bool is_closed = next() == close;
    if (is_closed) take();
    const bool is_tall =
        any_of(inner, [](const std::string& item) { return item.find("<mfrac>") != item.npos; });
    const auto side = [&](std::string_view c) { return is_tall ? sign(c) : low_sign(c); };
    inner.insert(inner.begin(), side(open));
    if (is_closed) inner.push_back(side(close));
    return element("mrow", fmt::format("{}", fmt::join(inner, "")));
  }

  std::string with_scripts(const std::string& base) {
    const auto below = scripts(Height::below);
    auto above = scripts(Height::above);
    if (above.empty() && next() == "^") above = exponent();
    if (!below.empty() && !above.empty()) return element("msubsup", base + below + above);
    if (!below.empty()) return element("msub", base + below);
    if (above.empty()) return base;
    constexpr std::string_view open = "<msub>", close = "</msub>";
    if (!base.starts_with(open)) return element("msup", base + above);
    return element("msubsup", base.substr(open.size(), base.size() - open.size() - close.size()) + above);
  }

  std::string scripts(Height height) {
    std::string script;
    for (;;) {
      const bool is_comma = height == Height::below && !script.empty() && next() == ",";
      const auto one = script_of(next(is_comma ? 1 : 0));
      if (one.height != height) break;
      script += is_comma ? "," : one.ascii;
      take();
    }
    return script.empty() ? "" : script_as_math(script);
  }

  /// "^2", "^(−2i/d)", "^−0.5", "^T".
  std::string exponent() {
    take();
    std::vector<std::string> items;
    if (is_one_of("−-+", next())) items.push_back(sign(take()));
    if (begins_factor(next())) items.push_back(without_brackets(factor()));
    return row(items);
  }

  /// "(a − b)" that a line or a root holds together anyway.
  static std::string without_brackets(const std::string& item) {
    for (const auto& [left, right] : {std::pair{sign("("), sign(")")}, {low_sign("("), low_sign(")")}}) {
      const auto open = "<mrow>" + left, close = right + "</mrow>";
      if (item.starts_with(open) && item.ends_with(close))
        return element("mrow", item.substr(open.size(), item.size() - open.size() - close.size()));
    }
    return item;
  }

  std::vector<std::string_view> characters_;
  std::size_t at_ = 0;  ///< the next of them
};

}  // namespace

std::string mathml(std::string_view formula) {
  return "<math displaystyle=\"true\">" + FormulaParser(formula).whole() + "</math>";
}

}  // namespace attn::html
