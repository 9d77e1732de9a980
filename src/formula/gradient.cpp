#include "formula/gradient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "formula/functions.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

/// What the entry of a tensor at `place` gets from an entry of a step, whose axes and those that are summed
/// over are `axes`.
struct Share {
  std::vector<Expr> place;
  Axes axes;
  Expr value;
};

Expr where(Expr condition, Expr x, Expr y) {
  return call("where", {std::move(condition), std::move(x), std::move(y)});
}

/// x · factor, within the numerator where x is a quotient.
Expr times(const Expr& x, const Expr& factor) {
  return is_call(x, "/") ? times(x->parts[0], factor) / x->parts[1] : x * factor;
}

/// A number of the forward pass, or of a whole row, where it does not stand for an entry of its own.
Expr known(const Expr& x) {
  return edited(x, [](Node& node) { node.is_known = node.op == Op::over; });
}

/// The axes of which `x` speaks, of its own or not.
void add_axes(const Expr& x, Axes& axes) {
  if (x->op == Op::position) axes.push_back(x->name);
  if (x->op == Op::over) axes.push_back(x->axis);
  for (const auto& part : x->parts) add_axes(part, axes);
}

/// An axis of the same length that is none of `taken`.
std::string other_axis(Sheet& sheet, const std::string& axis, const Axes& taken) {
  auto other = axis + "'";
  while (has(taken, other)) other += "'";
  sheet.axis(other, sheet.size_of(axis));
  return other;
}

/// `x`, which goes over an axis, along one that is none of `taken`.
Expr along_other_axis(const Expr& x, Sheet& sheet, Axes taken) {
  add_axes(x, taken);
  return edited(x, [&](Node& node) {
    node.axis = other_axis(sheet, x->axis, taken);
    node.parts[0] = at_positions(x->parts[0], {{x->axis, position(node.axis)}});
  });
}

/// `x` at other positions, which may go along axes that `x` sums over.
Expr at_any_positions(const Expr& x, Sheet& sheet, const std::map<std::string, Expr>& positions) {
  const std::function<Expr(const Expr&)> with_own_axes = [&](const Expr& part) {
    const auto result = with_parts(part, with_own_axes);
    if (part->op != Op::over || !reduces(part->name)) return result;
    Axes used;
    for (const auto& axis : free_axes(part))
      if (const auto found = positions.find(axis); found != positions.end()) add_axes(found->second, used);
    return has(used, part->axis) ? along_other_axis(result, sheet, used) : result;
  };
  return at_positions(with_own_axes(x), positions);
}

/// Whether a condition holds at all places, or at none; nothing where that depends on the place or on numbers
/// of tensors.
std::optional<bool> decided(const Expr& condition, const Sheet& sheet) {
  if (condition->op == Op::number) return condition->number != 0.0;
  if (condition->op != Op::call) return std::nullopt;
  const auto& f = condition->name;
  const auto& p = condition->parts;
  if (f == "not") {
    const auto holds = decided(p[0], sheet);
    return holds ? std::optional(!*holds) : std::nullopt;
  }
  if (f == "and" || f == "or") {
    const auto first = decided(p[0], sheet), second = decided(p[1], sheet);
    const bool is_enough = f == "or";
    if (first == is_enough || second == is_enough) return is_enough;
    return first && second ? std::optional(!is_enough) : std::nullopt;
  }
  if (f != "<" && f != "<=" && f != "=") return std::nullopt;
  const auto lead = linear_index(p[1] - p[0], sheet);
  if (!lead) return std::nullopt;
  const auto [least, most] = range_of(*lead, sheet);
  const std::ptrdiff_t enough = f == "<" ? 1 : 0;
  if (most < enough || (f == "=" && least > 0)) return false;
  return least >= enough && (f != "=" || most == 0) ? std::optional(true) : std::nullopt;
}

/// `x` without the choices that are the same at all places. A single place settles nothing, so that a
/// recurrence along it is one.
Expr settled(const Expr& x, const Sheet& sheet) {
  const auto result = with_parts(x, [&](const Expr& part) { return settled(part, sheet); });
  if (!is_call(result, "where")) return result;
  const auto along = free_axes(result->parts[0]);
  if (std::any_of(along.begin(), along.end(), [&](const auto& axis) { return sheet.size_of(axis) == 1; }))
    return result;
  const auto holds = decided(result->parts[0], sheet);
  return holds ? result->parts[*holds ? 1 : 2] : result;
}

/// A number that follows from lengths of axes alone.
bool is_constant(const Expr& x) {
  return operands(x).empty() && free_axes(x).empty();
}

/// Goes back through one formula to the entries of one tensor.
class Back {
 public:
  Back(Sheet& sheet, const std::string& of) : sheet_(sheet), of_(of) {}

  /// `seed` is the gradient of `x`, whose entries have `axes`; `value` is what stands for x's value.
  void through(const Expr& x, const Expr& seed, const Axes& axes, const Expr& value) {
    switch (x->op) {
      case Op::entry:
        if (x->name == of_) shares_.push_back({x->parts, axes, seed});
        return;
      case Op::over:
        return through_axis(x, seed, axes, value);
      case Op::call:
        return through_call(x, seed, axes, value);
      default:
        return;
    }
  }

  const std::vector<Share>& shares() const { return shares_; }

 private:
  void through_part(const Expr& x, std::size_t part, const Expr& seed, const Axes& axes) {
    through(x->parts[part], seed, axes, x->parts[part]);
  }

  void through_axis(const Expr& x, const Expr& seed, const Axes& axes, const Expr& value) {
    if (reduces(x->name) && has(axes, x->axis))
      return through_axis(along_other_axis(x, sheet_, axes), seed, axes, value);
    if (x->name != "layer_norm") return through_parts(x, gradients(x, value, seed), seed, axes, value);
    const auto mean = [&](const Expr& y) { return known(over("mean", x->axis, y)); };
    const auto deviation = edited(expanded(x).value()->parts[1], [](Node& node) { node.is_known = true; });
    through_part(x, 0, (seed - mean(seed) - known(value) * mean(value * seed)) / deviation, axes);
  }

  void through_call(const Expr& x, const Expr& seed, const Axes& axes, const Expr& value) {
    const auto& p = x->parts;
    if (x->name == "where") return through_choice(x, seed, axes, value);
    auto back = x->name == "*" ? std::vector{times(seed, known(p[1])), times(seed, known(p[0]))}
                               : gradients(x, value, seed);
    if (x->name == "^" && is_number(p[1], 2.0)) back[0] = seed * (p[1] * p[0]);
    through_parts(x, back, seed, axes, value);
  }

  /// Goes on with what comes back to each part, or else through what the function is made up of.
  void through_parts(const Expr& x, const std::vector<Expr>& back, const Expr& seed, const Axes& axes,
                     const Expr& value) {
    const bool sums = x->op == Op::over && reduces(x->name);
    const auto inner = sums ? joined(axes, {{x->axis}}) : axes;
    for (std::size_t i = 0; i < back.size(); ++i) through_part(x, i, back[i], inner);
    if (const auto written_out = back.empty() ? expanded(x) : std::nullopt)
      through(*written_out, seed, axes, value);
  }

  /// The condition stands around all that comes back, for what was not taken may be no number; but around
  /// the seed where softmax has an entry of its own for each place at which the condition may hold. What
  /// comes back alike from both sides needs no condition.
  void through_choice(const Expr& x, const Expr& seed, const Axes& axes, const Expr& value) {
    const auto taken = [&](std::size_t side, const Expr& of_side) {
      return side == 1 ? where(x->parts[0], of_side, 0.0) : where(x->parts[0], 0.0, of_side);
    };
    auto all = std::exchange(shares_, {});
    std::vector<Share> first, second;
    for (const std::size_t side : {1, 2}) {
      const bool mixes = mixes_along(x->parts[side], x->parts[0]);
      if (mixes)
        through_part(x, side, taken(side, seed), axes);
      else
        through(x->parts[side], seed, axes, value);
      auto& into = mixes ? all : side == 1 ? first : second;
      std::move(shares_.begin(), shares_.end(), std::back_inserter(into));
      shares_.clear();
    }
    for (auto& share : first) {
      const auto alike = std::find_if(second.begin(), second.end(),
                                      [&](const Share& other) { return are_same(share, other); });
      if (alike == second.end())
        share.value = taken(1, share.value);
      else
        second.erase(alike);
    }
    for (auto& share : second) share.value = taken(2, share.value);
    for (auto* shares : {&first, &second}) std::move(shares->begin(), shares->end(), std::back_inserter(all));
    shares_ = std::move(all);
  }

  static bool are_same(const Share& x, const Share& y) {
    return x.axes == y.axes && same(x.value, y.value) &&
           std::equal(x.place.begin(), x.place.end(), y.place.begin(), y.place.end(), same);
  }

  /// Whether a softmax in `x` goes along an axis along which the condition changes.
  static bool mixes_along(const Expr& x, const Expr& condition) {
    return any_part(x, [&](const Expr& part) {
      return part->op == Op::over && !reduces(part->name) && depends_on(condition, part->axis);
    });
  }

  Sheet& sheet_;
  const std::string& of_;
  std::vector<Share> shares_;
};

/// Turns a share round: from where it comes from to the entry that gets it.
class Turning {
 public:
  Turning(Sheet& sheet, const Axes& axes, const Share& share)
      : sheet_(sheet),
        axes_(axes),
        left_(share.axes),
        value_(settled(share.value, sheet)),
        place_(share.place) {}

  Expr operator()() {
    rename_other_axes();
    for (std::size_t i = 0; i < axes_.size(); ++i) turn(i);
    stay_at_one_place();
    auto value = settled(at_any_positions(value_, sheet_, turned_), sheet_);
    put_rows_first(value);
    if (!condition_) return summed(value, left_);
    const auto condition = at_any_positions(*condition_, sheet_, turned_);
    Axes within, around;
    for (const auto& axis : left_) (depends_on(condition, axis) ? around : within).push_back(axis);
    return summed(where(condition, summed(value, within), 0.0), around);
  }

 private:
  static Expr summed(Expr x, const Axes& axes) {
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) x = over("sum", *axis, std::move(x));
    return x;
  }

  bool is_left(const std::string& axis) const { return has(left_, axis); }

  void put(const std::string& axis, Expr formula) {
    turned_.insert_or_assign(axis, std::move(formula));
    std::erase(left_, axis);
  }

  void require(const Expr& condition) {
    if (decided(condition, sheet_) == true) return;
    condition_ = condition_ ? call("and", {*condition_, condition}) : condition;
  }

  /// Axes of the share that are called like those of the tensor, which it does not have in that place.
  void rename_other_axes() {
    std::map<std::string, Expr> others;
    auto taken = axes_;
    add_axes(value_, taken);
    for (const auto& index : place_) add_axes(index, taken);
    for (auto& axis : left_) {
      const auto at = place_in(axes_, axis);
      if (at == axes_.size() || is_only(at, axis)) continue;
      const auto other = other_axis(sheet_, axis, taken);
      taken.push_back(other);
      others.insert_or_assign(axis, position(other));
      axis = other;
    }
    value_ = at_positions(value_, others);
    for (auto& index : place_) index = at_positions(index, others);
  }

  /// Whether index `at`, and no other, is the position along `axis`.
  bool is_only(std::size_t at, const std::string& axis) const {
    const auto along = std::count_if(place_.begin(), place_.end(),
                                     [&](const Expr& index) { return depends_on(index, axis); });
    return along == 1 && same(place_[at], position(axis));
  }

  /// Finds the axes of the share at which its index is the tensor's own position along axis `i`.
  void turn(std::size_t i) {
    const auto own = position(axes_[i]);
    const auto& index = place_[i];
    if (index->op == Op::position && is_left(index->name)) {
      const bool may_end_sooner = sheet_.size_of(index->name) < sheet_.size_of(axes_[i]);
      put(index->name, along(index->name, own));
      if (may_end_sooner) require(call("<", {own, size(index->name)}));
    } else if (!turn_shift(index, own) && !turn_blocks(index, own) && !turn_cut(i)) {
      require(call("=", {index, own}));
    }
  }

  /// The position `own` as an index along an axis that may be longer or shorter.
  Expr along(const std::string& axis, const Expr& own) const {
    return sheet_.size_of(axis) == sheet_.size_of(own->name) ? own : Expr(0.0) + own;
  }

  /// `token + 1`, `token - 1`, `size(hidden) + hidden`.
  bool turn_shift(const Expr& index, const Expr& own) {
    const bool is_sum = is_call(index, "+");
    if (!is_sum && !is_call(index, "-")) return false;
    const std::size_t at = is_sum && index->parts[1]->op == Op::position ? 1 : 0;
    const auto &moving = index->parts[at], &shift = index->parts[1 - at];
    if (moving->op != Op::position || !is_left(moving->name) || !is_constant(shift)) return false;
    const auto& axis = moving->name;
    const bool is_as_long = sheet_.size_of(axis) == sheet_.size_of(own->name);
    const auto length = size(is_as_long ? own->name : axis);
    put(axis, is_number(shift, 0.0) ? along(axis, own) : is_sum ? own - shift : own + shift);
    require(call("<=", {is_sum ? shift : -shift, own}));
    require(is_sum ? call("<", {own, is_number(shift, 0.0) ? length : shift + length})
                   : call("<", {own + shift, length}));
    return true;
  }

  /// Of `where(token = 0, x, 0)` there is nothing to sum over token.
  void stay_at_one_place() {
    while (is_call(value_, "where") && is_number(value_->parts[2], 0.0) && is_call(value_->parts[0], "=")) {
      const auto axis = value_->parts[0]->parts[0], place = value_->parts[0]->parts[1];
      if (axis->op != Op::position || !is_left(axis->name) || !is_constant(place)) return;
      const bool is_there = linear_indices({place}, sheet_, {sheet_.size_of(axis->name)}).has_value();
      if (!is_there) return;
      put(axis->name, place);
      value_ = Expr(value_->parts[1]);
    }
  }

  /// `head * size(d_k) + d_k`.
  bool turn_blocks(const Expr& index, const Expr& own) {
    if (!is_call(index, "+") || !is_call(index->parts[0], "*")) return false;
    const auto &block = index->parts[0]->parts[0], &length = index->parts[0]->parts[1],
               &inner = index->parts[1];
    const bool fits = block->op == Op::position && inner->op == Op::position && is_left(block->name) &&
                      is_left(inner->name) && length->op == Op::size && length->name == inner->name;
    if (!fits) return false;
    put(block->name, call("floor", {own / length}));
    put(inner->name, call("mod", {own, length}));
    return true;
  }

  /// `floor(column / size(d_v))`, where `mod(column, size(d_v))` is the index along another axis.
  bool turn_cut(std::size_t i) {
    const auto is_cut = [](const Expr& index) {
      return is_call(index, "floor") && is_call(index->parts[0], "/") &&
             index->parts[0]->parts[0]->op == Op::position;
    };
    const auto is_rest = [](const Expr& index, const Expr& cut) {
      return is_call(index, "mod") && same(index->parts[0], cut->parts[0]->parts[0]) &&
             same(index->parts[1], cut->parts[0]->parts[1]);
    };
    for (std::size_t other = 0; other < axes_.size(); ++other) {
      const auto cut = is_cut(place_[i]) ? i : other, rest = cut == i ? other : i;
      if (!is_cut(place_[cut]) || !is_rest(place_[rest], place_[cut])) continue;
      const auto& quotient = place_[cut]->parts[0];
      const auto& axis = quotient->parts[0]->name;
      const auto column = position(axes_[cut]) * quotient->parts[1] + position(axes_[rest]);
      if (!is_left(axis)) return turned_.count(axis) > 0 && same(turned_.at(axis), column);
      put(axis, column);
      return true;
    }
    return false;
  }

  /// Of a product the factor that goes along the rows of the result stands first, as in Xᵀ d_Q.
  void put_rows_first(Expr& value) const {
    if (axes_.size() < 2 || !is_call(value, "*")) return;
    const auto& rows = axes_[axes_.size() - 2];
    if (!depends_on(value->parts[0], rows) && depends_on(value->parts[1], rows))
      value = value->parts[1] * value->parts[0];
  }

  Sheet& sheet_;
  const Axes& axes_;
  Axes left_;
  Expr value_;
  std::vector<Expr> place_;
  std::map<std::string, Expr> turned_;
  std::optional<Expr> condition_;
};

/// `where(first <= axis and axis < end, value, 0)`: a block of entries along an axis.
struct EntriesOf {
  std::string axis{};
  std::ptrdiff_t first = 0;
  std::optional<Expr> end{};  ///< none where the axis ends
  Expr value = 0.0;
};

/// Whether the condition says that the place is in a block, which `block` then has.
bool is_in_block(const Expr& condition, const Sheet& sheet, EntriesOf& block) {
  if (is_call(condition, "and"))
    return is_in_block(condition->parts[0], sheet, block) && is_in_block(condition->parts[1], sheet, block);
  const bool is_end = is_call(condition, "<");
  if (!is_end && !is_call(condition, "<=")) return false;
  const auto &place = condition->parts[is_end ? 0 : 1], &bound = condition->parts[is_end ? 1 : 0];
  const auto number = is_constant(bound) ? linear_index(bound, sheet) : std::nullopt;
  if (place->op != Op::position || !number || (!block.axis.empty() && block.axis != place->name))
    return false;
  block.axis = place->name;
  if (is_end)
    block.end = bound;
  else
    block.first = number->first;
  return true;
}

std::optional<EntriesOf> block_of(const Expr& x, const Sheet& sheet) {
  EntriesOf block;
  if (!is_call(x, "where") || !is_number(x->parts[2], 0.0) || !is_in_block(x->parts[0], sheet, block))
    return std::nullopt;
  block.value = x->parts[1];
  return block;
}

/// What blocks from `term` on, which follow one another from the place `begin` on, are as one choice. Goes on
/// behind them.
Expr chosen_from(const std::vector<Expr>& terms, std::size_t& term, const Sheet& sheet,
                 std::ptrdiff_t begin = 0, const std::string& axis = "") {
  const auto block = term < terms.size() ? block_of(terms[term], sheet) : std::nullopt;
  if (!block || block->first != begin || (!axis.empty() && block->axis != axis)) return 0.0;
  ++term;
  if (!block->end) return block->value;
  const auto end = linear_index(*block->end, sheet)->first;
  return where(call("<", {position(block->axis), *block->end}), block->value,
               chosen_from(terms, term, sheet, end, block->axis));
}

/// Blocks that follow one another from the first place on, `where(i < n, x, 0)` and `where(n <= i, y, 0)`,
/// are one choice: `where(i < n, x, y)`.
std::vector<Expr> with_blocks_joined(const std::vector<Expr>& terms, const Sheet& sheet) {
  std::vector<Expr> joined;
  for (std::size_t i = 0; i < terms.size();) {
    auto next = i;
    const auto all = chosen_from(terms, next, sheet);
    const bool are_several = next > i + 1;
    joined.push_back(are_several ? all : terms[i]);
    i = are_several ? next : i + 1;
  }
  return joined;
}

/// Gradients by tensors of a sheet, each found once.
class Gradients {
 public:
  Gradients(Sheet& sheet, std::size_t at) : sheet_(sheet), at_(at) {}

  /// From the steps of that group that take the tensor; none where no gradient leads to it.
  std::optional<Expr> by(const std::string& of, const std::string& group = "") {
    const auto found = known_.find(of);
    if (found != known_.end()) return found->second;
    if (!open_.insert(of).second) {
      come_back_.insert(of);
      return std::nullopt;
    }
    std::vector<Expr> as_it_is, changed;
    std::set<std::string> of_groups;
    for (const auto& step : sheet_.definitions()) {
      if (!step.name.starts_with(group) || !has(operands(step.expr), of)) continue;
      const auto of_group = group.empty() ? of_group_of(step, of) : "";
      if (!of_group.empty()) {
        if (of_groups.insert(of_group).second)
          changed.push_back(entry(of_group, positions(sheet_.form(of).axes)));
        continue;
      }
      for (const auto& share : shares_of(step, of))
        (share->op == Op::entry ? as_it_is : changed).push_back(share);
    }
    changed = with_blocks_joined(changed, sheet_);
    std::optional<Expr> total;
    for (const auto* terms : {&as_it_is, &changed})
      for (const auto& term : *terms) total = total ? *total + term : term;
    open_.erase(of);
    if (total && come_back_.count(of) > 0)
      throw Error(at_, fmt::format("the gradient by {0} comes back to {0} itself at another place; valid: "
                                   "before it a step of its own, {1}[…] = gradient({0})",
                                   of, gradient_name(of)));
    return known_[of] = total;
  }

 private:
  /// What comes back to the tensor through one step.
  std::vector<Expr> shares_of(const Definition& step, const std::string& of) {
    const auto seed = of_step(step);
    if (!seed) return {};
    if (any_part(step.expr, [](const Expr& part) { return part->op == Op::again; }))
      throw Error(at_, fmt::format("the gradient by {} goes through {}, which has again(…)", of, step.name));
    Back back(sheet_, of);
    back.through(step.expr, *seed, step.axes, entry(step.name, positions(step.axes)));
    std::vector<Expr> shares;
    for (const auto& share : back.shares()) shares.push_back(Turning(sheet_, sheet_.form(of).axes, share)());
    return shares;
  }

  std::optional<Expr> of_step(const Definition& step) {
    const std::string name = sheet_.stands_for(gradient_name(step.name));
    if (const auto* gradient = sheet_.find_form(name)) {
      const auto& axes = gradient->axes;
      const bool has_same = std::is_permutation(axes.begin(), axes.end(), step.axes.begin(), step.axes.end());
      if (has_same || has_shape_of(name, step.name))
        return entry(name, positions(has_same ? axes : step.axes));
    }
    return by(step.name);
  }

  /// "attention/d_X", which has all that comes back to X through the steps of that group; "" where there is
  /// none.
  std::string of_group_of(const Definition& step, const std::string& of) const {
    for (auto end = step.name.find('/'); end != std::string::npos; end = step.name.find('/', end + 1)) {
      const auto group = step.name.substr(0, end + 1);
      const auto gradient = gradient_name(group + of);
      if (!of.starts_with(group) && has_shape_of(gradient, of)) return gradient;
    }
    return "";
  }

  bool has_shape_of(const std::string& gradient, const std::string& of) const {
    const auto* tensor = sheet_.find_form(gradient);
    return tensor != nullptr && tensor->shape == sheet_.form(of).shape;
  }

  Sheet& sheet_;
  std::size_t at_;
  std::map<std::string, std::optional<Expr>> known_;
  std::set<std::string> open_;       ///< whose gradients are being put together
  std::set<std::string> come_back_;  ///< those of them to which a way came back
};

}  // namespace

std::string gradient_name(const std::string& of) {
  const auto last = of.rfind('/') + 1;
  return of.substr(0, last) + "d_" + of.substr(last);
}

std::set<std::string> steps_around(const Sheet& sheet, const std::string& step) {
  const auto* recurrence = sheet.recurrence_of(step);
  if (recurrence == nullptr) return {};
  const auto reached = [&](bool is_forwards) {
    std::set<std::string> all;
    std::vector<std::string> next = {step};
    for (std::size_t i = 0; i < next.size(); ++i)
      for (const auto& one : recurrence->steps) {
        const auto& taker = is_forwards ? one : *sheet.definition_of(next[i]);
        const bool takes = has(operands(taker.expr), is_forwards ? next[i] : one.name);
        if (takes && all.insert(one.name).second) next.push_back(one.name);
      }
    return all;
  };
  const auto after = reached(true), before = reached(false);
  std::set<std::string> around;
  std::set_intersection(after.begin(), after.end(), before.begin(), before.end(),
                        std::inserter(around, around.end()));
  return around;
}

Expr gradient(Sheet& sheet, const std::string& of, const Axes& axes, const std::string& group,
              std::size_t at) {
  const auto& tensor = sheet.stands_for(of);
  const auto result = Gradients(sheet, at).by(tensor, tensor.starts_with(group) ? "" : group);
  const auto& own = sheet.form(of).axes;
  std::map<std::string, Expr> renamed;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (axes[i] != own[i]) renamed.emplace(own[i], position(axes[i]));
  if (result) return renamed.empty() ? *result : at_any_positions(*result, sheet, renamed);
  throw Error(at, fmt::format("no gradient leads to {0}; valid: a tensor from which a step follows whose "
                              "gradient stands before, {1} of {0}",
                              of, gradient_name(of)));
}

}  // namespace formula
