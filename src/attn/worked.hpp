#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <xtensor/xstorage.hpp>

#include "attn/tensor.hpp"

namespace attn {

/// A place along each axis of a tensor. It owns no memory as long as there are few: a page makes one for each
/// number in each of its worked entries.
using Index = xt::svector<std::size_t, 6>;

// How one entry of a tensor comes about, as arithmetic on the numbers of the run.

/// An entry of the tensor `tensor`, which is its id in the trace.
struct Operand {
  std::string tensor;
  Index index;
  bool is_whole = false;  ///< of a tensor of whole numbers or truth values
};

/// An expression. Each number in it is a constant of the formula or an entry of a tensor, and knows which.
class Worked {
 public:
  /// A constant, as the 2 in x / 2.
  Worked(double constant);
  Worked(Operand operand, double value);

  /// `+`, `*`, `-`, `/`, `^`, `<`, `<=`, of one number neg, exp, sqrt, tanh, log, erf, sin, cos, floor,
  /// float32, float16, bfloat16, of several min and max, by their names in formulas. A comparison is 1 or 0.
  static Worked call(std::string_view function, std::vector<Worked> arguments);
  static bool has_function(std::string_view name);

  /// Of a single one that itself.
  static Worked sum(std::vector<Worked> terms);
  static Worked product(std::vector<Worked> factors);

  double value() const { return value_; }

  /// Whether all numbers in it and its value are finite.
  bool is_finite() const;

  /// The entry that the whole expression is, or null.
  const Operand* entry() const { return operand_.get(); }

  /// Calls `see` with each entry in it, in the order in which they are written; the same one may come twice.
  void for_each_entry(const std::function<void(const Operand&, double value)>& see) const;

  /// Calls `change` with each operand.
  void for_each_operand(const std::function<void(Operand&)>& change);

  /// "exp(0.33) / (exp(0.12) + exp(0.33))": `+ − · / ^ < ≤`, parentheses and functions of numbers, which
  /// `number` writes. Of a sum or a call of more than `most_terms` terms the middle is left out.
  std::string text(const std::function<std::string(const Worked&)>& number, std::size_t most_terms) const;

 private:
  struct Function;

  static const Function* called(std::string_view name);  ///< null where there is none
  const std::vector<Worked>& parts() const { return *parts_; }
  bool needs_parentheses_in(const Function& outer, bool is_first) const;

  const Function* function_ = nullptr;  ///< of what is no number
  double value_ = 0.0;
  std::shared_ptr<Operand> operand_{};            ///< of a number that is an entry
  std::shared_ptr<std::vector<Worked>> parts_{};  ///< of what is no number; shared with copies of it
};

Worked operator-(Worked x);
Worked operator-(Worked x, Worked y);
Worked operator/(Worked x, Worked y);

/// The largest of several.
Worked largest(std::vector<Worked> of);

/// Where the largest is, the first of several: its place, times that all before it are less and none after it
/// is more.
Worked argmax(const std::vector<Worked>& of);

/// How each entry of a tensor comes about.
using WorkedOut = std::function<Worked(const Index& at)>;

}  // namespace attn
