#include "formula/functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
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

constexpr std::array reductions = {"sum", "max", "min", "argmax"};

bool is_one_of_reductions(std::string_view name) {
  return std::find(reductions.begin(), reductions.end(), name) != reductions.end();
}

template <auto of>
Function of_one(std::string_view name, bool is_truth = false) {
  return {name, 1, is_truth, [](const double* const* x, double* y, std::size_t count) {
            const double* const a = x[0];
            for (std::size_t i = 0; i < count; ++i) y[i] = of(a[i]);
          }};
}

template <auto of>
Function of_two(std::string_view name, bool is_truth = false) {
  return {name, 2, is_truth, [](const double* const* x, double* y, std::size_t count) {
            const double *const a = x[0], *const b = x[1];
            for (std::size_t i = 0; i < count; ++i) y[i] = of(a[i], b[i]);
          }};
}

}  // namespace

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      of_two<[](double x, double y) { return x + y; }>("+"),
      of_two<[](double x, double y) { return x - y; }>("-"),
      of_two<[](double x, double y) { return x * y; }>("*"),
      of_two<[](double x, double y) { return x / y; }>("/"),
      of_two<[](double x, double y) { return y == 2.0 ? x * x : std::pow(x, y); }>("^"),
      of_one<[](double x) { return -x; }>("neg"),
      of_two<[](double x, double y) { return x < y ? 1.0 : 0.0; }>("<", true),
      of_two<[](double x, double y) { return x <= y ? 1.0 : 0.0; }>("<=", true),
      of_two<[](double x, double y) { return x == y ? 1.0 : 0.0; }>("=", true),
      of_two<[](double x, double y) { return ((x != 0.0) & (y != 0.0)) ? 1.0 : 0.0; }>("and", true),
      of_two<[](double x, double y) { return ((x != 0.0) | (y != 0.0)) ? 1.0 : 0.0; }>("or", true),
      of_one<[](double x) { return x == 0.0 ? 1.0 : 0.0; }>("not", true),
      {"where", 3, false,
       [](const double* const* x, double* y, std::size_t count) {
         const double *const is = x[0], *const yes = x[1], *const no = x[2];
         for (std::size_t i = 0; i < count; ++i) y[i] = is[i] != 0.0 ? yes[i] : no[i];
       }},
      of_one<[](double x) { return std::exp(x); }>("exp"),
      of_one<[](double x) { return std::log(x); }>("log"),
      of_one<[](double x) { return std::sqrt(x); }>("sqrt"),
      of_one<[](double x) { return std::tanh(x); }>("tanh"),
      of_one<[](double x) { return std::erf(x); }>("erf"),
      of_one<[](double x) { return std::sin(x); }>("sin"),
      of_one<[](double x) { return std::cos(x); }>("cos"),
      of_one<[](double x) { return std::floor(x); }>("floor"),
      of_one<[](double x) { return std::abs(x); }>("abs"),
      of_two<[](double x, double y) { return std::isnan(y) ? y : std::max(x, y); }>("max"),
      of_two<[](double x, double y) { return std::isnan(y) ? y : std::min(x, y); }>("min"),
      of_two<[](double x, double y) { return x - y * std::floor(x / y); }>("mod"),
      of_one<[](double x) { return attn::round_to(attn::Dtype::float32, x); }>("float32"),
      of_one<[](double x) { return attn::round_to(attn::Dtype::float16, x); }>("float16"),
      of_one<[](double x) { return attn::round_to(attn::Dtype::bfloat16, x); }>("bfloat16"),
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
  static const std::vector<Composite> all = {
      {"softmax", true, false,
       "where(max(axis) x = -inf, 0, exp(x - max(axis) x) / sum(axis) exp(x - max(axis) x))"},
      {"unguarded_softmax", true, false, "exp(x - max(axis) x) / sum(axis) exp(x - max(axis) x)"},
      {"log_sum_exp", true, true,
       "where(max(axis) x = -inf, -inf, max(axis) x + log(sum(axis) exp(x - max(axis) x)))"},
      {"mean", true, true, "sum(axis) x / size(axis)"},
      {"entropy", true, true, "-sum(axis) x * log(max(x, 1e-300))"},
      {"layer_norm", true, false, "(x - mean(axis) x) / sqrt(mean(axis) (x - mean(axis) x) ^ 2 + 1e-5)"},
      {"sigmoid", false, false, "1 / (1 + exp(-x))"},
      {"relu", false, false, "max(x, 0)"},
      {"gelu", false, false, "x * (1 + erf(x / sqrt(2))) / 2"},
  };
  return all;
}

const Composite* composite_named(std::string_view name) {
  return find_named(composites(), name);
}

bool goes_over_axis(std::string_view name) {
  if (is_one_of_reductions(name)) return true;  // as sum, the commonest
  const auto* composite = composite_named(name);
  return composite != nullptr && composite->goes_over_axis;
}

bool rounds_to_format(std::string_view name) {
  return name == "float32" || name == "float16" || name == "bfloat16";
}

bool reduces(std::string_view name) {
  if (is_one_of_reductions(name)) return true;  // as sum, the commonest
  const auto* composite = composite_named(name);
  return composite != nullptr && composite->reduces;
}

namespace {

/// `body` with what stands for its operand and its axis put in.
Expr instantiated(const Expr& body, const Expr& x) {
  if (body->op == Op::name) return x->parts[0];
  return edited(body, [&](Node& node) {
    if (node.op == Op::over) node.axis = x->axis;
    if (node.op == Op::size) node.name = x->axis;
    for (auto& part : node.parts) part = instantiated(part, x);
  });
}

}  // namespace

std::optional<Expr> expanded(const Expr& x) {
  if (x->op != Op::call && x->op != Op::over) return std::nullopt;
  const auto* composite = composite_named(x->name);
  if (composite == nullptr || composite->goes_over_axis != (x->op == Op::over)) return std::nullopt;
  static const auto bodies = [] {
    std::map<std::string_view, Expr> all;
    for (const auto& one : composites()) all.emplace(one.name, parse(one.body));
    return all;
  }();
  return instantiated(bodies.at(composite->name), x);
}

Expr stack(const Expr& axis, const std::vector<Expr>& parts) {
  Expr x = std::numeric_limits<double>::quiet_NaN();  // where there are more entries than parts
  for (auto i = parts.size(); i-- > 0;)
    x = call("where", {call("=", {axis, static_cast<double>(i)}), parts[i], x});
  return x;
}

std::optional<Stacked> stacked(const Expr& x) {
  Stacked result;
  auto rest = x;
  for (double i = 0.0; is_call(rest, "where"); ++i) {
    const auto& condition = rest->parts[0];
    const bool is_next = is_call(condition, "=") &&
                         (condition->parts[0]->op == Op::position || condition->parts[0]->op == Op::name) &&
                         (result.axis.empty() || condition->parts[0]->name == result.axis) &&
                         condition->parts[1]->op == Op::number && condition->parts[1]->number == i;
    if (!is_next) break;
    result.axis = condition->parts[0]->name;
    result.parts.push_back(rest->parts[1]);
    const auto next = rest->parts[2];
    rest = next;
  }
  const bool has_end = rest->op == Op::number && std::isnan(rest->number);
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

bool is_truth(const Expr& x) {
  if (x->op != Op::call) return false;
  const auto* function = function_named(x->name);
  if (function != nullptr && x->name == "where") return is_truth(x->parts[1]) && is_truth(x->parts[2]);
  return function != nullptr && function->is_truth;
}

}  // namespace formula
