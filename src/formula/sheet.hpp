#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <xtensor/xarray.hpp>

#include "attn/budget.hpp"
#include "attn/tensor.hpp"
#include "attn/worked.hpp"
#include "formula/expression.hpp"

namespace formula {

/// Row-major containers whose rank is known at run time.
using Numbers = xt::xarray<double, xt::layout_type::row_major, attn::BudgetAllocator<double>>;
using Truths = xt::xarray<bool, xt::layout_type::row_major, attn::BudgetAllocator<bool>>;

/// A tensor with named axes, looked at through strides: a stride of 0 repeats along an axis, and transposing
/// copies nothing. Elements are double, or bool where the values are true and false.
struct View {
  Axes axes{};
  attn::Shape shape{};
  std::vector<std::ptrdiff_t> strides{};
  const void* data = nullptr;
  bool is_truth = false;
  bool is_whole = false;                ///< counts or indices: doubles without a fraction
  std::shared_ptr<const void> owner{};  ///< keeps the elements alive; none where somebody else does

  /// The element at that place along each axis.
  double at(const attn::Index& index) const;
};

/// Elements in row-major order that live as long as the view.
View view_of(Axes axes, std::shared_ptr<const Numbers> numbers);
View view_of(Axes axes, std::shared_ptr<const Truths> truths);

/// The same of elements that the caller keeps alive.
View view_of(Axes axes, const attn::TensorView& tensor);

/// The same elements, or a copy of them, that nobody else sees: who has the view may change them.
View owned_alone(View view);

/// Tensors by their names, and formulas over them in the order in which they are computed.
class Sheet {
 public:
  /// Rounds the numbers of what a definition computed.
  using Round = std::function<void(Numbers& numbers)>;

  Sheet() = default;
  explicit Sheet(Round round) : round_(std::move(round)) {}

  /// Says how long an axis is. Throws attn::Error where it is known to be otherwise.
  void axis(const std::string& name, std::size_t size);
  std::size_t size_of(const std::string& axis) const;
  bool has_axis(const std::string& name) const { return sizes_.count(name) > 0; }

  /// A tensor that formulas may speak of. Its axes get their lengths from it.
  void set(const std::string& name, View tensor);

  /// From now on `name` stands for the tensor `other`: a step that a condition leaves out stands for what it
  /// would change.
  void alias(const std::string& name, const std::string& other) { aliases_[name] = other; }

  /// What a formula says here: names told apart into entries, positions and lengths; a tensor's leading axes
  /// where indices are left out. A bare axis is the position along it where the result has it or a sum goes
  /// over it, and its length elsewhere. Axes that operands have and `definition.axes` does not name come
  /// first, where they stand there before the ones that it names. An axis that only an index names gets its
  /// length from there. Throws Error for what is unknown and what does not fit.
  Definition resolved(const Definition& definition);

  /// Resolves a formula, computes it and keeps its value as the tensor of that name.
  const View& compute(const Definition& definition);

  /// Keeps the value of a resolved formula, which somebody computed.
  void keep(Definition definition, View value);

  /// Gives away the numbers of a step that nobody else looks at, and forgets it.
  Numbers take(const std::string& name);

  /// The value of a resolved formula, in the order of its axes: row-major elements, which may be another
  /// tensor's.
  View value(const Definition& definition) const;

  /// The same, for who can see it in slices along its first axis, one after the other: tables that would be
  /// large are computed so. A formula that needs all entries at once comes whole.
  void in_slices(const Definition& definition, const std::function<void(const View& slice)>& see) const;

  /// The same, rounded.
  View rounded_value(const Definition& definition) const;

  using IsNamed = std::function<bool(const std::string& name)>;

  /// How the entry of a resolved formula at this place along its axes comes about. Of a step that is not
  /// named its entries are worked out in their turn; all are named where nothing says so.
  attn::Worked worked(const Definition& definition, const attn::Index& at,
                      const IsNamed& is_named = {}) const;

  /// The tensor that `name` stands for, or null.
  const View* find(const std::string& name) const;

  /// The same. Throws attn::Error where there is none.
  const View& tensor(const std::string& name) const;

  /// The name of the tensor that `name` stands for: itself unless it is an alias.
  const std::string& stands_for(const std::string& name) const;

  const std::vector<Definition>& definitions() const { return definitions_; }

  /// The steps that `again`, a resolved one, computes anew, in order: from what it changes, and what is
  /// changed around it, to its own step.
  std::vector<Definition> computed_anew(const Expr& again, std::set<std::string> changed = {}) const;

  const Definition* definition_of(const std::string& name) const;
  const std::map<std::string, View>& tensors() const { return tensors_; }
  const std::map<std::string, std::size_t>& axes() const { return sizes_; }

 private:
  Round round_{};
  std::map<std::string, std::size_t> sizes_;
  std::map<std::string, View> tensors_;
  std::map<std::string, std::string> aliases_;
  std::vector<Definition> definitions_;
};

/// The formula with the lengths of axes, and constants that have a name, as numbers.
Expr with_lengths(const Expr& x, const Sheet& sheet);

}  // namespace formula
