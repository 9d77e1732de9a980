#include "formula/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>

#include "attn/text/spelling.hpp"
#include "formula/functions.hpp"

namespace formula {

namespace {

constexpr std::size_t most_levels = 64, most_bytes = 10'000, most_nodes = 2'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters of other scripts among them.
bool begins_word(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return (lower >= 'a' && lower <= 'z') || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_operator(std::string_view word) {
  return word == "and" || word == "or" || word == "not" || word == "neg";
}

/// The number that a word is; nothing for a name.
std::optional<double> number_in(std::string_view word) {
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (!is_digit(word.front()) || word.find_first_of("xXpP") != word.npos) return std::nullopt;
  const std::string text(word);  // libc++ has no from_chars for double
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return end == text.data() + text.size() && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// The words of functions that stand before what they take.
std::vector<std::string> function_names() {
  std::vector<std::string> names = {"sum", "argmax", "size", "again", "stack"};
  for (const auto& one : functions())
    if (begins_word(one.name[0]) && !is_operator(one.name)) names.emplace_back(one.name);
  for (const auto& one : composites())
    if (*one.body != '\0') names.emplace_back(one.name);
  return names;
}

bool is_function(std::string_view name) {
  const auto names = function_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Precedence climbing, by the table of operators.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > most_bytes)
      throw Error(most_bytes,
                  fmt::format("a formula of {} bytes; valid: at most {}", text.size(), most_bytes));
    advance();
  }

  /// What holds together at least that tightly, up to an operator that does not.
  Expr expression(Operator::Level least = Operator::choice) {
    auto most = token_ == "not" ? Operator::negation : Operator::atom;
    auto left = signed_operand(least);
    while (true) {
      const auto* const op = operator_named(token_ == "**" ? "^" : token_);  // as in Python
      if (op == nullptr || op->level < least || op->level > most) return left;
      const auto at = at_;
      advance();
      auto right = op->level == Operator::power ? exponent() : expression(op->right);
      if (op->name == "/" && token_ == "*")
        throw Error(at, "a / b * c may mean two things; valid: (a / b) * c, a / (b * c)");
      const auto begin = left->at;
      left = node(begin, {.op = Op::call, .name = std::string(op->name), .parts = {left, right}});
      most = op->level == Operator::comparison ? Operator::negation : op->level;  // a < b < c is none
    }
  }

  Definition definition(bool has_expression) {
    Definition result{word("a name"), {}, 0.0};
    if (take("[")) {
      do result.axes.push_back(word("an axis"));
      while (take(","));
      expect("]");
    }
    if (has_expression) {
      expect("=");
      result.expr = expression();
    }
    return result;
  }

  void end() const {
    if (!token_.empty()) wrong("an operator or the end", "+ - * / ^ < <= = and or, each between blanks");
  }

 private:
  /// One level deeper in the formula for as long as what it returns lives.
  auto deeper() {
    if (depth_ == most_levels)
      throw Error(at_, fmt::format("a formula of more than {} levels; valid: fewer, one inside the other",
                                   most_levels));
    const auto leave = [](std::size_t* depth) { --*depth; };
    return std::unique_ptr<std::size_t, decltype(leave)>(&++depth_, leave);
  }

  [[noreturn]] void wrong(std::string_view expected, std::string_view valid) const {
    const auto found = token_.empty() ? "the end" : fmt::format("'{}'", token_);
    const bool is_glued = last_.find_first_of("/=-") != last_.npos && begins_word(last_.front());
    const auto hint =
        is_glued ? fmt::format(" ('{}' is one name: operators stand between blanks)", last_) : "";
    throw Error(at_, fmt::format("expected {}, found {}{}; valid: {}", expected, found, hint, valid));
  }

  [[noreturn]] void expected_operand() const { wrong("an operand", "a number, a name, a function, ("); }

  /// Goes on to the next word or sign; to nothing at the end.
  void advance() {
    last_ = token_;
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_ + token_.size()), text_.size());
    auto end = at_;
    if (at_ < text_.size() && begins_word(text_[at_]))
      end = before_operator(end_of_word());
    else
      end += text_.substr(at_, 2) == "<=" || text_.substr(at_, 2) == "**" ? 2 : 1;
    token_ = text_.substr(at_, end - at_);
  }

  /// `scores/sqrt(d_k)` is a quotient and `1-exp(x)` a difference: no function has a sign in its name.
  std::size_t before_operator(std::size_t end) const {
    const auto sign = text_.substr(at_, end - at_).find_last_of("/-");
    const bool is_called = end < text_.size() && text_[end] == '(' && sign != text_.npos;
    return is_called && is_function(text_.substr(at_ + sign + 1, end - at_ - sign - 1)) ? at_ + sign : end;
  }

  /// A name may have formulas in it, `hop={hop - 1}/m`.
  std::size_t end_of_word() const {
    auto end = at_;
    constexpr std::string_view in_words = "/.=-{";
    const auto goes_on = [&](char c) { return begins_word(c) || in_words.find(c) != in_words.npos; };
    for (; end < text_.size() && goes_on(text_[end]); ++end) {
      if (text_[end] != '{') continue;
      const auto closing = closing_brace(text_, end);
      if (closing == text_.npos) throw Error(end, "a { without its }");
      require_formula(end + 1, closing);
      end = closing;
    }
    return end;
  }

  /// Of what stands in the braces of a name.
  void require_formula(std::size_t begin, std::size_t end) const {
    const auto inner = text_.substr(begin, end - begin);
    if (has_formulas(inner)) throw Error(begin, "braces in the braces of a name; valid: name={a formula}");
    try {
      parse(inner);
    } catch (const Error& error) {
      throw Error(begin + error.at(), error.what());
    }
  }

  bool take(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }

  void expect(std::string_view token) {
    if (!take(token))
      wrong(fmt::format("'{}'", token), fmt::format("{}{}", token, token == "=" ? "" : ", an operator"));
  }

  bool is_word() const { return !token_.empty() && begins_word(token_.front()) && !is_operator(token_); }

  bool begins_operand() const { return is_word() || token_ == "("; }

  std::string word(std::string_view expected) {
    if (!is_word() || number_in(token_)) wrong(expected, "letters, digits and _ / . = -");
    std::string result(token_);
    advance();
    return result;
  }

  Expr node(std::size_t at, Node node) {
    if (++nodes_ > most_nodes)
      throw Error(at_,
                  fmt::format("a formula of more than {} operands and operations; valid: fewer", most_nodes));
    node.at = at;
    return Expr(std::move(node));
  }

  Expr exponent() {
    const auto depth = deeper();
    return expression(Operator::sign);
  }

  /// With `not` or a minus before it, where one may stand.
  Expr signed_operand(Operator::Level least) {
    const auto at = at_;
    const bool is_not = least <= Operator::negation && take("not");
    if (!is_not && (least > Operator::sign || !take("-"))) return operand();
    const auto depth = deeper();
    const bool touches = at_ == at + 1;
    const auto x = expression(is_not ? Operator::negation : Operator::sign);
    if (touches && x->op == Op::number && !std::signbit(x->number))
      return node(at, {.op = Op::number, .number = -x->number});
    return node(at, {.op = Op::call, .name = is_not ? "not" : "neg", .parts = {x}});
  }

  Expr operand() {
    const auto depth = deeper();
    const auto at = at_;
    if (take("(")) {
      auto inner = expression();
      expect(")");
      return inner;
    }
    if (!is_word()) expected_operand();
    const std::string name(token_);
    const auto number = number_in(name);
    if (!number && is_digit(name[0]))
      throw Error(at, fmt::format("{} is no number; valid: 2, 0.5, 1e-9", name));
    advance();
    if (number) return node(at, {.op = Op::number, .number = *number});
    if (take("[")) return node(at, {.op = Op::entry, .name = name, .parts = list("]")});
    return take("(") ? function(name, at) : node(at, {.op = Op::name, .name = name});
  }

  std::vector<Expr> list(std::string_view end) {
    std::vector<Expr> all;
    do all.push_back(expression());
    while (take(","));
    expect(end);
    return all;
  }

  /// What follows `name(`.
  Expr function(const std::string& name, std::size_t at) {
    if (name == "size") {
      auto axis = word("an axis");
      expect(")");
      return node(at, {.op = Op::size, .name = std::move(axis)});
    }
    if (name == "again") return again(at);
    if (name == "gradient") return gradient(at);
    if (name == "stack") return stack_of(at);
    auto parts = list(")");
    if (goes_over_axis(name) && begins_operand()) return over_axes(name, parts, at);
    const auto* const function = function_named(name);
    const bool is_over = function == nullptr && goes_over_axis(name);
    if (is_over)
      throw Error(
          at_, fmt::format("{0} goes over an axis, which stands in its parentheses; valid: {0}(key) scores",
                           name));
    if (function == nullptr && composite_named(name) == nullptr)
      throw Error(at,
                  fmt::format("{} is no function; {}", name, attn::valid_instead_of(name, function_names())));
    const std::size_t count = function == nullptr ? 1 : function->operands;
    if (parts.size() != count)
      throw Error(at, fmt::format("{} of {} operands; valid: {}", name, parts.size(), count));
    return node(at, {.op = Op::call, .name = name, .parts = std::move(parts)});
  }

  /// `sum(a, b) x` is `sum(a) sum(b) x`.
  Expr over_axes(const std::string& name, const std::vector<Expr>& axes, std::size_t at) {
    for (const auto& axis : axes)
      if (axis->op != Op::name)
        throw Error(axis->at, fmt::format("{} goes over axes; valid: the name of one", name));
    const bool may_go_over_two = name == "sum" || name == "max" || name == "min" || name == "mean";
    if (axes.size() > 1 && !may_go_over_two)
      throw Error(axes[1]->at,
                  fmt::format("{} goes over one axis; valid: {}({})", name, name, axes[0]->name));
    auto result = reduces(name) ? expression(Operator::product) : operand();
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
      result = node(at, {.op = Op::over, .name = name, .axis = (*axis)->name, .parts = {result}});
    return result;
  }

  /// What follows `stack(`: `layer, x, y)`, or `layer, layer={L}/x, for L from 1 to 3)`.
  Expr stack_of(std::size_t at) {
    std::vector<Expr> parts;
    do parts.push_back(expression());
    while (take(",") && token_ != "for");
    const bool is_repeated = parts.size() == 2 && parts[0]->op == Op::name && take("for");
    if (is_repeated) {
      auto counter = word("a counter");
      expect("from");
      parts.push_back(expression());
      expect("to");
      parts.push_back(expression());
      expect(")");
      return node(at,
                  {.op = Op::call, .name = "stack", .axis = std::move(counter), .parts = std::move(parts)});
    }
    expect(")");
    if (parts.size() < 3 || parts[0]->op != Op::name)
      throw Error(at,
                  "stack of what? valid: stack(AXIS, x, y), an entry along the axis each, or stack(AXIS, "
                  "step={t}/x, for t from 0 to 3)");
    return stack(parts[0], {parts.begin() + 1, parts.end()});
  }

  Expr again(std::size_t at) {
    Node result{.op = Op::again, .name = word("a step")};
    while (take(",")) {
      result.changed.push_back(word("a name"));
      expect("=");
      result.parts.push_back(expression());
    }
    expect(")");
    return node(at, std::move(result));
  }

  /// `gradient(scores)`: what the loss changes by with each entry of it.
  Expr gradient(std::size_t at) {
    const auto name_at = at_;
    auto of = node(name_at, {.op = Op::name, .name = word("a tensor")});
    expect(")");
    return node(at, {.op = Op::call, .name = "gradient", .parts = {std::move(of)}});
  }

  std::string_view text_, token_, last_;
  std::size_t at_ = 0, depth_ = 0, nodes_ = 0;
};

}  // namespace

Expr parse(std::string_view text) {
  Parser parser(text);
  auto result = parser.expression();
  parser.end();
  return result;
}

Definition parse_definition(std::string_view text) {
  Parser parser(text);
  auto result = parser.definition(true);
  parser.end();
  return result;
}

Definition parse_declaration(std::string_view text) {
  Parser parser(text);
  auto result = parser.definition(false);
  parser.end();
  return result;
}

std::size_t closing_brace(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  for (auto i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return text.npos;
}

std::string with_values(const std::string& name, const std::function<double(const Expr& x)>& value_of) {
  const auto open = name.find('{');
  const auto closing = closing_brace(name, std::min(open, name.size()));
  if (closing == name.npos) return name;
  const auto formula = name.substr(open + 1, closing - open - 1);
  const double value = value_of(parse(formula));
  if (value != std::floor(value) || !(std::abs(value) < 1e15))
    throw Error(0, fmt::format("{{{}}} in the name {} is {:g}; valid: a whole number", formula, name, value));
  return fmt::format("{}{:.0f}{}", name.substr(0, open), value,
                     with_values(name.substr(closing + 1), value_of));
}

Place place_of(std::string_view text, std::size_t byte) {
  Place place{1, 1};
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

}  // namespace formula
