#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/documents/outline.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What the formulas, conditions and values of a document mean in a run: tensors, axes, settings, and the
/// entry that the page follows.
class Meanings {
 public:
  explicit Meanings(Workbench& bench);

  formula::Sheet& sheet() { return sheet_; }
  const formula::Sheet& sheet() const { return sheet_; }
  Workbench& bench() const { return bench_; }

  /// The axis of samples, which every step has where there are samples.
  static constexpr const char* batch = "batch";

  /// From now on `name` stands for the number in formulas and conditions, where it is neither a tensor nor an
  /// axis.
  void set(const std::string& name, double number) { settings_.insert_or_assign(name, number); }

  /// Whether a name stands for a number of the run.
  bool is_set(const std::string& name) const { return settings_.count(name) > 0; }

  /// The same as `set`, whatever the front matter sets.
  void settle(const std::string& name, double number) {
    set(name, number);
    settled_.insert(name);
  }

  /// Keeps counts that are 0 or more, as formulas take them.
  void set_whole(const std::string& name, formula::Axes axes, formula::Numbers counts);

  /// How long the axes of the document are, and the tokens along them.
  void read_axes(const document::Document& document);

  /// What the front matter says of entries to follow, axes, names and steps of the page, as names are in this
  /// scope. Throws document::Error.
  void read_front(const document::Document& document, const Scope& scope);

  /// The same of one line of it.
  void read_front(const std::string& key, const document::Source& value, const Scope& scope);

  /// "causal/weights" for "page/weights".
  std::string step_named(const std::string& id) const;

  /// The formula with the names that it has in this scope, settings as numbers, and without x · 1 and the
  /// like.
  formula::Expr settled(const formula::Expr& x, const Scope& scope) const;

  /// The formula with counters as numbers, names that have formulas in them as they are then, and what
  /// `where` chooses by counters.
  formula::Expr counted(const formula::Expr& x, const Scope& scope) const;

  /// Of a `where` whose condition is of numbers that the run has, what it chooses.
  formula::Expr chosen(const formula::Expr& x, const Scope& scope) const;

  /// The value of a formula of counters, options, lengths and names of the front matter, which is known
  /// before anything is computed. Throws formula::Error for others.
  double number_of_run(const formula::Expr& x, const Scope& scope) const;

  /// "hop=1/m" of `hop={hop - 1}/m`.
  std::string with_values(const std::string& name, const Scope& scope) const;

  /// What a step or an axis that prose names is called here.
  std::string name_in(const std::string& name, const Scope& scope) const {
    return scope.name_of(with_values(name, scope));
  }

  /// Whether the condition is not 0; true where there is none.
  bool holds(const std::optional<formula::Expr>& condition, const Scope& scope);

  /// The axes without `head` in a run without --heads, which has no such axis.
  formula::Axes with_heads_there(formula::Axes axes) const;

  /// The value of a formula; axes that it leaves open are taken at the entry that the page follows.
  double number(const formula::Expr& x, const Scope& scope);

  /// The same for each place along an axis.
  std::vector<double> numbers_along(const std::string& axis, const formula::Expr& x, const Scope& scope);

  /// The format that `rounded to NAME` means: "float16", nothing for float64, where nothing is rounded;
  /// `dtype` is that of the run. Throws document::Error.
  std::string format_named(const std::string& name, const document::Place& place) const;

  /// The token at that place, or the number of the place. Throws formula::Error.
  std::string label(const std::string& axis, std::size_t place) const;

  /// Calls `say` and takes axes that are left open at this entry of the axis meanwhile.
  template <class Say>
  void at(const std::string& axis, std::size_t place, const Say& say) {
    here_[axis] = place;
    say();
    here_.erase(axis);
  }

  /// Where the page follows an axis, as far as the steps that say so are computed.
  std::optional<std::size_t> followed_place(const std::string& axis);

  /// The same; where nothing says it the third token of those that ask, the second of those that answer, and
  /// 0 along other axes.
  std::size_t place_on_page(const std::string& axis);

  /// The entry that a step works out, where the document, or `follow` behind the step's heading, says which
  /// one.
  std::optional<attn::Index> followed(const std::string& follow, const formula::Axes& axes,
                                      const Scope& scope);

 private:
  /// `stack(step, step={t}/x, for t from 0 to 2)` with an entry for each value of the counter.
  formula::Expr stacked(const formula::Expr& x, const Scope& scope) const;

  /// What is said of a format of numbers, under the group `float16/`.
  void set_format(const std::string& group, attn::Dtype format);

  void read_setting(const std::string& word, const formula::Definition& definition, const Scope& scope);
  void set_axis(const std::string& name, const formula::Expr& length, const Scope& scope);
  std::optional<double> setting(const std::string& name) const;

  /// The last entry of an axis that is no padding of the first sample.
  std::size_t last_place(const std::string& axis) const;
  formula::Expr renamed(const formula::Expr& part, const Scope& scope) const;

  /// What stands for an operand of a part, with steps of the part that came to be since it was said.
  formula::Expr with_own_steps(const formula::Expr& x, const Scope& scope) const;

  /// Where an axis is followed, as it was found when there were so many steps.
  struct Followed {
    std::optional<std::size_t> steps{}, place{};
  };

  Workbench& bench_;
  formula::Sheet sheet_;
  std::map<std::string, double> settings_;
  std::set<std::string> settled_;  ///< those that the front matter does not change
  std::map<std::string, std::vector<std::pair<formula::Expr, Scope>>> follow_;
  std::map<std::string, Followed> followed_;
  std::map<std::string, std::size_t> here_;     ///< where `at` is
  std::map<std::string, std::string> of_page_;  ///< steps that the front matter gave other names
};

}  // namespace lessons
