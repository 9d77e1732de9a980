#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"

namespace formula {

/// A formula in whole arrays, as NumPy and xtensor compute it: what is a matrix product, which axes align,
/// where heads are split and merged. Axes broadcast from the right, and an operand's stand in the result's
/// order.
struct Array {
  enum class Kind {
    number,     ///< `number`; the length of an axis has `name` and `place` where an operand has that axis
    variable,   ///< `name`
    positions,  ///< 0, 1, … along the only axis
    function,   ///< `name`, entry by entry: + exp where clip != …
    reduction,  ///< `name` over `over`: sum max min argmax mean var
    product,    ///< matrix product of two, for each position of leading axes
    sums,       ///< of the products of `parts` over `over`: einsum
    transposed,
    reshaped,
    taken,      ///< entries of the first part, an index an axis
    broadcast,  ///< repeated along axes that the part does not have
    joined,     ///< two end to end along `over`; the indices have the `count` of each
    stacked,    ///< side by side along `over`, an entry each
  };
  enum class Type { real, whole, truth };

  /// Which entries along an axis: `begin`, `begin + step`, …, or those that the part `part` says.
  struct Index {
    enum class Kind { all, one, slice, array } kind = Kind::all;
    std::ptrdiff_t begin = 0, step = 1;
    std::size_t count = 0, part = 0;
    std::vector<std::size_t> places{};  ///< of an array along one axis, where they are known
  };

  /// The entries at one place along an axis, `offset` behind that of the loop around (Recurrence).
  struct Row {
    std::string place;  ///< the variable
    std::size_t axis;   ///< so many stand before it
    std::ptrdiff_t offset;
    std::size_t length;
  };

  Kind kind = Kind::number;
  Axes axes{};
  Type type = Type::real;
  std::string name{};
  std::vector<Array> parts{};
  Axes over{};
  std::optional<double> number{};  ///< the value of what is constant
  std::size_t place = 0;
  std::vector<Index> indices{};
  std::optional<Row> row{};  ///< of a variable
};

/// Whether it broadcasts to `target` as it is.
bool fits(const Axes& axes, const Axes& target);

/// Whether it is a function of one operand that has axes, beside numbers.
bool is_of_one_operand(const Array& x);

/// Where each of `some` stands among the axes.
std::vector<std::size_t> places_in(const Axes& axes, const Axes& some);

/// What stands at each axis of `target` from the first of `axes` on: `own` for these, else `other`.
std::vector<const char*> signs_along(const Axes& axes, const Axes& target, const char* own,
                                     const char* other);

/// A text of Python or C++, and how strongly its outermost operator binds: a comparison of Python is a
/// relation.
struct Code {
  enum Binding { choice, relation, either, both, equality, comparison, sum, product, unary, power, primary };

  std::string text;
  Binding binding = primary;
};

/// In parentheses where it binds less than `least`.
std::string bound(const Code& code, Code::Binding least);

enum class Language { numpy, xtensor, entries };  ///< the last is C++ of one entry

/// A function of these operands.
Code written(Language language, const std::string& function, const std::vector<Code>& operands);

/// A line of a program.
struct Assignment {
  std::string name;  ///< an identifier
  Array value;
  Definition definition;            ///< what it computes, where it is no auxiliary line
  std::optional<Array::Row> row{};  ///< of it, where that is all that is computed
};

/// Tensors under the names that a program has for them: those of a sheet, and steps that are computed again.
class Scope {
 public:
  /// New names begin with `prefix`.
  Scope(const Sheet& sheet, bool drops_batch, std::string prefix = "")
      : sheet_(sheet), drops_batch_(drops_batch), prefix_(std::move(prefix)) {}

  const Sheet& sheet() const { return sheet_; }
  bool drops(const std::string& axis) const { return drops_batch_ && axis == "batch"; }

  /// From now on lines are written for one place along this axis, the variable `place`.
  void go_along(const std::string& axis) {
    place_ = fresh("t");
    along_ = axis;
  }
  const std::string& along() const { return along_; }
  const std::string& place() const { return place_; }
  const View& tensor(const std::string& name) const { return sheet_.form(original(name)); }
  bool is_again(const std::string& name) const { return originals_.count(name) > 0; }
  Array::Type type_of(const std::string& name) const;
  Axes axes_of(const std::string& name) const;
  Axes kept(Axes axes) const;

  /// An identifier that no tensor and no earlier line has.
  std::string fresh(const std::string& wish);

  /// The definitions that compute `definition`, of which the last is itself and none computes steps again.
  std::vector<Definition> without_again(const Definition& definition);

 private:
  using Names = std::map<std::string, std::string>;

  const std::string& original(const std::string& name) const;
  Expr plain(const Expr& x, const Names& changed, std::vector<Definition>& before);
  Expr computed_again(const Expr& x, const Names& changed, std::vector<Definition>& before);

  const Sheet& sheet_;
  bool drops_batch_;
  std::string prefix_, along_{}, place_{};
  Names originals_;
  std::vector<std::string> taken_;
};

/// The lines that compute a resolved formula, of which the last is itself.
std::vector<Assignment> in_whole_arrays(Scope& scope, const Definition& definition);

}  // namespace formula
