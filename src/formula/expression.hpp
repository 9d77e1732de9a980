#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

/// Formulas in named axes as data: `scores[query, key] = sum(d_k) Q[query, d_k] * K[key, d_k]`. Values,
/// worked entries, NumPy and text are readings of them.
namespace formula {

/// Names of axes, in the order in which a tensor has them.
using Axes = std::vector<std::string>;

/// Where `axis` stands among them; their number where it does not.
std::size_t place_in(const Axes& axes, const std::string& axis);
bool has(const Axes& axes, const std::string& axis);

/// All of them, one list after the other.
Axes joined(Axes axes, std::initializer_list<Axes> more);

/// What is wrong with a formula, and where in its text.
class Error : public attn::Error {
 public:
  Error(std::size_t at, const std::string& message) : attn::Error(message), at_(at) {}

  /// The byte of the text at which it was noticed.
  std::size_t at() const { return at_; }

 private:
  std::size_t at_;
};

enum class Op {
  number,    ///< a constant
  name,      ///< a tensor or an axis, as it was written: Sheet tells which
  position,  ///< 0, 1, … along an axis that the entry has or that is summed over
  size,      ///< the length of an axis
  entry,     ///< of a tensor, an index an axis
  call,      ///< of a function, entry by entry: + - * / ^ < <= = and or not where exp … (functions.hpp)
  over,      ///< of a function over an axis: sum, max, min, argmax, softmax, mean …
  again,     ///< a step, computed with other formulas for some names
};

struct Node;
class Expr;

/// Of a function of numbers, by its name: "+", "neg", "exp".
Expr call(std::string function, std::vector<Expr> parts);

/// A formula for one entry: a value that is cheap to copy and never changes.
class Expr {
 public:
  Expr(double number);
  explicit Expr(Node node);

  const Node* operator->() const { return node_.get(); }
  const Node& operator*() const { return *node_; }

  friend Expr operator+(Expr x, Expr y) { return call("+", {std::move(x), std::move(y)}); }
  friend Expr operator-(Expr x, Expr y) { return call("-", {std::move(x), std::move(y)}); }
  friend Expr operator*(Expr x, Expr y) { return call("*", {std::move(x), std::move(y)}); }
  friend Expr operator/(Expr x, Expr y) { return call("/", {std::move(x), std::move(y)}); }
  friend Expr operator-(Expr x) { return call("neg", {std::move(x)}); }

 private:
  std::shared_ptr<const Node> node_;
};

struct Node {
  Op op = Op::number;
  double number = 0.0;  ///< of a constant
  std::string
      name{};  ///< of an axis, a tensor, a function, a step to compute again; of a constant that has one
  std::string axis{};                  ///< that a function goes over
  std::vector<Expr> parts{};           ///< operands, indices, the formulas of `again`
  std::vector<std::string> changed{};  ///< of `again`: the names that they stand for
  std::size_t at = 0;                  ///< the byte of the text at which it began
  bool is_known = false;               ///< a number in worked entries, which do not take it apart
};

/// `NAME[axes] = expr`. Without axes they are those of the operands, in order of appearance.
struct Definition {
  std::string name;
  Axes axes;
  Expr expr;
};

Expr name(std::string name);
Expr position(std::string axis);
Expr size(std::string axis);
Expr entry(std::string tensor, std::vector<Expr> indices);
Expr over(std::string function, std::string axis, Expr part);

/// The position along each axis.
std::vector<Expr> positions(const Axes& axes);

/// Whether `x` is that constant.
inline bool is_number(const Expr& x, double number) {
  return x->op == Op::number && x->number == number;
}

/// Whether `x` calls that function of numbers.
inline bool is_call(const Expr& x, std::string_view function) {
  return x->op == Op::call && x->name == function;
}

/// Whether `is` holds of `x` or of something in it.
template <class Is>
bool any_part(const Expr& x, const Is& is) {
  return is(x) ||
         std::any_of(x->parts.begin(), x->parts.end(), [&](const Expr& part) { return any_part(part, is); });
}

/// `x` with what `change` makes of its node.
template <class Change>
Expr edited(const Expr& x, const Change& change) {
  Node node = *x;
  change(node);
  return Expr(std::move(node));
}

/// The same formula, wherever it stands in a text.
bool same(const Expr& x, const Expr& y);

/// `x` with `change` of each of its parts.
Expr with_parts(const Expr& x, const std::function<Expr(const Expr& part)>& change);

/// `x` with these formulas or numbers for names.
template <class Formula = Expr>
Expr with_names(const Expr& x, const std::map<std::string, Formula>& formulas) {
  const auto found = x->op == Op::name ? formulas.find(x->name) : formulas.end();
  if (found != formulas.end()) return found->second;
  return with_parts(x, [&](const Expr& part) { return with_names(part, formulas); });
}

/// `x` with other formulas for positions along axes. Axes that `x` sums over are its own: the formulas do not
/// go along them.
Expr at_positions(const Expr& x, const std::map<std::string, Expr>& positions);

/// Whether the position along `axis` is free in `x`: neither summed over in it nor absent. In a softmax
/// along it, which has an entry for each position, it is.
bool depends_on(const Expr& x, const std::string& axis);

/// The axes whose positions are free in `x`, in order of appearance.
Axes free_axes(const Expr& x);

/// The tensors whose entries stand in `x`, each once, in order of appearance.
std::vector<std::string> operands(const Expr& x);

}  // namespace formula
