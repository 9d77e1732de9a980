#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/index.hpp"
#include "attn/tensor.hpp"

namespace attn {

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

  static Worked sum(std::vector<Worked> terms);
  static Worked product(std::vector<Worked> factors);

  /// Of exp, sqrt, tanh, log, erf, sin, cos, floor, float32, float16, bfloat16 of one number, min and max of
  /// several.
  static Worked call(std::string_view function, std::vector<Worked> arguments);
  static bool has_function(std::string_view name);

  friend Worked operator-(Worked x);
  friend Worked operator-(Worked x, Worked y);
  friend Worked operator/(Worked x, Worked y);
  friend Worked pow(Worked x, Worked exponent);

  /// 1 where x < y or x ≤ y, 0 elsewhere.
  static Worked less(Worked x, Worked y);
  static Worked at_most(Worked x, Worked y);

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
  enum class Operation { number, negation, sum, difference, product, quotient, power, less, at_most, call };

  Worked(Operation operation, std::vector<Worked> parts, double value);
  const std::vector<Worked>& parts() const { return *parts_; }
  void append_text(std::string& text, const std::function<std::string(const Worked&)>& number,
                   std::size_t most_terms) const;
  void append_parts(std::string& text, const std::function<std::string(const Worked&)>& number,
                    std::size_t most_terms) const;
  bool is_comparison() const { return operation_ == Operation::less || operation_ == Operation::at_most; }
  bool needs_parentheses_in(Operation outer, bool is_first) const;
  const char* separator() const;

  Operation operation_ = Operation::number;
  double value_ = 0.0;
  std::string_view function_{};                   ///< of a call
  std::shared_ptr<Operand> operand_{};            ///< of a number that is an entry
  std::shared_ptr<std::vector<Worked>> parts_{};  ///< of what is no number; shared with copies of it
};

Worked operator-(Worked x);
Worked operator-(Worked x, Worked y);
Worked operator/(Worked x, Worked y);
Worked pow(Worked x, Worked exponent);

/// The largest of several.
Worked largest(std::vector<Worked> of);

/// Where the largest is, the first of several: its place, times that all before it are less and none after it
/// is more.
Worked argmax(const std::vector<Worked>& of);

/// Σ / count of them.
Worked mean_of(std::vector<Worked> of);

/// 1 where x = y, 0 elsewhere: neither is more than the other.
Worked equals(const Worked& x, const Worked& y);

/// How each entry of a tensor comes about.
using WorkedOut = std::function<Worked(const Index& at)>;

}  // namespace attn
