#include "formula/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "attn/tensor.hpp"
#include "formula/parse.hpp"

namespace formula {

namespace {

template <class Table, class Name>
auto find_named(const Table& table, const Name& name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.name == name; });
  return found == table.end() ? nullptr : &*found;
}

using Texts = std::vector<const char*>;

/// A function of one number, of two or of three.
template <auto of>
Function function_of(std::string_view name, Texts back = {}, bool is_truth = false) {
  using Of = decltype(of);
  constexpr std::size_t operands = std::is_invocable_v<Of, double>           ? 1
                                   : std::is_invocable_v<Of, double, double> ? 2
                                                                             : 3;
  return {name, operands, is_truth, std::move(back),
          [](const double* const* x, double* y, std::size_t count) {
            const double *const a = x[0], *const b = x[operands > 1 ? 1 : 0], *const c = x[operands - 1];
            for (std::size_t i = 0; i < count; ++i)
              if constexpr (operands == 1)
                y[i] = of(a[i]);
              else if constexpr (operands == 2)
                y[i] = of(a[i], b[i]);
              else
                y[i] = of(a[i], b[i], c[i]);
          }};
}

}  // namespace

const Operator* operator_named(std::string_view name) {
  using enum Operator::Level;
  static constexpr std::array all = {
      Operator{"or", either, either, both, "∨", either},   Operator{"and", both, both, negation, "∧", both},
      Operator{"<", comparison, sum, sum, "<", sum},       Operator{"<=", comparison, sum, sum, "≤", sum},
      Operator{"=", comparison, sum, sum, "=", sum},       Operator{"+", sum, sum, quotient, "+", sum},
      Operator{"-", sum, sum, quotient, "−", quotient},    Operator{"/", quotient, quotient, sign, "/", sign},
      Operator{"*", product, product, sign, "·", product}, Operator{"^", power, atom, sign, "^", atom},
  };
  return find_named(all, name);
}

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      function_of<[](double x, double y) { return x + y; }>("+", {"d", "d"}),
      function_of<[](double x, double y) { return x - y; }>("-", {"d", "-d"}),
      function_of<[](double x, double y) { return x * y; }>("*"),
      function_of<[](double x, double y) { return x / y; }>("/", {"d / y", "-(d * value / y)"}),
      function_of<[](double x, double y) { return y == 2.0 ? x * x : std::pow(x, y); }>(
          "^", {"d * (y * x ^ (y - 1))", "d * value * log(x)"}),
      function_of<[](double x) { return -x; }>("neg", {"-d"}),
      function_of<[](double x, double y) { return x < y ? 1.0 : 0.0; }>("<", {}, true),
      function_of<[](double x, double y) { return x <= y ? 1.0 : 0.0; }>("<=", {}, true),
      function_of<[](double x, double y) { return x == y ? 1.0 : 0.0; }>("=", {}, true),
      function_of<[](double x, double y) { return ((x != 0.0) & (y != 0.0)) ? 1.0 : 0.0; }>("and", {}, true),
      function_of<[](double x, double y) { return ((x != 0.0) | (y != 0.0)) ? 1.0 : 0.0; }>("or", {}, true),
      function_of<[](double x) { return x == 0.0 ? 1.0 : 0.0; }>("not", {}, true),
      function_of<[](double is, double yes, double no) { return is != 0.0 ? yes : no; }>("where"),
      function_of<[](double x) { return std::exp(x); }>("exp", {"d * value"}),
      function_of<[](double x) { return std::log(x); }>("log", {"d * (1 / x)"}),
      function_of<[](double x) { return std::sqrt(x); }>("sqrt", {"d * (1 / (2 * value))"}),
      function_of<[](double x) { return std::tanh(x); }>("tanh", {"d * (1 - value ^ 2)"}),
      function_of<[](double x) { return std::erf(x); }>("erf", {"d * (1.1283791670955126 * exp(-x ^ 2))"}),
      function_of<[](double x) { return std::sin(x); }>("sin", {"d * cos(x)"}),
      function_of<[](double x) { return std::cos(x); }>("cos", {"d * -sin(x)"}),
      function_of<[](double x) { return std::floor(x); }>("floor"),
      function_of<[](double x) { return std::abs(x); }>("abs", {"d * where(x < 0, -1, 1)"}),
      function_of<[](double x, double y) { return std::isnan(y) ? y : std::max(x, y); }>(
          "max", {"where(y <= x, d, 0)", "where(y <= x, 0, d)"}),
      function_of<[](double x, double y) { return std::isnan(y) ? y : std::min(x, y); }>(
          "min", {"where(x <= y, d, 0)", "where(x <= y, 0, d)"}),
      function_of<[](double x, double y) { return x - y * std::floor(x / y); }>("mod",
                                                                                {"d", "-(d * floor(x / y))"}),
      function_of<[](double x) { return attn::round_to(attn::Dtype::float32, x); }>("float32", {"d"}),
      function_of<[](double x) { return attn::round_to(attn::Dtype::float16, x); }>("float16", {"d"}),
      function_of<[](double x) { return attn::round_to(attn::Dtype::bfloat16, x); }>("bfloat16", {"d"}),
  };
  return all;
}

double Function::value(const double* operands) const {
  const std::array each = {operands, operands + 1, operands + 2};
  double y = 0.0;
  apply(each.data(), &y, 1);
  return y;
}

const Function* function_named(std::string_view name) {
  return find_named(functions(), name);
}

const std::vector<Composite>& composites() {
  static constexpr auto of_best = "where(x = value, d / sum(axis) where(x = value, 1, 0), 0)",
                        of_share = "value * (d - sum(axis) value * d)";
  static const std::vector<Composite> all = {
      {"sum", true, true, "", "d"},
      {"max", true, true, "", of_best},
      {"min", true, true, "", of_best},
      {"argmax", true, true, ""},
      {"softmax", true, false,
       "where(max(axis) x = -inf, 0, exp(x - max(axis) x) / sum(axis) exp(x - max(axis) x))", of_share},
      {"unguarded_softmax", true, false, "exp(x - max(axis) x) / sum(axis) exp(x - max(axis) x)", of_share},
      {"log_sum_exp", true, true,
       "where(max(axis) x = -inf, -inf, max(axis) x + log(sum(axis) exp(x - max(axis) x)))",
       "d * softmax(axis) x"},
      {"mean", true, true, "sum(axis) x / size(axis)", "d / size(axis)"},
      {"entropy", true, true, "-sum(axis) x * log(max(x, 1e-300))"},
      {"layer_norm", true, false, "(x - mean(axis) x) / sqrt(mean(axis) (x - mean(axis) x) ^ 2 + 1e-5)"},
      {"sigmoid", false, false, "1 / (1 + exp(-x))", "d * (value * (1 - value))"},
      {"relu", false, false, "max(x, 0)", "d * (0 < value)"},
      {"gelu", false, false, "x * (1 + erf(x / sqrt(2))) / 2",
       "d * ((1 + erf(x / sqrt(2))) / 2 + x * (exp(-(x ^ 2 / 2)) / sqrt(6.283185307179586)))"},
  };
  return all;
}

const Composite* composite_named(std::string_view name) {
  return find_named(composites(), name);
}

bool goes_over_axis(std::string_view name) {
  const auto* composite = composite_named(name);
  return composite != nullptr && composite->goes_over_axis;
}

bool reduces(std::string_view name) {
  const auto* composite = composite_named(name);
  return composite != nullptr && composite->reduces;
}

bool rounds_to_format(std::string_view name) {
  return name == "float32" || name == "float16" || name == "bfloat16";
}

namespace {

/// A text of the tables.
const Expr& parsed(std::string_view text) {
  static const auto all = [] {
    std::map<std::string_view, Expr> read;
    const auto add = [&](const std::string_view one) {
      if (!one.empty()) read.emplace(one, parse(one));
    };
    for (const auto& function : functions()) std::for_each(function.back.begin(), function.back.end(), add);
    for (const auto& composite : composites()) {
      add(composite.body);
      add(composite.back);
    }
    return read;
  }();
  return all.at(text);
}

/// `body` with formulas for its names, and with that axis.
Expr instantiated(const Expr& body, const std::map<std::string, Expr>& formulas, const std::string& axis) {
  if (body->op == Op::name) return formulas.at(body->name);
  return edited(body, [&](Node& node) {
    node.at = 0;
    if (node.op == Op::over) node.axis = axis;
    if (node.op == Op::size) node.name = axis;
    for (auto& part : node.parts) part = instantiated(part, formulas, axis);
  });
}

/// The composite that `x` is, or null.
const Composite* composite_of(const Expr& x) {
  const auto* composite = x->op == Op::call || x->op == Op::over ? composite_named(x->name) : nullptr;
  const bool is_it = composite != nullptr && composite->goes_over_axis == (x->op == Op::over);
  return is_it ? composite : nullptr;
}

}  // namespace

std::optional<Expr> expanded(const Expr& x) {
  const auto* composite = composite_of(x);
  if (composite == nullptr || *composite->body == '\0') return std::nullopt;
  return instantiated(parsed(composite->body), {{"x", x->parts[0]}}, x->axis);
}

std::vector<Expr> gradients(const Expr& x, const Expr& value, const Expr& d) {
  Texts back;
  if (const auto* composite = composite_of(x)) {
    if (*composite->back != '\0') back = {composite->back};
  } else if (const auto* function = x->op == Op::call ? function_named(x->name) : nullptr) {
    back = function->back;
  }
  const std::map<std::string, Expr> formulas = {
      {"x", x->parts[0]}, {"y", x->parts.back()}, {"value", value}, {"d", d}};
  std::vector<Expr> all;
  for (const auto* one : back) all.push_back(instantiated(parsed(one), formulas, x->axis));
  return all;
}

Expr stack(const Expr& axis, const std::vector<Expr>& parts) {
  Expr x = std::numeric_limits<double>::quiet_NaN();  // where there are more entries than parts
  for (auto i = parts.size(); i-- > 0;)
    x = call("where", {call("=", {axis, static_cast<double>(i)}), parts[i], x});
  return x;
}

std::optional<Stacked> stacked(const Expr& x) {
  Stacked result;
  const auto* rest = &x;
  for (double i = 0.0; is_call(*rest, "where"); ++i, rest = &(*rest)->parts[2]) {
    const auto& condition = (*rest)->parts[0];
    if (!is_call(condition, "=") || !is_number(condition->parts[1], i)) break;
    const auto& place = condition->parts[0];
    const bool is_axis = place->op == Op::position || place->op == Op::name;
    if (!is_axis || (i > 0.0 && place->name != result.axis)) break;
    result.axis = place->name;
    result.parts.push_back((*rest)->parts[1]);
  }
  const bool has_end = (*rest)->op == Op::number && std::isnan((*rest)->number);
  return result.parts.empty() || !has_end ? std::nullopt : std::optional(std::move(result));
}

std::optional<double> number_in(const Expr& x,
                                const std::function<std::optional<double>(const Expr&)>& number_of) {
  if (x->op == Op::number) return x->number;
  if (x->op == Op::name || x->op == Op::size) return number_of(x);
  const auto* function = x->op == Op::call ? function_named(x->name) : nullptr;
  if (function == nullptr) return std::nullopt;
  std::vector<double> numbers;
  for (const auto& part : x->parts) {
    const auto number = number_in(part, number_of);
    if (x->name == "and" && number == 0.0) return 0.0;
    if (number) numbers.push_back(*number);
  }
  return numbers.size() < x->parts.size() ? std::nullopt : std::optional(function->value(numbers.data()));
}

bool is_truth(const Expr& x, const std::function<bool(const Expr& tensor)>& is_truth_of) {
  if (x->op == Op::entry || x->op == Op::again) return is_truth_of && is_truth_of(x);
  const auto* function = x->op == Op::call ? function_named(x->name) : nullptr;
  if (function != nullptr && x->name == "where")
    return is_truth(x->parts[1], is_truth_of) && is_truth(x->parts[2], is_truth_of);
  return function != nullptr && function->is_truth;
}

}  // namespace formula
