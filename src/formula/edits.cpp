#include "formula/edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "formula/entrywise.hpp"
#include "formula/functions.hpp"
#include "formula/parse.hpp"

namespace formula {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The whole formula with something else in the place of one part.
using Put = std::function<Expr(const Expr& other)>;

Expr in_place_of_all(const Expr& other) {
  return other;
}

Expr with_part(const Expr& x, std::size_t i, const Expr& part) {
  return edited(x, [&](Node& node) { node.parts[i] = part; });
}

/// What may stand in the place of a function of the operands x, y and z.
const std::vector<Expr>& others_for(const std::string& function) {
  static const std::map<std::string, std::vector<const char*>> texts = {
      {"+", {"x", "y", "x - y", "x * y", "x + y + y", "x + x + y"}},
      {"-", {"x", "-y", "x + y", "x * y", "y - x", "x - y - y"}},
      {"*", {"x", "y", "x * y * y", "x * x * y", "x / y", "x + y", "x - y"}},
      {"/", {"x", "x / y / y", "x * y", "x + y", "x - y", "y / x"}},
      {"where", {"y", "z", "where(x, z, y)", "y + x", "y * x"}},
      {"<", {"x <= y", "y < x", "x < y + 1", "x < y + -1", "x = y", "0 <= 0"}},
      {"<=", {"x < y", "y <= x", "x <= y + 1", "x <= y + -1", "x = y", "0 <= 0"}},
      {"=", {"x <= y", "y <= x", "not (x = y)", "x = y + 1", "x = y + -1", "0 <= 0"}},
      {"and", {"x", "y", "x or y"}},
      {"or", {"x", "y", "x and y"}},
      {"^", {"x", "x ^ -y", "x ^ (y + 1)", "x * y"}},
      {"max", {"x", "y", "min(x, y)"}},
      {"min", {"x", "y", "max(x, y)"}},
      {"mod", {"x", "floor(x / y)"}},
      {"exp", {"exp(x) - 1", "2 ^ x"}},
      {"floor", {"-floor(-x)", "floor(x + 0.5)"}},
  };
  static const auto all = [] {
    std::map<std::string, std::vector<Expr>> read;
    for (const auto& [name, others] : texts)
      for (const auto* other : others) read[name].push_back(parse(other));
    return read;
  }();
  static const std::vector<Expr> none;
  const auto found = all.find(function);
  return found == all.end() ? none : found->second;
}

/// Whether each position in it is of an axis that the result has or a sum goes over.
bool is_in_scope(const Expr& x, Axes axes) {
  if (x->op == Op::position) return has(axes, x->name);
  if (x->op == Op::over) {
    if (!reduces(x->name) && !has(axes, x->axis)) return false;
    axes.push_back(x->axis);
  }
  return std::all_of(x->parts.begin(), x->parts.end(),
                     [&](const Expr& part) { return is_in_scope(part, axes); });
}

/// Each way to write one part of a formula anew, put into the whole.
class Editor {
 public:
  Editor(const Sheet& sheet, const Definition& definition) : sheet_(sheet), definition_(definition) {
    Axes later;  // what is computed from it, and itself
    for (const auto& step : sheet.definitions())
      if (!later.empty() || step.name == definition.name) later.push_back(step.name);
    for (const auto& [name, tensor] : sheet.tensors())
      if (name != definition.name && !has(later, name)) known_.push_back(name);
  }

  std::vector<Definition> all() {
    walk(definition_.expr, definition_.axes, in_place_of_all);
    exchange_groups();
    add_to_whole();
    reshape_operands();
    walk_composites(definition_.expr, definition_.axes, in_place_of_all);
    return std::move(edits_);
  }

 private:
  void add(const Put& put, const Expr& other) {
    auto edited = put(other);
    const auto is_same = [&](const Definition& edit) { return same(edit.expr, edited); };
    if (!is_in_scope(edited, definition_.axes)) return;
    if (same(edited, definition_.expr) || std::any_of(edits_.begin(), edits_.end(), is_same)) return;
    edits_.push_back({definition_.name, definition_.axes, std::move(edited)});
  }

  /// Sees each part of a formula, the positions that it has, and how another one is put in its place.
  using See = std::function<void(const Expr& x, const Axes& bound, const Put& put)>;

  static void for_each_part(const Expr& x, const Axes& bound, const Put& put, const See& see) {
    see(x, bound, put);
    auto inner = bound;
    if (x->op == Op::over && reduces(x->name) && !has(inner, x->axis)) inner.push_back(x->axis);
    if (x->op == Op::again) return;
    for (std::size_t i = 0; i < x->parts.size(); ++i)
      for_each_part(
          x->parts[i], inner, [x, i, put](const Expr& part) { return put(with_part(x, i, part)); }, see);
  }

  void walk(const Expr& x, const Axes& bound, const Put& put) {
    for_each_part(x, bound, put,
                  [this](const Expr& part, const Axes& its, const Put& in) { edit(part, its, in); });
  }

  /// Functions such as softmax, written out: a part of them is another one wherever it stands in them.
  void walk_composites(const Expr& formula, const Axes& axes, const Put& in_all) {
    for_each_part(formula, axes, in_all, [this](const Expr& x, const Axes& bound, const Put& put) {
      const auto whole = expanded(x);
      if (!whole) return;
      add(put, *whole);
      for_each_part(*whole, bound, put, [&](const Expr& part, const Axes& its, const Put& in) {
        if (part->op == Op::call || part->op == Op::over)
          edit(part, its, [&](const Expr& other) { return put(with_other(*whole, part, other)); });
        else if (part->op == Op::number)
          edit(part, its, in);
      });
    });
  }

  static Expr with_other(const Expr& x, const Expr& part, const Expr& other) {
    return same(x, part) ? other
                         : with_parts(x, [&](const Expr& one) { return with_other(one, part, other); });
  }

  /// The numbers of an operand in the order in which they stand in memory, cut into other rows; its axes, or
  /// those of the result, in another order before.
  void reshape_operands() {
    auto axes = definition_.axes;
    const bool has_batch = std::erase(axes, "batch") > 0;
    for (const auto& name : known_) {
      const auto& tensor = sheet_.form(name);
      auto its = tensor.axes;
      const bool is_of_samples = std::erase(its, "batch") > 0;
      constexpr std::size_t most_axes = 3;
      if (its.size() > most_axes || axes.size() > most_axes || is_of_samples != has_batch ||
          its.size() + axes.size() < most_axes || (is_of_samples && tensor.axes[0] != "batch") ||
          attn::element_count(sheet_.shape_of(its)) != attn::element_count(sheet_.shape_of(axes)))
        continue;
      if (!is_taken(name)) continue;
      for_each_order(axes, [&](const Axes& order) {
        const auto place = place_in_memory(order);
        for_each_order(its, [&](const Axes& stored) {
          std::map<std::string, Expr> indices = {{"batch", position("batch")}};
          double stride = 1.0;
          for (auto axis = stored.rbegin(); axis != stored.rend(); ++axis) {
            const auto length = static_cast<double>(sheet_.size_of(*axis));
            const auto row = stride == 1.0 ? place : call("floor", {place / stride});
            indices.insert({*axis, axis + 1 == stored.rend() ? row : call("mod", {row, length})});
            stride *= length;
          }
          std::vector<Expr> at;
          for (const auto& axis : tensor.axes) at.push_back(indices.at(axis));
          add(in_place_of_all, entry(name, std::move(at)));
        });
      });
    }
  }

  /// Whether the formula, or one of its operands, takes the tensor.
  bool is_taken(const std::string& name) const {
    const auto own = operands(definition_.expr);
    return std::any_of(own.begin(), own.end(), [&](const std::string& one) {
      const auto* step = sheet_.definition_of(one);
      const auto before = step == nullptr ? std::vector<std::string>() : operands(step->expr);
      return one == name || std::find(before.begin(), before.end(), name) != before.end();
    });
  }

  static void for_each_order(const Axes& axes, const std::function<void(const Axes& order)>& see) {
    std::vector<std::size_t> places(axes.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    do {
      Axes order;
      for (const auto place : places) order.push_back(axes[place]);
      see(order);
    } while (std::next_permutation(places.begin(), places.end()));
  }

  Expr place_in_memory(const Axes& order) const {
    Expr place = 0.0;
    for (const auto& axis : order)
      place = is_number(place, 0.0)
                  ? position(axis)
                  : place * Expr(static_cast<double>(sheet_.size_of(axis))) + position(axis);
    return place;
  }

  void edit(const Expr& x, const Axes& bound, const Put& put) {
    switch (x->op) {
      case Op::number:
        return number(x, put);
      case Op::size:
        return length(x, put);
      case Op::position:
        return place(x, bound, put);
      case Op::entry:
        return tensor(x, bound, put);
      case Op::over:
        return reduction(x, bound, put);
      case Op::call:
        return function(x, put);
      default:
        return;
    }
  }

  void number(const Expr& x, const Put& put) {
    const double n = x->number;
    const std::vector<double> others =
        std::isinf(n) ? std::vector<double>{0.0, -1e9, 1e-9, -n}
                      : std::vector<double>{0.0, 1.0, -n, 2.0 * n, n / 2.0, n + 1.0, n - 1.0};
    for (const double other : others)
      if (other != n) add(put, other);
  }

  void length(const Expr& x, const Put& put) {
    for (const auto& [axis, length] : sheet_.axes())
      if (length != sheet_.size_of(x->name)) add(put, size(axis));
    add(put, x - 1.0);
  }

  void place(const Expr& x, const Axes& bound, const Put& put) {
    for (const double shift : {1.0, -1.0}) {
      add(put, x + shift);
      add(put, call("mod", {x + shift, size(x->name)}));  // what leaves at one end comes back at the other
    }
    for (const auto& axis : bound)
      if (axis != x->name) add(put, position(axis));
  }

  void tensor(const Expr& x, const Axes& bound, const Put& put) {
    const auto& shape = sheet_.tensor(x->name).shape;
    for (const auto& name : known_)  // another in its place
      if (name != x->name && sheet_.tensor(name).shape == shape) add(put, entry(name, x->parts));
    for (std::size_t i = 0; i < x->parts.size(); ++i) {
      for (std::size_t j = i + 1; j < x->parts.size(); ++j)  // transposed
        if (shape[i] == shape[j]) {
          auto indices = x->parts;
          std::swap(indices[i], indices[j]);
          add(put, entry(x->name, indices));
        }
      for (const auto& axis : bound)
        if (sheet_.size_of(axis) == shape[i]) add(put, with_part(x, i, position(axis)));
      add(put, with_part(x, i, Expr(static_cast<double>(shape[i]) - 1.0) - x->parts[i]));  // backwards
      add(put, with_part(x, i, 0.0));
    }
    for (const auto& f : {"abs", "exp", "tanh"}) add(put, call(f, {x}));
    add(put, call("^", {x, 2.0}));
  }

  void reduction(const Expr& x, const Axes& bound, const Put& put) {
    const auto& part = x->parts[0];
    if (!reduces(x->name)) {
      for (const bool is_batch : {false, true})
        for (const auto& axis : bound)
          if (axis != x->axis && (axis == "batch") == is_batch) add(put, over(x->name, axis, part));
      add(put, part);
      add(put, call("exp", {part}));
      add(put, call("sigmoid", {part}));
      if (part->op == Op::call)  // before what it comes after
        for (std::size_t i = 0; i < part->parts.size(); ++i)
          if (part->parts[i]->op != Op::number && !free_axes(part->parts[i]).empty())
            add(put, hidden_as_0(with_part(part, i, with_part(x, 0, part->parts[i]))));
      return;
    }
    if (x->name == "sum") {
      add(put, x / size(x->axis));
      add(put, over("max", x->axis, part));
      add(put, at_positions(part, {{x->axis, Expr(0.0)}}));
    }
    if (x->name == "mean") add(put, over("sum", x->axis, part));
    if (x->name == "max") add(put, over("min", x->axis, part));
    for (const auto& axis : bound)
      if (axis != x->axis) add(put, over(x->name, axis, part));
    add(put, over(x->name, x->axis, -part));
  }

  static Expr hidden_as_0(const Expr& x) {
    return with_parts(x, [](const Expr& part) -> Expr {
      return part->op == Op::number && std::isinf(part->number) ? Expr(0.0) : part;
    });
  }

  void function(const Expr& x, const Put& put) {
    constexpr std::array operands = {"x", "y", "z"};
    std::map<std::string, Expr> meant;
    for (std::size_t i = 0; i < x->parts.size(); ++i) meant.emplace(operands.at(i), x->parts[i]);
    const auto& others = others_for(x->name);
    for (const auto& other : others) add(put, with_names(other, meant));
    if (x->parts.size() != 1) return;
    const auto& part = x->parts[0];
    add(put, part);
    add(put, call(x->name, {x}));
    add(put, call(x->name, {-part}));
    if (x->name == "neg" || x->name == "not") return;
    for (const auto& name : {"exp", "log", "sqrt", "abs", "sin", "cos", "tanh", "sigmoid", "relu"})
      if (name != x->name) add(put, call(name, {part}));
    add(put, part * part);
  }

  static std::string group_of(const std::string& name) { return name.substr(0, name.rfind('/') + 1); }

  /// All tensors of another group in the place of those of one: gain and bias of norm_1 for those of norm_2.
  void exchange_groups() {
    std::set<std::string> own, others;
    for (const auto& name : operands(definition_.expr)) own.insert(group_of(name));
    for (const auto& name : known_) others.insert(group_of(name));
    for (const auto& from : own)
      for (const auto& to : others)
        if (!from.empty() && !to.empty() && from != to)
          if (const auto other = with_group(definition_.expr, from, to)) add(in_place_of_all, *other);
  }

  /// None where the other group lacks one of them, or has it in another shape.
  std::optional<Expr> with_group(const Expr& x, const std::string& from, const std::string& to) const {
    bool is_there = true;
    const std::function<Expr(const Expr&)> changed = [&](const Expr& part) -> Expr {
      const auto inner = with_parts(part, changed);
      if (inner->op != Op::entry || group_of(inner->name) != from) return inner;
      const auto name = to + inner->name.substr(from.size());
      is_there =
          is_there && has(known_, name) && sheet_.tensor(name).shape == sheet_.tensor(inner->name).shape;
      return entry(name, inner->parts);
    };
    const auto other = changed(x);
    return is_there ? std::optional(other) : std::nullopt;
  }

  void add_to_whole() {
    const auto& right = definition_.expr;
    const auto own = positions(definition_.axes);
    for (const auto& name : known_) {
      const auto& tensor = sheet_.tensor(name);
      if (tensor.shape != sheet_.tensor(definition_.name).shape) continue;
      add(in_place_of_all, right + entry(name, own));
      add(in_place_of_all, right - entry(name, own));
      add(in_place_of_all, right * entry(name, own));
    }
    add(in_place_of_all, -right);
    for (const auto& f : {"abs", "exp", "tanh", "sigmoid", "relu"}) add(in_place_of_all, call(f, {right}));
    for (std::size_t i = 0; i < definition_.axes.size(); ++i) {  // rows the other way round, or exchanged
      const auto& axis = definition_.axes[i];
      const auto last = size(axis) - 1.0;
      if (right->axis != axis) add(in_place_of_all, at_positions(right, {{axis, last - position(axis)}}));
      for (std::size_t j = i + 1; j < definition_.axes.size(); ++j)
        if (const auto& other = definition_.axes[j]; sheet_.size_of(axis) == sheet_.size_of(other))
          add(in_place_of_all, at_positions(right, {{axis, position(other)}, {other, position(axis)}}));
    }
  }

  const Sheet& sheet_;
  const Definition& definition_;
  std::vector<std::string> known_;
  std::vector<Definition> edits_;
};

/// Finds formulas by somebody's numbers.
class Detective {
 public:
  Detective(const Sheet& sheet, const Definition& definition, const View& theirs, double tolerance)
      : sheet_(sheet), definition_(definition), theirs_(theirs), tolerance_(tolerance) {
    const auto right = numbers_in_order(sheet_.tensor(definition_.name)), numbers = numbers_in_order(theirs_);
    for (std::size_t i = 0; i < right.size(); ++i)
      if (std::isfinite(right.data()[i]) && std::isfinite(numbers.data()[i]))
        largest_ = std::max(largest_, std::abs(numbers.data()[i]));
    choose_entries();
  }

  bool is_right() const { return asked_.empty(); }

  /// Whether the formula gives their numbers: a few entries first, as most formulas fail at one of them.
  bool gives(const Definition& edit) const {
    for (const auto& at : asked_)
      if (!agree(sheet_.worked(edit, at).value(), theirs_.at(at))) return false;
    const auto theirs = numbers_in_order(theirs_), ours = numbers_in_order(sheet_.value(edit));
    return std::equal(theirs.begin(), theirs.end(), ours.begin(),
                      [this](double x, double y) { return agree(y, x); });
  }

  /// The formula with the constant for which it gives their numbers, where there is one.
  std::optional<Definition> with_constant(const std::function<Expr(double)>& formula) const {
    const auto& at = asked_.front();
    const double wanted = theirs_.at(at);
    const auto error = [&](double c) {
      return sheet_.worked({definition_.name, definition_.axes, formula(c)}, at).value() - wanted;
    };
    const double step = wanted == 0.0 ? 1.0 : wanted;
    const double at_0 = error(0.0), slope = (error(step) - at_0) / step;
    if (const double c = -at_0 / slope; std::isfinite(c))
      if (auto edit = with_shortest(formula, c)) return edit;
    for (const double sign : {1.0, -1.0})
      for (double power = -12.0; power < 7.0; power += 0.25)
        if (const auto root =
                root_between(error, sign * std::pow(10.0, power), sign * std::pow(10.0, power + 0.25)))
          if (auto edit = with_shortest(formula, *root)) return edit;
    return std::nullopt;
  }

  /// Where along one axis alone their numbers differ from the right ones, as conditions on its position: at
  /// one entry, before one or from one on.
  std::vector<Expr> places_that_differ() const {
    std::vector<Expr> conditions;
    for (std::size_t i = 0; i < definition_.axes.size(); ++i) {
      const auto& places = differing_[i];
      const auto length = theirs_.shape[i], count = places.size();
      if (count == 0 || count == length) continue;
      const auto place = position(definition_.axes[i]);
      const auto first = static_cast<double>(*places.begin()), last = static_cast<double>(*places.rbegin());
      if (last - first + 1.0 != static_cast<double>(count)) continue;
      if (count == 1)
        conditions.push_back(call("=", {place, first}));
      else if (first == 0.0)
        conditions.push_back(call("<", {place, last + 1.0}));
      else if (last + 1.0 == static_cast<double>(length))
        conditions.push_back(call("<=", {first, place}));
    }
    return conditions;
  }

 private:
  /// With the number of fewest digits near `c` that gives theirs: 500000 rather than 499999.9999997. Some
  /// constant gives any number that stands alone, and 0 gives zeros.
  std::optional<Definition> with_shortest(const std::function<Expr(double)>& formula, double c) const {
    if (c == 0.0 || attn::element_count(theirs_.shape) == 1) return std::nullopt;
    Definition edit{definition_.name, definition_.axes, formula(c)};
    if (!gives(edit)) return std::nullopt;
    for (int digits = 1; digits < 7; ++digits) {
      Definition shorter{definition_.name, definition_.axes,
                         formula(std::stod(fmt::format("{:.{}g}", c, digits)))};
      if (gives(shorter)) return shorter;
    }
    return edit;
  }

  bool agree(double ours, double theirs) const {
    if (std::isnan(theirs) || std::isnan(ours)) return std::isnan(theirs) && std::isnan(ours);
    if (std::isinf(theirs) || std::isinf(ours)) return ours == theirs;
    return ours == theirs || std::abs(ours - theirs) <= tolerance_ * std::max(largest_, std::abs(theirs));
  }

  /// The first, the middle and the last of the entries that differ, and one more.
  void choose_entries() {
    const auto& right = sheet_.tensor(definition_.name);
    std::vector<attn::Index> differ;
    attn::Index at(theirs_.shape.size());
    differing_.resize(at.size());
    for (std::size_t i = attn::element_count(theirs_.shape); i-- > 0;) {
      if (!agree(right.at(at), theirs_.at(at))) {
        differ.push_back(at);
        for (std::size_t axis = 0; axis < at.size(); ++axis) differing_[axis].insert(at[axis]);
      }
      for (std::size_t axis = at.size(); axis-- > 0 && ++at[axis] == theirs_.shape[axis];) at[axis] = 0;
    }
    if (differ.empty()) return;
    asked_ = {differ[differ.size() / 2], differ.front(), differ.back(), attn::Index(theirs_.shape.size())};
  }

  static std::optional<double> root_between(const std::function<double(double)>& f, double low, double high) {
    double at_low = f(low), at_high = f(high);
    if (!(at_low * at_high <= 0.0)) return std::nullopt;
    for (int i = 0; i < 80; ++i) {
      const double middle = (low + high) / 2.0, at_middle = f(middle);
      (at_low * at_middle <= 0.0 ? high : low) = middle;
      if (at_low * at_middle > 0.0) at_low = at_middle;
    }
    return (low + high) / 2.0;
  }

  const Sheet& sheet_;
  const Definition& definition_;
  const View& theirs_;
  double tolerance_;
  double largest_ = 0.0;  ///< where the right one is finite: a fill of −1e9 excuses nothing
  std::vector<attn::Index> asked_;
  std::vector<std::set<std::size_t>> differing_;  ///< by axis, the places of entries that differ
};

/// What may stand in a part of a tensor, the rest being right: 0, what stands at another place, or what
/// another formula gives.
std::vector<Definition> edits_in_part(const Sheet& sheet, const Definition& definition, const Expr& condition,
                                      const std::vector<Definition>& edits) {
  const auto& right = definition.expr;
  std::vector<Definition> parts;
  const auto add = [&](const Expr& other) {
    parts.push_back({definition.name, definition.axes, call("where", {condition, other, right})});
  };
  add(0.0);
  for (const auto& axis : definition.axes)
    for (const double place : {0.0, static_cast<double>(sheet.size_of(axis)) - 1.0})
      add(at_positions(right, {{axis, place}}));
  for (const auto& edit : edits) add(edit.expr);
  return parts;
}

/// Each formula with one constant of it open, as a function of that constant: those that stand in it, lengths
/// and their roots too, and a factor of each operand.
void for_each_constant(const Expr& x, const Put& put,
                       const std::function<void(std::function<Expr(double)>)>& see) {
  const bool is_constant =
      x->op == Op::size || x->op == Op::number || (is_call(x, "sqrt") && x->parts[0]->op == Op::size);
  if (is_constant) return see([put](double c) { return put(c); });
  if (x->op == Op::entry) return see([put, x](double c) { return put(x * c); });
  if (x->name == "layer_norm") return for_each_constant(*expanded(x), put, see);
  for (std::size_t i = 0; i < x->parts.size(); ++i)
    if (x->op != Op::again)
      for_each_constant(
          x->parts[i], [x, i, put](const Expr& part) { return put(with_part(x, i, part)); }, see);
}

std::size_t length_of(const Expr& x) {
  std::size_t length = 1;
  for (const auto& part : x->parts) length += length_of(part);
  return length;
}

/// The shortest first: `scores / d_k` before `scores / √d_k / √d_k`.
std::vector<Definition> simplest_first(std::vector<Definition> found) {
  std::stable_sort(found.begin(), found.end(), [](const Definition& x, const Definition& y) {
    return length_of(x.expr) < length_of(y.expr);
  });
  return found;
}

Expr written_out(const Expr& x, const Definition& step) {
  const auto inner = with_parts(x, [&](const Expr& part) { return written_out(part, step); });
  if (x->op != Op::entry || x->name != step.name) return inner;
  std::map<std::string, Expr> indices;
  for (std::size_t i = 0; i < step.axes.size(); ++i) indices.insert({step.axes[i], inner->parts[i]});
  return at_positions(step.expr, indices);
}

}  // namespace

Definition with_written_out(const Sheet& sheet, const Definition& definition, const std::string& step) {
  const auto* its = sheet.definition_of(step);
  return its == nullptr ? definition
                        : Definition{definition.name, definition.axes, written_out(definition.expr, *its)};
}

std::vector<Definition> edits_of(const Sheet& sheet, const Definition& definition) {
  return Editor(sheet, definition).all();
}

std::vector<Definition> formulas_of(const Sheet& sheet, const Definition& definition, const View& theirs,
                                    double tolerance, double seconds) {
  const auto begin = std::clock();  // of the processor: a busy machine finds the same
  const auto is_over = [&] { return static_cast<double>(std::clock() - begin) > seconds * CLOCKS_PER_SEC; };
  const Detective detective(sheet, definition, theirs, tolerance);
  std::vector<Definition> found;
  if (detective.is_right()) return found;
  const auto first = edits_of(sheet, definition);
  for (const auto& edit : first)
    if (!is_over() && detective.gives(edit)) found.push_back(edit);
  if (!found.empty()) return simplest_first(std::move(found));

  const auto solve = [&](const std::function<Expr(double)>& formula) {
    if (is_over()) return;
    if (auto solved = detective.with_constant(formula)) found.push_back(std::move(*solved));
  };
  for_each_constant(definition.expr, in_place_of_all, solve);
  solve([&](double c) { return definition.expr * c; });
  solve([&](double c) { return definition.expr + c; });
  if (!found.empty()) return simplest_first(std::move(found));

  for (const auto& condition : detective.places_that_differ())
    for (const auto& edit : edits_in_part(sheet, definition, condition, first))
      if (!is_over() && detective.gives(edit)) return {edit};

  std::vector<Definition> joint = {definition};
  constexpr std::size_t most_joint = 8;
  for (std::size_t i = 0; i < joint.size() && found.empty(); ++i) {
    if (i > 0) {
      for_each_constant(joint[i].expr, in_place_of_all, solve);
      for (const auto& edit : edits_of(sheet, joint[i]))
        if (!is_over() && detective.gives(edit)) found.push_back(edit);
    }
    for (const auto& operand : operands(joint[i].expr)) {
      auto deeper = with_written_out(sheet, joint[i], operand);
      const auto is_it = [&](const Definition& other) { return same(other.expr, deeper.expr); };
      if (joint.size() < most_joint && std::none_of(joint.begin(), joint.end(), is_it))
        joint.push_back(std::move(deeper));
    }
  }
  if (!found.empty()) return simplest_first(std::move(found));

  for (const auto& edit : first)
    for (const auto& second : edits_of(sheet, edit)) {
      if (is_over()) return found;
      if (detective.gives(second)) return {second};
    }
  return found;
}

}  // namespace formula
