#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formula/expression.hpp"

namespace formula {

/// An operator between two operands, as texts of formulas have it.
struct Operator {
  /// How tightly a formula holds together: one that stands where a tighter one must needs parentheses.
  enum Level { choice, either, both, negation, comparison, sum, quotient, product, sign, power, atom };

  std::string_view name;
  Level level, left, right;  ///< of itself, and the least of each operand
  std::string_view on_page;
  Level right_on_page;  ///< `a + (b + c)` is written without parentheses there
};

/// The one of that name, or null.
const Operator* operator_named(std::string_view name);

/// A function of numbers that formulas call.
struct Function {
  std::string_view name;  ///< "+", "exp", "where"
  std::size_t operands;
  bool is_truth = false;  ///< its value is true or false, written 1 or 0

  /// What comes back to each operand, where `d` comes back to its value: `value` stands for that, `x` and `y`
  /// for the operands. None where it is constant between its steps, or where formulas do not say it.
  std::vector<const char*> back;

  /// y[i] = f(x[0][i], x[1][i], …) for so many entries.
  void (*apply)(const double* const* x, double* y, std::size_t count);

  /// The same of one entry.
  double value(const double* operands) const;
};

/// All of them: + - * / ^ neg < <= = and or not where exp log sqrt tanh erf sin cos floor abs max min mod,
/// and those that round to a format of numbers, `rounds_to_format`.
const std::vector<Function>& functions();

/// The one of that name, or null.
const Function* function_named(std::string_view name);

/// A function over an axis, or a formula with a name: `sigmoid(x) = 1 / (1 + exp(-x))`, `mean(axis) x =
/// sum(axis) x / size(axis)`.
struct Composite {
  std::string_view name;
  bool goes_over_axis, reduces;
  const char* body;  ///< `x` stands for the operand and `axis` for the axis; "" of sum, max, min and argmax
  const char* back = "";  ///< as of a Function; "" where the body says it
};

/// All of them: sum, max, min, argmax, softmax, unguarded_softmax, log_sum_exp, mean, entropy, layer_norm,
/// sigmoid, relu, gelu.
const std::vector<Composite>& composites();

/// The one of that name, or null.
const Composite* composite_named(std::string_view name);

/// Whether a function of that name goes over an axis: sum, max, min, argmax and composites that do.
bool goes_over_axis(std::string_view name);

/// Whether it leaves the axis away: sum, max, min, argmax, log_sum_exp, mean, entropy.
bool reduces(std::string_view name);

/// Whether it is float32, float16 or bfloat16, which round to the nearest number of that format.
bool rounds_to_format(std::string_view name);

/// What a composite stands for, one level deep; nothing for what is none.
std::optional<Expr> expanded(const Expr& x);

/// What comes back to each operand of `x`, a call or a function over an axis, where `d` comes back to its
/// value; none where the tables have none.
std::vector<Expr> gradients(const Expr& x, const Expr& value, const Expr& d);

/// Formulas side by side along an axis, an entry each.
struct Stacked {
  std::string axis;
  std::vector<Expr> parts;
};

/// What `stack(axis, x, y, z)` stands for: where(axis = 0, x, where(axis = 1, y, where(axis = 2, z, nan))).
Expr stack(const Expr& axis, const std::vector<Expr>& parts);

/// The parts of such a formula; nothing for another one.
std::optional<Stacked> stacked(const Expr& x);

/// Whether the value is true or false, where `is_truth_of` says that of tensors; without it they are numbers.
bool is_truth(const Expr& x, const std::function<bool(const Expr& tensor)>& is_truth_of = {});

/// The number that a formula is, where `number_of` says what its names and lengths are; none where it does
/// not. What is `and` a falsehood is false, whatever else is in it.
std::optional<double> number_in(const Expr& x,
                                const std::function<std::optional<double>(const Expr&)>& number_of);

}  // namespace formula
