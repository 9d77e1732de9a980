#include "formula/gradient.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "formula/functions.hpp"

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

Expr equal(Expr x, Expr y) {
  return call("=", {std::move(x), std::move(y)});
}

bool is_call(const Expr& x, std::string_view function) {
  return x->op == Op::call && x->name == function;
}

/// x · factor, within the numerator where x is a quotient.
Expr times(const Expr& x, const Expr& factor, bool factor_first = false) {
  if (is_call(x, "/")) return times(x->parts[0], factor, factor_first) / x->parts[1];
  return factor_first ? factor * x : x * factor;
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
  Node node = *x;
  node.axis = other_axis(sheet, x->axis, taken);
  node.parts[0] = at_positions(x->parts[0], {{x->axis, position(node.axis)}});
  return Expr(std::move(node));
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

std::vector<Expr> positions(const Axes& axes) {
  std::vector<Expr> all;
  for (const auto& axis : axes) all.push_back(position(axis));
  return all;
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
    const auto& f = x->name;
    const auto& part = x->parts[0];
    const auto mean = [&](const Expr& y) { return over("mean", x->axis, y); };
    if (f == "softmax" || f == "unguarded_softmax")
      return through_part(x, 0, value * (seed - over("sum", x->axis, value * seed)), axes);
    if (f == "layer_norm") {
      const auto deviation = expanded(x).value()->parts[1];
      return through_part(x, 0, (seed - mean(seed) - value * mean(value * seed)) / deviation, axes);
    }
    auto inner = axes;
    inner.push_back(x->axis);
    if (f == "sum") return through_part(x, 0, seed, inner);
    if (f == "mean") return through_part(x, 0, seed / size(x->axis), inner);
    if (f == "log_sum_exp") return through_part(x, 0, seed * over("softmax", x->axis, part), inner);
    if (f == "max" || f == "min") {
      const auto is_best = equal(part, value);
      through_part(x, 0, where(is_best, seed / over("sum", x->axis, where(is_best, 1.0, 0.0)), 0.0), inner);
    }
  }

  void through_call(const Expr& x, const Expr& seed, const Axes& axes, const Expr& value) {
    const auto& f = x->name;
    const auto& p = x->parts;
    const auto back = [&](std::size_t part, const Expr& gradient) { through_part(x, part, gradient, axes); };
    if (f == "+" || f == "-") {
      back(0, seed);
      back(1, f == "+" ? seed : -seed);
    } else if (f == "*") {
      back(0, times(seed, p[1]));
      back(1, times(seed, p[0], true));
    } else if (f == "/") {
      back(0, seed / p[1]);
      back(1, -(seed * value / p[1]));
    } else if (f == "neg") {
      back(0, -seed);
    } else if (f == "^") {
      const bool is_square = p[1]->op == Op::number && p[1]->number == 2.0;
      back(0, seed * (p[1] * (is_square ? p[0] : call("^", {p[0], p[1] - 1.0}))));
      back(1, seed * value * call("log", {p[0]}));
    } else if (f == "mod") {
      back(0, seed);
      back(1, -(seed * call("floor", {p[0] / p[1]})));
    } else if (f == "max" || f == "min") {
      const auto is_first = call("<=", {p[f == "max"], p[f == "min"]});
      back(0, where(is_first, seed, 0.0));
      back(1, where(is_first, 0.0, seed));
    } else if (f == "where") {
      through_branch(x, 1, seed, axes);
      through_branch(x, 2, seed, axes);
    } else if (const auto factor = derivative(f, p[0], value)) {
      back(0, seed * *factor);
    } else if (const auto written_out = expanded(x)) {
      through(*written_out, seed, axes, value);
    }
  }

  /// The condition stands around all that comes back, for what was not taken may be no number; but around
  /// the seed where softmax has an entry of its own for each place at which the condition may hold.
  void through_branch(const Expr& x, std::size_t branch, const Expr& seed, const Axes& axes) {
    const auto& condition = x->parts[0];
    const auto taken = [&](const Expr& value) {
      return branch == 1 ? where(condition, value, 0.0) : where(condition, 0.0, value);
    };
    if (mixes_along(x->parts[branch], condition)) return through_part(x, branch, taken(seed), axes);
    const auto first = shares_.size();
    through_part(x, branch, seed, axes);
    for (auto i = first; i < shares_.size(); ++i) shares_[i].value = taken(shares_[i].value);
  }

  /// Whether a softmax in `x` goes along an axis along which the condition changes.
  static bool mixes_along(const Expr& x, const Expr& condition) {
    if (x->op == Op::over && !reduces(x->name) && depends_on(condition, x->axis)) return true;
    return std::any_of(x->parts.begin(), x->parts.end(),
                       [&](const Expr& part) { return mixes_along(part, condition); });
  }

  /// f′(x) of a function of one number, of which `value` is f(x); none of one that has none or is constant
  /// between its steps.
  static std::optional<Expr> derivative(const std::string& f, const Expr& x, const Expr& value) {
    if (f == "exp") return value;
    if (f == "log") return Expr(1.0) / x;
    if (f == "sqrt") return Expr(1.0) / (Expr(2.0) * value);
    if (f == "tanh") return Expr(1.0) - call("^", {value, 2.0});
    if (f == "sin") return call("cos", {x});
    if (f == "cos") return -call("sin", {x});
    if (f == "erf") return Expr(2.0 / std::sqrt(std::acos(-1.0))) * call("exp", {-call("^", {x, 2.0})});
    if (f == "abs") return where(call("<", {x, 0.0}), -1.0, 1.0);
    if (f == "sigmoid") return value * (Expr(1.0) - value);
    if (f == "relu") return where(call("<", {0.0, x}), 1.0, 0.0);
    return std::nullopt;
  }

  Sheet& sheet_;
  const std::string& of_;
  std::vector<Share> shares_;
};

/// Turns a share round: from where it comes from to the entry that gets it.
class Turning {
 public:
  Turning(Sheet& sheet, const Axes& axes, const Share& share)
      : sheet_(sheet), axes_(axes), left_(share.axes), value_(share.value), place_(share.place) {}

  Expr operator()() {
    rename_other_axes();
    for (std::size_t i = 0; i < axes_.size(); ++i) turn(i);
    auto value = at_any_positions(value_, sheet_, turned_);
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
  void take(const std::string& axis) { std::erase(left_, axis); }

  void require(const Expr& condition) {
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
      turned_.insert_or_assign(index->name, own);
      take(index->name);
      if (may_end_sooner) require(call("<", {own, size(index->name)}));
    } else if (!turn_shift(index, own) && !turn_blocks(index, own) && !turn_cut(i)) {
      require(equal(index, own));
    }
  }

  /// `token + 1`, `token - 1`.
  bool turn_shift(const Expr& index, const Expr& own) {
    const bool is_shift = (is_call(index, "+") || is_call(index, "-")) &&
                          index->parts[0]->op == Op::position && index->parts[1]->op == Op::number;
    if (!is_shift || !is_left(index->parts[0]->name)) return false;
    const auto& axis = index->parts[0]->name;
    const bool is_later = index->name == "+";
    const auto back = is_later ? own - index->parts[1] : own + index->parts[1];
    turned_.insert_or_assign(axis, back);
    take(axis);
    require(is_later ? call("<=", {0.0, back}) : call("<", {back, size(axis)}));
    return true;
  }

  /// `head * size(d_k) + d_k`.
  bool turn_blocks(const Expr& index, const Expr& own) {
    if (!is_call(index, "+") || !is_call(index->parts[0], "*")) return false;
    const auto &block = index->parts[0]->parts[0], &length = index->parts[0]->parts[1],
               &inner = index->parts[1];
    const bool fits = block->op == Op::position && inner->op == Op::position && is_left(block->name) &&
                      is_left(inner->name) && length->op == Op::size && length->name == inner->name;
    if (!fits) return false;
    turned_.insert_or_assign(block->name, call("floor", {own / length}));
    turned_.insert_or_assign(inner->name, call("mod", {own, length}));
    take(block->name);
    take(inner->name);
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
      turned_.insert_or_assign(axis, column);
      take(axis);
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

bool has_again(const Expr& x) {
  return x->op == Op::again || std::any_of(x->parts.begin(), x->parts.end(), has_again);
}

/// Gradients by tensors of a sheet, each found once.
class Gradients {
 public:
  Gradients(Sheet& sheet, std::size_t at) : sheet_(sheet), at_(at) {}

  /// From the steps that take the tensor; none where no gradient leads to it.
  std::optional<Expr> by(const std::string& of) {
    const auto found = known_.find(of);
    if (found != known_.end()) return found->second;
    known_.emplace(of, std::nullopt);
    std::optional<Expr> total;
    for (const auto& step : sheet_.definitions()) {
      if (!has(operands(step.expr), of)) continue;
      const auto seed = of_step(step);
      if (!seed) continue;
      if (has_again(step.expr))
        throw Error(at_,
                    fmt::format("the gradient by {} goes through {}, which has again(…)", of, step.name));
      Back back(sheet_, of);
      back.through(step.expr, *seed, step.axes, entry(step.name, positions(step.axes)));
      for (const auto& share : back.shares()) {
        const auto turned = Turning(sheet_, sheet_.tensor(of).axes, share)();
        total = total ? *total + turned : turned;
      }
    }
    return known_[of] = total;
  }

 private:
  std::optional<Expr> of_step(const Definition& step) {
    const auto* gradient = sheet_.find(gradient_name(step.name));
    if (gradient != nullptr)
      return entry(sheet_.stands_for(gradient_name(step.name)), positions(gradient->axes));
    return by(step.name);
  }

  Sheet& sheet_;
  std::size_t at_;
  std::map<std::string, std::optional<Expr>> known_;
};

}  // namespace

std::string gradient_name(const std::string& of) {
  const auto last = of.rfind('/') + 1;
  return of.substr(0, last) + "d_" + of.substr(last);
}

Expr gradient(Sheet& sheet, const std::string& of, std::size_t at) {
  const auto result = Gradients(sheet, at).by(sheet.stands_for(of));
  if (result) return *result;
  throw Error(at, fmt::format("no gradient leads to {0}; valid: a tensor from which a step follows whose "
                              "gradient stands before, {1} of {0}",
                              of, gradient_name(of)));
}

}  // namespace formula
