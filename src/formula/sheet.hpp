#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
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

/// Steps that take one another's entries at other places along an axis, `h[t - 1]`: they are computed
/// together, one place after the other.
struct Recurrence {
  std::string axis{};
  bool is_reversed = false;         ///< from the last place to the first
  std::vector<Definition> steps{};  ///< resolved, in the order in which they are computed at a place
};

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
  attn::Shape shape_of(const Axes& axes) const;
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

  /// Keeps the value of a resolved formula, which somebody computed. One that is not rounded now is not when
  /// it is computed again.
  void keep(Definition definition, View value, bool is_rounded = true);
  bool rounds(const std::string& name) const { return unrounded_.count(name) == 0; }

  /// How resolved formulas that take one another are computed. Each has a tensor of its name here, whose axes
  /// and lengths count. Throws Error where they need one another at the same place, or all places at once.
  Recurrence together(std::vector<Definition> steps) const;

  /// Is called with what a step is at one place, in the order of its axes, and may change it.
  using SeeRow = std::function<void(const Definition& step, std::size_t place, Numbers& row)>;

  /// Computes the steps and keeps their values. Rows that are computed later follow from what `see` makes of
  /// earlier ones.
  void compute(const Recurrence& recurrence, const SeeRow& see = {});

  /// The same, without keeping how they came about.
  void compute_rows(const Recurrence& recurrence, const SeeRow& see = {});

  /// The steps with which that one is computed, or null.
  const Recurrence* recurrence_of(const std::string& step) const;

  /// The entries of a resolved formula at one place along an axis over which nothing goes in it, rounded.
  Numbers row_of(const Definition& definition, const std::string& axis, std::size_t place) const;

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

  /// The same two, for who asks for its axes, their lengths and its kind alone: of a tensor whose numbers
  /// were dropped there is no data.
  const View* find_form(const std::string& name) const;
  const View& form(const std::string& name) const;

  /// Forgets the numbers of a tensor that follow from its formula: whoever asks for them has them computed
  /// again. Of others it forgets nothing.
  void drop(const std::string& name);
  bool can_drop(const std::string& name) const;

  /// The name of the tensor that `name` stands for: itself unless it is an alias.
  const std::string& stands_for(const std::string& name) const;

  const std::vector<Definition>& definitions() const { return definitions_; }

  /// The operands of a step and of those that are computed together with it.
  std::vector<std::string> operands_with(const Definition& step) const;

  /// The wanted steps, those that lead to them from `sources` on, and what these take. Steps that are
  /// computed together are needed together.
  std::set<std::string> needed_for(const IsNamed& is_wanted, const std::set<std::string>& sources = {}) const;

  /// The steps that `again`, a resolved one, computes anew, in order: from what it changes, and what is
  /// changed around it, to its own step.
  std::vector<Definition> computed_anew(const Expr& again, const IsNamed& is_changed = {}) const;

  const Definition* definition_of(const std::string& name) const;

  /// All of them, of which some may have no data (`form`).
  const std::map<std::string, View>& tensors() const { return tensors_; }
  const std::map<std::string, std::size_t>& axes() const { return sizes_; }

 private:
  void compute_dropped(const std::string& name) const;

  Round round_{};
  std::set<std::string> unrounded_;
  std::map<std::string, std::size_t> sizes_;
  mutable std::map<std::string, View> tensors_;
  mutable std::set<std::string> dropped_;  ///< tensors without numbers
  std::map<std::string, std::string> aliases_;
  std::vector<Definition> definitions_;
  std::vector<Recurrence> recurrences_;
};

/// The formula with the lengths of axes, and constants that have a name, as numbers.
Expr with_lengths(const Expr& x, const Sheet& sheet);

/// An index that grows by equal steps along axes: `head * size(d_k) + d_k` is 0, and size(d_k) more for each
/// head, and 1 more for each d_k.
struct LinearIndex {
  std::ptrdiff_t first = 0;
  std::map<std::string, std::ptrdiff_t> steps{};
};

/// The index as such a one; nothing where it is none.
std::optional<LinearIndex> linear_index(const Expr& index, const Sheet& sheet);

/// What is added to the position along that axis in an index that is such a sum: −1 in `h[t - 1]`.
std::optional<std::ptrdiff_t> shift_of(const Expr& index, const std::string& axis, const Sheet& sheet);

/// The least of its places along the axes, and the last one.
std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(const LinearIndex& index, const Sheet& sheet);

/// All of them; nothing where one is none, or leaves a tensor of that shape.
std::optional<std::vector<LinearIndex>> linear_indices(const std::vector<Expr>& indices, const Sheet& sheet,
                                                       const attn::Shape& shape);

}  // namespace formula
