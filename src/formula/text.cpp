#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "formula/functions.hpp"
#include "formula/parse.hpp"

namespace formula {

namespace {

using enum Operator::Level;
using Level = Operator::Level;

/// The operator between operands that `x` is, or null.
const Operator* operator_of(const Expr& x) {
  return x->op == Op::call ? operator_named(x->name) : nullptr;
}

Level level_of(const Expr& x) {
  if (x->op == Op::number) return std::signbit(x->number) ? sign : atom;
  if (const auto* const found = operator_of(x)) return found->level;
  if (is_call(x, "neg")) return sign;
  return is_call(x, "not") ? negation : atom;
}

bool takes_product(const Expr& x) {
  return x->op == Op::over && reduces(x->name);
}

/// `max(a, b) -x` would subtract.
bool begins_with_minus(const Expr& x) {
  return is_call(x, "*") ? begins_with_minus(x->parts[0]) : level_of(x) == sign;
}

std::string list(const std::vector<Expr>& parts) {
  std::vector<std::string> texts;
  for (const auto& part : parts) texts.push_back(text(part));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string written_over(const Expr& x, bool is_followed);

/// `x` where something at least that tight must stand, and where a factor or an exponent may follow, which a
/// sum that ends `x` would take.
std::string written(const Expr& x, Level least = choice, bool is_followed = false) {
  const auto& parts = x->parts;
  if (level_of(x) < least || (is_followed && takes_product(x))) return "(" + written(x) + ")";
  if (const auto* const op = operator_of(x))
    return fmt::format("{} {} {}", written(parts[0], op->left, op->level >= product), op->name,
                       written(parts[1], op->right, is_followed));
  switch (x->op) {
    case Op::number: {
      auto digits = fmt::format("{}", x->number);  // the shortest that reads as this number
      std::erase(digits, '+');                     // of 1e+20
      return digits;
    }
    case Op::name:
    case Op::position:
      return x->name;
    case Op::size:
      return fmt::format("size({})", x->name);
    case Op::entry:
      return fmt::format("{}[{}]", x->name, list(parts));
    case Op::over:
      return written_over(x, is_followed);
    case Op::again: {
      std::string changes;
      for (std::size_t i = 0; i < parts.size(); ++i)
        changes += fmt::format(", {} = {}", x->changed[i], text(parts[i]));
      return fmt::format("again({}{})", x->name, changes);
    }
    case Op::call:
      break;
  }
  if (const auto all = stacked(x)) return fmt::format("stack({}, {})", all->axis, list(all->parts));
  if (x->name == "not") return "not " + written(parts[0], negation);
  if (x->name != "neg") return fmt::format("{}({})", x->name, list(parts));
  // A minus that touches a number is the number's.
  return (parts[0]->op == Op::number ? "- " : "-") + written(parts[0], sign, is_followed);
}

std::string written_over(const Expr& x, bool is_followed) {
  if (!reduces(x->name))
    return fmt::format("{}({}) {}", x->name, x->axis, written(x->parts[0], atom, is_followed));
  auto axes = x->axis;
  auto inner = x->parts[0];
  const bool may_go_over_two = x->name != "argmax" && x->name != "log_sum_exp" && x->name != "entropy";
  for (; may_go_over_two && inner->op == Op::over && inner->name == x->name; inner = inner->parts[0])
    axes += ", " + inner->axis;
  return fmt::format("{}({}) {}", x->name, axes, written(inner, begins_with_minus(inner) ? atom : product));
}

}  // namespace

std::string text(const Expr& x) {
  return written(x);
}

std::string text(const Definition& definition) {
  const auto axes = definition.axes.empty() ? "" : fmt::format("[{}]", fmt::join(definition.axes, ", "));
  return fmt::format("{}{} = {}", definition.name, axes, text(definition.expr));
}

namespace {

/// A formula as it is laid out, which Unicode and MathML write each in its way.
struct Box {
  enum Kind { name, number, symbol, words, row, fence, fraction, root, raised, lowered } kind;
  std::string text{};  ///< of a leaf; the opening bracket of a fence
  std::vector<Box> parts{};
};

Box leaf(Box::Kind kind, std::string text) {
  return {kind, std::move(text), {}};
}

Box symbol(std::string text) {
  return leaf(Box::symbol, std::move(text));
}

Box group(Box::Kind kind, std::vector<Box> parts) {
  return {kind, {}, std::move(parts)};
}

Box fence(std::string opening, Box inner) {
  return {Box::fence, std::move(opening), {std::move(inner)}};
}

/// A sum of products of entries along one axis that is a product of matrices: of each their last two axes,
/// and of a vector the last.
struct Matrix {
  std::vector<Expr> leads;
  std::string row, column;                       ///< a vector has no row, one behind a matrix no column
  bool turns_left = false, turns_right = false;  ///< of a product, whether a factor is transposed

  bool is_vector() const { return row.empty() || column.empty(); }
};

/// An index as pages leave it out: the position along an axis.
bool is_plain(const Expr& index) {
  return index->op == Op::position || index->op == Op::name;
}

bool mentions(const Expr& x, const std::string& axis) {
  return any_part(x, [&](const Expr& part) { return is_plain(part) && part->name == axis; });
}

std::optional<Matrix> matrix_of_entry(const Expr& x) {
  const auto rank = x->parts.size(), used = std::min<std::size_t>(rank, 2);
  if (used == 0 || !std::all_of(x->parts.end() - used, x->parts.end(), is_plain)) return std::nullopt;
  return Matrix{{x->parts.begin(), x->parts.end() - used},
                used == 2 ? x->parts[rank - 2]->name : "",
                x->parts.back()->name};
}

std::optional<Matrix> matrix(const Expr& x);

/// Leading axes that go together: the same ones, or those of one matrix alone.
bool fit(const std::vector<Expr>& left, const std::vector<Expr>& right) {
  const auto fits = [](const Expr& x, const Expr& y) {
    return !is_plain(x) || !is_plain(y) || x->name == y->name;
  };
  return left.empty() || right.empty() ||
         std::equal(left.begin(), left.end(), right.begin(), right.end(), fits);
}

std::optional<Matrix> matrix_product(const Expr& x) {
  if (x->op != Op::over || x->name != "sum" || !is_call(x->parts[0], "*")) return std::nullopt;
  auto left = matrix(x->parts[0]->parts[0]), right = matrix(x->parts[0]->parts[1]);
  if (!left || !right || left->row == left->column || right->row == right->column) return std::nullopt;
  const bool turns_left = left->column != x->axis, turns_right = right->row != x->axis;
  if (turns_left) std::swap(left->row, left->column);
  if (turns_right) std::swap(right->row, right->column);
  const auto &row = left->row, &column = right->column;
  const auto in_leads = [&](const Expr& lead) {
    return mentions(lead, x->axis) || mentions(lead, row) || mentions(lead, column);
  };
  const bool is_one = left->column == x->axis && right->row == x->axis && (row != column || row.empty()) &&
                      fit(left->leads, right->leads) &&
                      std::none_of(left->leads.begin(), left->leads.end(), in_leads) &&
                      std::none_of(right->leads.begin(), right->leads.end(), in_leads);
  if (!is_one) return std::nullopt;
  Matrix product{left->leads.empty() ? right->leads : left->leads, row, column};
  product.turns_left = turns_left && !row.empty();
  product.turns_right = turns_right && !product.is_vector();
  return product;
}

std::optional<Matrix> matrix(const Expr& x) {
  if (x->op == Op::entry) return matrix_of_entry(x);
  auto product = matrix_product(x);
  if (product && product->is_vector()) product.reset();
  return product;
}

/// Whether an entry has the place i, or the place i − n of the rest behind n, as one of its indices and the
/// others are positions.
bool is_piece(const Expr& x, const Expr& i, const Expr& n, bool is_rest) {
  if (x->op != Op::entry) return false;
  const auto is_place = [&](const Expr& index) {
    const bool moves = index->op == Op::call && (index->name == "mod" || (is_rest && index->name == "-"));
    return moves ? same(index->parts[0], i) && same(index->parts[1], n) : !is_rest && same(index, i);
  };
  return std::count_if(x->parts.begin(), x->parts.end(), is_place) == 1 &&
         std::all_of(x->parts.begin(), x->parts.end(),
                     [&](const Expr& index) { return is_place(index) || is_plain(index); });
}

/// Whether `where(i < n, x[i], y[i - n])` has x and y end to end.
bool are_end_to_end(const Expr& x) {
  const auto& condition = x->parts[0];
  if (!is_call(condition, "<") || !is_plain(condition->parts[0])) return false;
  const auto &i = condition->parts[0], &n = condition->parts[1];
  return is_piece(x->parts[1], i, n, false) && is_piece(x->parts[2], i, n, true);
}

/// Lays out a formula.
class Page {
 public:
  explicit Page(const Expr& whole) { note_entries(whole); }

  Box box(const Expr& x, Level least = choice, bool is_followed = false) {
    const auto product_of_matrices = matrix_product(x);
    const bool is_open = !product_of_matrices && takes_product(x);
    const auto level = product_of_matrices || is_open ? product : level_on_page(x);
    if (level < least || (is_followed && is_open)) return fence("(", box(x));
    if (product_of_matrices) return of(*product_of_matrices, x->parts[0]);
    switch (x->op) {
      case Op::number:
        return of_number(*x);
      case Op::name:
      case Op::position:
        return leaf(Box::name, x->name);
      case Op::size:
        return of_size(x->name);
      case Op::entry:
        return of_entry(x);
      case Op::call:
        return of_call(x, is_followed);
      case Op::over:
        return of_over(x);
      case Op::again:
        break;
    }
    return of_again(x);
  }

 private:
  static Level level_on_page(const Expr& x) {
    if (x->op != Op::call) return level_of(x);
    if (x->name == "where") return choice;
    if (x->name == "sqrt") return power;
    return x->name == "mod" ? sum : x->name == "not" ? sign : level_of(x);
  }

  /// Each box after the other, with that between them.
  static Box between(std::vector<Box> boxes, const std::string& sign) {
    std::vector<Box> row;
    for (auto& one : boxes) {
      if (!row.empty()) row.push_back(symbol(sign));
      row.push_back(std::move(one));
    }
    return row.size() == 1 ? row[0] : group(Box::row, std::move(row));
  }

  Box list(const std::vector<Expr>& parts, const std::string& sign = ", ") {
    std::vector<Box> boxes;
    for (const auto& part : parts) boxes.push_back(box(part));
    return between(std::move(boxes), sign);
  }

  void note_entries(const Expr& x) {
    if (x->op == Op::entry) {
      std::vector<std::string> indices;
      for (const auto& index : x->parts) indices.push_back(is_plain(index) ? index->name : "");
      indices_of_[x->name].insert(std::move(indices));
    }
    for (const auto& part : x->parts) note_entries(part);
  }

  /// Whether the formula reads the tensor at other positions, too, which differ in this index.
  bool tells_apart(const Expr& x, std::size_t index) const {
    const auto& all = indices_of_.at(x->name);
    return !is_matrix_ && std::any_of(all.begin(), all.end(), [&](const auto& other) {
      return !other[index].empty() && other[index] != x->parts[index]->name;
    });
  }

  Box of(const Matrix& product, const Expr& factors) {
    const bool was_matrix = std::exchange(is_matrix_, true);
    const auto factor = [&](const Expr& x, bool turns) {
      return turns ? group(Box::raised, {box(x, atom), symbol("ᵀ")}) : box(x, formula::product);
    };
    auto written = between(
        {factor(factors->parts[0], product.turns_left), factor(factors->parts[1], product.turns_right)},
        product.is_vector() ? " · " : " ");
    is_matrix_ = was_matrix;
    return written;
  }

  static Box of_number(const Node& x) {
    // What the field calls them.
    if (!x.name.empty())
      return leaf(Box::name, x.name == "temperature" ? "T" : x.name == "dropout" ? "p" : x.name);
    const double size = std::abs(x.number), digits = std::log10(size);
    auto text = std::isinf(size) ? "∞" : fmt::format("{:.6g}", size);
    if (const auto minus = text.find("e-"); minus != text.npos) text.replace(minus + 1, 1, "−");
    auto result = leaf(Box::number, text);
    if (std::isfinite(size) && digits >= 6 && digits == std::floor(digits))
      result = group(Box::raised, {leaf(Box::number, "10"), leaf(Box::number, fmt::format("{}", digits))});
    return std::signbit(x.number) ? group(Box::row, {symbol("−"), result}) : result;
  }

  /// Among positions a bare axis would be one.
  Box of_size(const std::string& axis) const {
    if (axis.starts_with("d_") && !is_in_index_) return leaf(Box::name, axis);
    return group(Box::row, {leaf(Box::name, "size"), fence("(", leaf(Box::name, axis))});
  }

  /// The name alone where each index is a position; else the indices up to the last that is none, or that
  /// another entry of the tensor does not have.
  Box of_entry(const Expr& x) {
    auto rest = x->parts.size();
    while (rest > 0 && is_plain(x->parts[rest - 1]) && !tells_apart(x, rest - 1)) --rest;
    const auto last = x->parts.begin() + static_cast<std::ptrdiff_t>(rest);
    auto first = x->parts.begin();
    if (first != last && is_plain(*first) && (*first)->name == "batch") ++first;
    auto name = leaf(Box::name, x->name);
    if (first == last) return name;
    const bool was_in_index = std::exchange(is_in_index_, true);
    auto indices = list({first, last});
    is_in_index_ = was_in_index;
    return group(Box::row, {std::move(name), fence("[", std::move(indices))});
  }

  Box of_call(const Expr& x, bool is_followed) {
    const auto& f = x->name;
    const auto& parts = x->parts;
    if (const auto* const op = operator_of(x)) {
      auto left = box(parts[0], op->left, op->level >= product);
      auto right = box(parts[1], op->right_on_page, is_followed);
      if (f == "/") return group(Box::fraction, {std::move(left), std::move(right)});
      if (f == "^") return group(Box::raised, {std::move(left), std::move(right)});
      return between({std::move(left), std::move(right)}, fmt::format(" {} ", op->on_page));
    }
    if (f == "neg") return group(Box::row, {symbol("−"), box(parts[0], power, is_followed)});
    if (f == "not") return group(Box::row, {symbol("¬"), box(parts[0], atom, is_followed)});
    if (f == "sqrt") return group(Box::root, {box(parts[0], atom, true)});
    if (f == "floor") return fence("⌊", box(parts[0]));
    if (f == "abs") return fence("|", box(parts[0]));
    if (f == "mod") return between({box(parts[0], sign, true), box(parts[1], sign, true)}, " mod ");
    if (f == "where" && are_end_to_end(x))
      return fence("[", between({leaf(Box::name, parts[1]->name), leaf(Box::name, parts[2]->name)}, "; "));
    if (const auto all = stacked(x)) return fence("[", list(all->parts, "; "));
    if (f == "where")
      return group(Box::row, {box(parts[1]), leaf(Box::words, " where "), box(parts[0]), symbol(", "),
                              box(parts[2]), leaf(Box::words, " elsewhere")});
    return group(Box::row, {leaf(Box::name, f), fence("(", list(parts))});
  }

  /// Whether a function goes along the last axis of its operand, as one expects of it.
  static bool goes_along_rows(const Expr& x) {
    const auto& operand = x->parts[0];
    return operand->op != Op::entry || operand->parts.empty() || !is_plain(operand->parts.back()) ||
           operand->parts.back()->name == x->axis;
  }

  Box of_over(const Expr& x) {
    if (!reduces(x->name)) {
      auto name = leaf(Box::name, x->name);
      if (goes_along_rows(x)) return group(Box::row, {std::move(name), fence("(", box(x->parts[0]))});
      return group(Box::row, {group(Box::lowered, {std::move(name), leaf(Box::name, x->axis)}),
                              fence("(", box(x->parts[0]))});
    }
    auto sign = x->name == "sum" ? symbol("Σ") : leaf(Box::name, x->name);
    return group(Box::row, {group(Box::lowered, {std::move(sign), leaf(Box::name, x->axis)}), symbol(" "),
                            box(x->parts[0], product)});
  }

  Box of_again(const Expr& x) {
    std::vector<Box> changes;
    for (std::size_t i = 0; i < x->parts.size(); ++i)
      changes.push_back(between({leaf(Box::name, x->changed[i]), box(x->parts[i])}, " = "));
    auto name = leaf(Box::name, x->name);
    if (changes.empty()) return name;
    return group(Box::row, {std::move(name), fence("(", between(std::move(changes), ", "))});
  }

  bool is_in_index_ = false, is_matrix_ = false;
  std::map<std::string, std::set<std::vector<std::string>>> indices_of_;  ///< of each tensor
};

std::string closing(const std::string& opening) {
  return opening == "(" ? ")" : opening == "[" ? "]" : opening == "⌊" ? "⌋" : opening;
}

/// `²`, `ᵀ`, `^0.5`
std::string unicode_raised(const Box& exponent, const std::string& written) {
  static const std::array<std::string, 10> digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (exponent.kind == Box::symbol) return written;
  const bool is_whole =
      exponent.kind == Box::number && written.find_first_not_of("0123456789") == std::string::npos;
  if (!is_whole) return "^" + written;
  std::string all;
  for (const char c : written) all += digits.at(static_cast<std::size_t>(c - '0'));
  return all;
}

std::string unicode(const Box& box) {
  std::vector<std::string> parts;
  for (const auto& part : box.parts) parts.push_back(unicode(part));
  switch (box.kind) {
    case Box::row:
      return fmt::format("{}", fmt::join(parts, ""));
    case Box::fence:
      return box.text + parts[0] + closing(box.text);
    case Box::fraction:
      return parts[0] + " / " + parts[1];
    case Box::root:
      return "√" + parts[0];
    case Box::raised:
      return parts[0] + unicode_raised(box.parts[1], parts[1]);
    case Box::lowered:
      return parts[0] + "_" + (parts[1].find('_') == std::string::npos ? parts[1] : "{" + parts[1] + "}");
    default:
      return box.text;
  }
}

std::string element(std::string_view name, std::string_view content) {
  return fmt::format("<{0}>{1}</{0}>", name, content);
}

std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : text)
    all += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return all;
}

/// `W_Q` has an index, `mean_weights` is a word.
std::string mathml_name(const std::string& name) {
  const bool has_index = name.size() > 2 && name[1] == '_' && name.find('_', 2) == name.npos;
  if (!has_index) return element("mi", escaped(name));
  return element("msub", element("mi", escaped(name.substr(0, 1))) + element("mi", escaped(name.substr(2))));
}

std::string mathml_symbol(const std::string& text) {
  if (text == " ") return "<mo>&#x2062;</mo>";  // times, not shown
  const auto first = text.find_first_not_of(' ');
  return element("mo", escaped(text.substr(first, text.find_last_not_of(' ') + 1 - first)));
}

std::string mathml_of(const Box& box) {
  std::vector<std::string> parts;
  for (const auto& part : box.parts) {
    // What a line or a place of its own holds together needs no parentheses.
    const bool has_place =
        box.kind == Box::fraction || box.kind == Box::root || (box.kind == Box::raised && !parts.empty());
    const bool is_bare = has_place && part.kind == Box::fence && part.text == "(";
    parts.push_back(mathml_of(is_bare ? part.parts[0] : part));
  }
  switch (box.kind) {
    case Box::name:
      return mathml_name(box.text);
    case Box::number:
      return element("mn", escaped(box.text));
    case Box::symbol:
      return mathml_symbol(box.text);
    case Box::words:
      return element("mtext", escaped(box.text));
    case Box::row:
      return element("mrow", fmt::format("{}", fmt::join(parts, "")));
    case Box::fence:
      return element("mrow", mathml_symbol(box.text) + parts[0] + mathml_symbol(closing(box.text)));
    case Box::fraction:
      return element("mfrac", parts[0] + parts[1]);
    case Box::root:
      return element("msqrt", parts[0]);
    case Box::raised:
      return element("msup", parts[0] + (box.parts[1].text == "ᵀ" ? "<mi>T</mi>" : parts[1]));
    case Box::lowered:
      break;
  }
  return element(box.parts[0].text == "Σ" ? "munder" : "msub", parts[0] + parts[1]);
}

}  // namespace

std::string page_text(const Expr& x) {
  return unicode(Page(x).box(x));
}

std::string mathml(const Expr& x) {
  return mathml_of(Page(x).box(x));
}

}  // namespace formula
