#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What `{use …}` puts in the place of names, around a part.
struct Scope {
  std::string prefix{};                            ///< "causal/"
  std::map<std::string, formula::Expr> renamed{};  ///< of operands
  std::map<std::string, std::string> results{};    ///< of steps and axes: "output" to "heads"
  std::map<std::string, double> counters{};        ///< of parts that are repeated
  std::string format{};                            ///< to which each of its steps is rounded, "float16"
  document::Marks marks{};
  std::size_t depth = 0;  ///< of parts that use parts

  /// What a step or an axis is called here.
  std::string name_of(const std::string& name) const;

  /// "causal/weights" of the formula of `weights`.
  std::string id_of(const document::Block& formula) const;

  /// The axes that the formula names, as they are called here.
  formula::Axes axes_of(const document::Block& formula) const;
};

/// A heading and what follows it up to the next.
struct Section {
  const Scope& scope;  ///< of the outline
  const document::Block* heading = nullptr;
  bool is_left_out = false;
  bool depends_on_steps = false;  ///< whether the condition of a note speaks of what the run computes first
  std::vector<const document::Block*> blocks{};

  std::vector<const document::Block*> of(document::Block::Kind kind) const;
};

/// Elements as formulas may speak of them, which live as long as the view.
template <class Elements>
formula::View owned_view(Elements elements, formula::Axes axes = {}) {
  const auto kept = std::make_shared<Elements>(std::move(elements));
  auto view = formula::view_of(std::move(axes), attn::view_of(*kept));
  view.owner = kept;
  return view;
}

inline formula::View owned_view(formula::Numbers numbers, formula::Axes axes = {}) {
  return formula::view_of(std::move(axes), std::make_shared<const formula::Numbers>(std::move(numbers)));
}

/// The same of a list; one of integers has counts or indices.
template <class Number>
formula::View owned_view(const std::vector<Number>& list, formula::Axes axes = {}) {
  formula::Numbers numbers(attn::Shape{list.size()});
  std::copy(list.begin(), list.end(), numbers.begin());
  auto view = owned_view(std::move(numbers), std::move(axes));
  view.is_whole = std::is_integral_v<Number>;
  return view;
}

/// Lists one below the other, [list×place], with a number behind the shorter ones.
template <class Number>
formula::Numbers numbers_in_rows(const std::vector<std::vector<Number>>& lists, double filling = 0.0) {
  std::size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  formula::Numbers numbers(attn::Shape{lists.size(), longest}, filling);
  for (std::size_t i = 0; i < lists.size(); ++i)
    std::copy(lists[i].begin(), lists[i].end(), numbers.data() + i * longest);
  return numbers;
}

/// The formula with the prefix before the names of tensors that have it.
template <class HasPrefix>
formula::Expr with_prefix(const formula::Expr& x, const std::string& prefix, const HasPrefix& has_prefix) {
  const auto inner =
      formula::with_parts(x, [&](const auto& part) { return with_prefix(part, prefix, has_prefix); });
  const bool is_tensor = x->op == formula::Op::name || x->op == formula::Op::entry;
  if (!is_tensor || !has_prefix(x->name)) return inner;
  return formula::edited(inner, [&](formula::Node& node) { node.name.insert(0, prefix); });
}

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

  void read_setting(const std::string& word, const formula::Definition& definition, const Scope& scope);
  std::optional<double> setting(const std::string& name) const;

  /// The last entry of an axis that is no padding of the first sample.
  std::size_t last_place(const std::string& axis) const;
  formula::Expr renamed(const formula::Expr& part, const Scope& scope) const;

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

/// The last section that speaks of a name, in a formula, a claim or a text, by its number. Names are as they
/// stand there and with the prefix of their part: what is no tensor does no harm.
std::map<std::string, std::size_t> last_mentions(const std::vector<Section>& sections);

/// The sections of a document and of the parts that it uses, as the conditions of a run have them, and what
/// remarks say of their steps. The documents must live as long.
struct Outline {
  /// A remark on a step, with the names that it has.
  struct Remark {
    std::string id;
    const document::Block* block;
    const Scope& scope;
  };

  Meanings& meanings;
  std::deque<Scope> scopes{};  ///< that sections and remarks refer to
  std::vector<Remark> remarks{};
  std::set<std::string> steps{};                  ///< those that are left out, too
  std::set<std::string> shown{};                  ///< those that the trace has in some run
  std::map<std::string, std::string> drawn_as{};  ///< what a flow calls steps
  mutable std::map<std::string, std::vector<std::size_t>> by_step{};  ///< places among the remarks
  mutable std::size_t indexed = 0;                                    ///< how many of them stand there

  /// Reads the blocks; those of parts with their front matter. Throws document::Error.
  std::vector<Section> sections_of(const std::vector<document::Block>& blocks, const Scope& scope);

  /// What the arguments of `{use …}` make of the names around it.
  Scope scope_of(const document::Block& use, const Scope& around) const;

  /// Whether that word, `with --all`, stands behind the block, around its part, or in a remark on its step.
  bool has(const Section& section, const document::Block* block, const std::string& word) const;

  /// The last remark on a step that says something, or null.
  const Remark* remark_on(const std::string& step) const;

  /// What the heading says, or the last remark on its step that has a title.
  const document::Prose& title_of(const Section& section) const;

  /// The entry that the page works out, as the heading says it, or the last remark on its step that does; and
  /// what names mean there.
  std::pair<std::string, Scope> follow_of(const Section& section) const;

  /// What the page has for the formula of a section, `{written q · k}`: as its heading says it, or the last
  /// remark on its step that does. Nothing where the formula itself stands there.
  std::string written_in(const Section& section) const;
};

/// The two sides of `left = right`, of `left ≈ right`, of `left ≤ right` and `left ≥ right`, and of `left ≠
/// right by least`.
struct Sides {
  document::Source left, right;
  bool is_exact = false;
  double bound = 0.0;  ///< 1 where the right side is an upper bound of the left one, −1 where a lower one
  document::Source least{};  ///< how much some entry differs at least
};

/// Throws document::Error for what is no claim.
Sides sides_of(const document::Block& item);

/// Tells the claim `left = right`, `left ≈ right` or `left ≠ right by least` of a document, said so, with the
/// names of this scope: by how much the sides differ, and how much they may or must, from the sizes of the
/// terms. The last is claimed where rounding is smaller than half of that number. `left ≤ number` says how
/// large the largest entry is, and may be, `left ≥ number` the same of the smallest. Throws document::Error
/// for what is no claim.
void tell_claim_of(Meanings& meanings, const document::Block& item, const Scope& scope,
                   const std::string& words);

}  // namespace lessons
