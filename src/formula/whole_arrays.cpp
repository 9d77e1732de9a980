#include "formula/whole_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "formula/entrywise.hpp"
#include "formula/functions.hpp"
#include "formula/numpy.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

using Kind = Array::Kind;
using Type = Array::Type;

constexpr double largest_whole = 2147483648.0, no_number = std::numeric_limits<double>::quiet_NaN();

Axes without(Axes axes, const Axes& others) {
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](const auto& axis) { return has(others, axis); }),
             axes.end());
  return axes;
}

Axes common(Axes axes, const Axes& others) {
  return without(axes, without(axes, others));
}

/// `axes`, and those of `more` that it lacks, each before what follows it in `more`.
Axes merged(Axes axes, const Axes& more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (has(axes, more[i])) continue;
    auto before = axes.end();
    for (std::size_t j = i + 1; j < more.size() && before == axes.end(); ++j)
      before = std::find(axes.begin(), axes.end(), more[j]);
    axes.insert(before, more[i]);
  }
  return axes;
}

Axes sorted(Axes axes, const Axes& order) {
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const auto& a, const auto& b) { return place_in(order, a) < place_in(order, b); });
  return axes;
}

Array number(double value) {
  const bool is_whole = value == std::floor(value) && std::abs(value) < largest_whole;
  return {.type = is_whole ? Type::whole : Type::real, .number = value};
}

/// Whether both are written alike; of entries that are taken it is not said.
bool are_alike(const Array& x, const Array& y) {
  return x.kind == y.kind && x.axes == y.axes && x.type == y.type && x.name == y.name &&
         x.number == y.number && x.place == y.place && x.over == y.over && x.indices.empty() &&
         y.indices.empty() &&
         std::equal(x.parts.begin(), x.parts.end(), y.parts.begin(), y.parts.end(), are_alike);
}

bool is(const Array& x, double value) {
  return x.number && *x.number == value;
}

/// In this order of its axes, which `order` has all.
Array in_order(Array x, const Axes& order) {
  auto axes = sorted(x.axes, order);
  if (axes == x.axes) return x;
  const auto type = x.type;
  if (x.kind == Kind::transposed) return in_order(std::move(x.parts[0]), order);
  return {.kind = Kind::transposed, .axes = std::move(axes), .type = type, .parts = {std::move(x)}};
}

Array function(std::string name, std::vector<Array> parts, const Axes& order, Type type = Type::real) {
  Axes axes;
  for (const auto& part : parts) axes = merged(std::move(axes), part.axes);
  axes = sorted(std::move(axes), order);
  for (auto& part : parts) part = in_order(std::move(part), axes);
  return {Kind::function, std::move(axes), type, std::move(name), std::move(parts)};
}

/// Truth values as numbers, where arithmetic on them is not that of numbers.
Array as_numbers(Array x) {
  if (x.type != Type::truth) return x;
  if (x.kind == Kind::number) return number(*x.number);
  const auto axes = x.axes;
  return function("numbers", {std::move(x)}, axes);
}

Array as_truths(Array x) {
  if (x.type == Type::truth) return x;
  const auto axes = x.axes;
  if (x.kind == Kind::number) return {.type = Type::truth, .number = *x.number != 0.0 ? 1.0 : 0.0};
  return function("!=", {std::move(x), number(0.0)}, axes, Type::truth);
}

Array reduction(std::string name, Array x, const Axes& over) {
  auto axes = without(x.axes, over);
  const bool counts = name == "argmax" || (name == "sum" && x.type != Type::real);
  const bool stays = name == "max" || name == "min";
  const auto type = counts ? Type::whole : stays ? x.type : Type::real;
  return {Kind::reduction, std::move(axes), type, std::move(name), {std::move(x)}, over};
}

bool has_operands(const Expr& x) {
  return !operands(x).empty();
}

class Analysis {
 public:
  explicit Analysis(Scope& scope) : scope_(scope), sheet_(scope.sheet()) {}

  std::vector<Assignment> operator()(const Definition& definition) {
    const auto axes = scope_.kept(definition.axes);
    for (const auto& name : operands(definition.expr))
      for (const auto& axis : scope_.axes_of(name)) lengths_.emplace(axis, name);
    auto value = in_order(read(definition.expr, axes), axes);
    if (value.axes != axes)
      value = {.kind = Kind::broadcast, .axes = axes, .type = value.type, .parts = {value}};
    Assignment line{identifier(definition.name), std::move(value), definition};
    if (const auto at = place_in(definition.axes, scope_.along()); at < definition.axes.size())
      line.row = row_along(definition.axes, at, 0);
    lines_.push_back(std::move(line));
    return std::move(lines_);
  }

 private:
  Array::Row row_along(const Axes& axes, std::size_t at, std::ptrdiff_t offset) const {
    const Axes before(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(at));
    return {scope_.place(), scope_.kept(before).size(), offset, sheet_.size_of(axes[at])};
  }

  bool goes_along(const Expr& x) const { return !scope_.along().empty() && depends_on(x, scope_.along()); }

  Array variable(const Expr& x) const {
    Array array{.kind = Kind::variable, .type = scope_.type_of(x->name), .name = identifier(x->name)};
    const auto& axes = scope_.tensor(x->name).axes;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (const auto offset = shift_of(x->parts[i], scope_.along(), sheet_); offset && !array.row)
        array.row = row_along(axes, i, *offset);
    return array;
  }

  /// What the order of a formula's operands suggests.
  Axes natural(const Expr& x) const {
    Axes axes;
    if (x->op == Op::position && x->name == scope_.along()) return {};
    if (x->op == Op::position && !scope_.drops(x->name)) return {x->name};
    for (const auto& part : x->parts) axes = merged(std::move(axes), natural(part));
    return x->op == Op::over && reduces(x->name) ? without(axes, {x->axis}) : axes;
  }

  Array read(const Expr& x, const Axes& order) {
    switch (x->op) {
      case Op::number:
        return number(x->number);
      case Op::size:
        return length_of(x->name);
      case Op::position:
        if (scope_.drops(x->name)) return number(0.0);
        if (x->name == scope_.along())
          return {.kind = Kind::variable, .type = Type::whole, .name = scope_.place()};
        return {.kind = Kind::positions, .axes = {x->name}, .type = Type::whole};
      case Op::entry:
        return entry(x, order);
      case Op::call:
        return called(x, order);
      default:
        return over_axis(x, order);
    }
  }

  Array length_of(const std::string& axis) const {
    auto length = number(static_cast<double>(sheet_.size_of(axis)));
    if (const auto found = lengths_.find(axis); found != lengths_.end() && scope_.along().empty()) {
      length.name = found->second;
      length.place = place_in(scope_.axes_of(found->second), axis);
    }
    return length;
  }

  /// A line of its own for what is needed twice, or the one that has it already.
  Array line(Array x, const std::string& wish) {
    if (x.kind == Kind::number || x.kind == Kind::variable) return x;
    if (const auto there = line_with(x)) return *there;
    Array variable{.kind = Kind::variable, .axes = x.axes, .type = x.type, .name = scope_.fresh(wish)};
    lines_.push_back({variable.name, std::move(x), {"", {}, 0.0}});
    return variable;
  }

  std::optional<Array> line_with(const Array& x) const {
    for (const auto& line : lines_)
      if (are_alike(line.value, x))
        return Array{.kind = Kind::variable, .axes = x.axes, .type = x.type, .name = line.name};
    return std::nullopt;
  }

  // Functions of entries.

  Array called(const Expr& x, const Axes& order) {
    const auto& f = x->name;
    if (f == "relu") return combined("max", {read(x->parts[0], order), number(0.0)}, order);
    // `0 + key`, by which `s[0 + key]` takes the first entries of a longer axis.
    if (f == "+" && is_number(x->parts[0], 0.0) && x->parts[1]->op == Op::position)
      return read(x->parts[1], order);
    if (const auto whole = expanded(x)) return read(*whole, order);
    if (auto whole = f == "where" ? end_to_end(x, order) : std::nullopt) return *whole;
    if (auto whole = f == "where" ? side_by_side(x, order) : std::nullopt) return *whole;
    std::vector<Array> parts;
    for (std::size_t i = 0; i < x->parts.size(); ++i) {
      const auto outer = conditions_;
      if (f == "where" && i > 0) conditions_.push_back(i == 1 ? x->parts[0] : call("not", {x->parts[0]}));
      parts.push_back(read(x->parts[i], order));
      conditions_ = outer;
    }
    return combined(f, std::move(parts), order);
  }

  /// What `where(i < n, x[i], y[i - n])` is, for an axis i that begins with all of x and ends with all of y.
  std::optional<Array> end_to_end(const Expr& x, const Axes& order) const {
    const auto& condition = x->parts[0];
    if (goes_along(condition)) return std::nullopt;
    const bool is_part = is_call(condition, "<") && condition->parts[0]->op == Op::position &&
                         !has_operands(condition) && natural(condition->parts[1]).empty();
    if (!is_part || scope_.drops(condition->parts[0]->name)) return std::nullopt;
    const auto& axis = condition->parts[0]->name;
    const double first = places_along(condition->parts[1], {})[0];
    auto top = piece(x->parts[1], axis, 0.0, first);
    auto bottom = piece(x->parts[2], axis, first, static_cast<double>(sheet_.size_of(axis)));
    if (!top || !bottom || top->type != bottom->type) return std::nullopt;
    const auto axes = sorted(merged(top->axes, bottom->axes), order);
    Array result{Kind::joined, axes, top->type, "", {in_order(*top, axes), in_order(*bottom, axes)}, {axis}};
    result.indices = {{.count = top->place}, {.count = bottom->place}};
    return result;
  }

  /// What stacked formulas are, none of which goes along the axis itself.
  std::optional<Array> side_by_side(const Expr& x, const Axes& order) {
    const auto all = stacked(x);
    if (!all || scope_.drops(all->axis) || all->parts.size() != sheet_.size_of(all->axis))
      return std::nullopt;
    Array result{.kind = Kind::stacked, .type = Type::truth, .over = {all->axis}};
    for (const auto& part : all->parts) {
      if (depends_on(part, all->axis)) return std::nullopt;
      result.parts.push_back(as_numbers(read(part, without(order, {all->axis}))));
      result.axes = merged(result.axes, result.parts.back().axes);
      result.type = std::min(result.type, result.parts.back().type);
    }
    result.axes = sorted(merged(result.axes, {all->axis}), order);
    for (auto& part : result.parts) part = in_order(std::move(part), without(result.axes, {all->axis}));
    return result;
  }

  /// A tensor whose entries along one of its axes stand at `begin` … `end` − 1 of `axis`, and its length.
  std::optional<Array> piece(const Expr& x, const std::string& axis, double begin, double end) const {
    if (x->op != Op::entry) return std::nullopt;
    auto variable = this->variable(x);
    for (const auto& place : places_of(x)) {
      if (place.axes.size() != 1 || has(variable.axes, place.axes[0])) return std::nullopt;
      variable.axes.push_back(place.axes[0]);
      if (place.axes[0] != axis && is_plain(place)) continue;
      variable.place = place.length;
      if (place.axes[0] != axis || has_operands(place.expr) ||
          static_cast<double>(place.length) != end - begin)
        return std::nullopt;
      for (auto i = begin; i < end; ++i)
        if (place.values[static_cast<std::size_t>(i)] != i - begin) return std::nullopt;
    }
    return has(variable.axes, axis) ? std::optional(std::move(variable)) : std::nullopt;
  }

  Array combined(const std::string& f, std::vector<Array> parts, const Axes& order) const {
    if (const auto constant = folded(f, parts)) return *constant;
    if (f == "where") return chosen(std::move(parts), order);
    if (f == "and" || f == "or" || f == "not") {
      for (auto& part : parts) part = as_truths(std::move(part));
      return function(f, std::move(parts), order, Type::truth);
    }
    if (function_named(f)->is_truth) return function(f, std::move(parts), order, Type::truth);
    auto result = arithmetic(f, std::move(parts), order);
    return line_with(result).value_or(result);
  }

  /// The number that a function of numbers is; nothing where the text of it says more.
  static std::optional<Array> folded(const std::string& f, const std::vector<Array>& parts) {
    std::vector<double> numbers;
    for (const auto& part : parts) {
      if (!part.number) return std::nullopt;
      numbers.push_back(*part.number);
    }
    auto result = number(function_named(f)->value(numbers.data()));
    if (function_named(f)->is_truth) result.type = Type::truth;
    const bool says_more = f == "sqrt" || (f == "/" && result.type == Type::real);
    if (!says_more || !std::isfinite(*result.number)) return result;
    auto written = function(f, parts, {});
    written.number = result.number;
    return written;
  }

  static Array chosen(std::vector<Array> parts, const Axes& order) {
    parts[0] = as_truths(std::move(parts[0]));
    if (parts[0].number) return std::move(parts[*parts[0].number != 0.0 ? 1 : 2]);
    const auto type = std::max(parts[1].type, parts[2].type) == std::min(parts[1].type, parts[2].type)
                          ? parts[1].type
                          : Type::real;
    for (std::size_t i = 1; i < 3 && type != Type::truth; ++i) parts[i] = as_numbers(std::move(parts[i]));
    return function("where", std::move(parts), order, type);
  }

  static Array arithmetic(const std::string& f, std::vector<Array> parts, const Axes& order) {
    const bool are_truths =
        std::all_of(parts.begin(), parts.end(), [](const Array& part) { return part.type == Type::truth; });
    const bool mixes = f == "+" || f == "-" || f == "*" || f == "max" || f == "min";
    for (auto& part : parts)
      if (are_truths || !mixes) part = as_numbers(std::move(part));
    const bool are_whole =
        std::all_of(parts.begin(), parts.end(), [](const Array& part) { return part.type != Type::real; });
    if (f == "floor" && parts[0].name == "/" && parts[0].kind == Kind::function) {
      const auto& [x, y] = std::pair(parts[0].parts[0], parts[0].parts[1]);
      if (x.type == Type::whole && y.type == Type::whole && y.number && *y.number != 0.0)
        return function("//", {x, y}, order, Type::whole);
    }
    if (f == "floor" && are_whole) return std::move(parts[0]);
    const bool is_power = f == "^" && parts[1].number && *parts[1].number >= 0.0;
    const bool is_rest = f == "mod" && parts[1].number && *parts[1].number != 0.0;
    const bool stays_whole = mixes || f == "neg" || f == "abs" || is_rest || is_power;
    return function(f, std::move(parts), order, are_whole && stays_whole ? Type::whole : Type::real);
  }

  // Functions over an axis.

  Array over_axis(const Expr& x, const Axes& order) {
    const auto outer = conditions_;
    drop_conditions_on(x->axis);
    auto result = over_axis_alone(x, order);
    conditions_ = outer;
    return result;
  }

  void drop_conditions_on(const std::string& axis) {
    std::erase_if(conditions_, [&](const Expr& condition) { return has(natural(condition), axis); });
  }

  Array over_axis_alone(const Expr& x, const Axes& order) {
    const auto& f = x->name;
    const auto& axis = x->axis;
    if (f == "sum") return sum(x, order);
    if (const auto* deviating = deviating_in(x)) {
      auto part = read(*deviating, has(order, axis) ? order : joined(order, {{axis}}));
      if (has(part.axes, axis)) return reduction("var", std::move(part), {axis});
    }
    if (const auto whole = scope_.drops(axis) ? expanded(x) : std::nullopt) return read(*whole, order);
    const auto inner = has(order, axis) ? order : merged(order, natural(x->parts[0]));
    auto part = read(x->parts[0], has(inner, axis) ? inner : joined(inner, {{axis}}));
    const bool is_best = f == "max" || f == "min";
    if (!has(part.axes, axis))
      return is_best ? part : f == "argmax" ? number(0.0) : read(*expanded(x), order);
    if (is_best || f == "argmax" || f == "mean") return reduction(f, std::move(part), {axis});
    if (f == "layer_norm") return normed(line(as_numbers(std::move(part)), "x"), axis);
    if (f == "softmax" || f == "unguarded_softmax") return softmax(x, std::move(part));
    return read(*expanded(x), order);
  }

  /// Of mean(axis) (y - mean(axis) y) ^ 2 that y, or null.
  static const Expr* deviating_in(const Expr& x) {
    const auto& square = x->parts[0];
    if (x->name != "mean" || !is_call(square, "^") || !is_call(square->parts[0], "-")) return nullptr;
    const auto& y = square->parts[0]->parts[0];
    const bool is_its_own = same(square, call("^", {y - over("mean", x->axis, y), 2.0}));
    return is_its_own ? &y : nullptr;
  }

  Array softmax(const Expr& x, Array part) {
    const auto scores = line(as_numbers(std::move(part)), "logits");
    const auto& axes = scores.axes;
    const auto powers =
        line(combined("exp", {combined("-", {scores, reduction("max", scores, {x->axis})}, axes)}, axes),
             "powers");
    auto weights = combined("/", {powers, reduction("sum", powers, {x->axis})}, axes);
    return x->name == "softmax" && may_be_hidden(x) ? function("nan_to_num", {std::move(weights)}, axes)
                                                    : weights;
  }

  /// Whether there are rows of −∞ alone.
  bool may_be_hidden(const Expr& x) const {
    if (takes_again(x)) return true;
    const auto scores = value_of(x->parts[0], joined(without(natural(x), {x->axis}), {{x->axis}}));
    if (scores.is_truth) return false;
    const auto length = static_cast<std::ptrdiff_t>(sheet_.size_of(x->axis));
    const auto is_hidden = [](double score) { return score == -std::numeric_limits<double>::infinity(); };
    const auto* row = static_cast<const double*>(scores.data);
    const auto* end = row + attn::element_count(scores.shape);
    for (; row != end; row += length)
      if (std::all_of(row, row + length, is_hidden)) return true;
    return false;
  }

  Array normed(const Array& x, const std::string& axis) {
    const auto centred = line(function("-", {x, reduction("mean", x, {axis})}, x.axes), "centred");
    const auto variance = function("+", {reduction("var", x, {axis}), number(1e-5)}, x.axes);
    const auto spread = line(function("sqrt", {variance}, x.axes), "spread");
    return function("/", {centred, spread}, x.axes);
  }

  // Sums.

  Array sum(const Expr& x, const Axes& order) {
    Axes over;
    auto inner = x;
    for (; inner->op == Op::over && inner->name == "sum" && !has(over, inner->axis);
         inner = inner->parts[0]) {
      over.push_back(inner->axis);
      drop_conditions_on(inner->axis);
    }
    const auto inner_order = merged(merged(order, natural(inner)), over);
    std::vector<Array> factors;
    Array times = number(1.0);
    for (const auto& factor : factors_of(inner)) {
      auto array = read(factor, inner_order);
      if (array.number && std::isfinite(*array.number))
        times = times_of(times, array);
      else
        factors.push_back(std::move(array));
    }
    over = scope_.kept(over);
    for (const auto& axis : over) {
      const bool is_there = std::any_of(factors.begin(), factors.end(),
                                        [&](const Array& factor) { return has(factor.axes, axis); });
      if (!is_there) times = times_of(times, length_of(axis));
    }
    if (factors.empty()) return times;
    auto result = sum_of(std::move(factors), over, inner_order);
    if (is(times, 1.0)) return result;
    return combined("*", {std::move(result), std::move(times)}, order);
  }

  static Array times_of(const Array& x, const Array& y) {
    return is(x, 1.0) ? y : is(y, 1.0) ? x : number(*x.number * *y.number);
  }

  static std::vector<Expr> factors_of(const Expr& x) {
    if (!is_call(x, "*")) return {x};
    auto factors = factors_of(x->parts[0]);
    for (const auto& more : factors_of(x->parts[1])) factors.push_back(more);
    return factors;
  }

  Array sum_of(std::vector<Array> factors, const Axes& summed, const Axes& order) const {
    Axes all;
    for (const auto& factor : factors) all = merged(std::move(all), factor.axes);
    const auto over = common(sorted(all, order), summed);
    if (factors.size() > 1 && over.size() > 0) {
      const bool are_truths = std::all_of(factors.begin(), factors.end(),
                                          [](const Array& factor) { return factor.type == Type::truth; });
      if (are_truths) factors[0] = as_numbers(std::move(factors[0]));
      if (factors.size() == 2 && over.size() == 1)
        if (auto matrices = product(factors[0], factors[1], over[0], order)) return *matrices;
      const bool is_one_of_them = std::any_of(factors.begin(), factors.end(), [&](const Array& factor) {
        return factor.axes.size() == all.size();
      });
      if (!is_one_of_them)
        return {Kind::sums, without(sorted(all, order), over), Type::real, "", std::move(factors), over};
    }
    auto elementwise = std::move(factors[0]);
    for (std::size_t i = 1; i < factors.size(); ++i)
      elementwise = arithmetic("*", {std::move(elementwise), std::move(factors[i])}, order);
    return over.empty() ? elementwise : reduction("sum", std::move(elementwise), over);
  }

  /// x[…, m, k] @ y[…, k, n], where that is what the sum over `k` is.
  static std::optional<Array> product(Array x, Array y, const std::string& k, const Axes& order) {
    if (!has(x.axes, k) || !has(y.axes, k)) return std::nullopt;
    const auto both = without(sorted(common(x.axes, y.axes), order), {k});
    auto rows = sorted(without(x.axes, y.axes), order), columns = sorted(without(y.axes, x.axes), order);
    const bool is_swapped = rows.empty() ? y.axes.back() == k
                            : columns.empty()
                                ? x.axes.back() != k
                                : place_in(order, rows.back()) > place_in(order, columns.back());
    if (is_swapped) {
      std::swap(x, y);
      std::swap(rows, columns);
    }
    if (rows.size() > 1 && columns.size() > 1) return std::nullopt;
    if (!both.empty() && (rows.empty() || columns.empty())) return std::nullopt;
    const auto leading = [](const Axes& axes) {
      return axes.empty() ? Axes{} : Axes(axes.begin(), axes.end() - 1);
    };
    const auto last = [](const Axes& axes) { return axes.empty() ? Axes{} : Axes{axes.back()}; };
    const auto axes = joined(leading(rows), {leading(columns), both, last(rows), last(columns)});
    x = in_order(std::move(x), joined(leading(rows), {both, last(rows), {k}}));
    y = in_order(std::move(y), joined(leading(columns), {both, {k}, last(columns)}));
    return Array{Kind::product, axes, Type::real, "", {std::move(x), std::move(y)}};
  }

  // Entries.

  bool drops_batch() const { return sheet_.has_axis("batch") && scope_.drops("batch"); }

  /// Its value along these axes, of all samples.
  View value_of(const Expr& x, Axes axes) const {
    if (goes_along(x)) axes.insert(axes.begin(), scope_.along());
    if (drops_batch()) axes.insert(axes.begin(), "batch");
    return sheet_.value({"", std::move(axes), x});
  }

  std::vector<double> values_of(const Expr& x, const Axes& axes) const {
    const auto numbers = numbers_in_order(value_of(x, axes));
    return {numbers.begin(), numbers.end()};
  }

  /// The same of what no tensor is in, and all samples have.
  std::vector<double> places_along(const Expr& index, const Axes& axes) const {
    auto places = values_of(index, axes);
    if (drops_batch()) places.resize(places.size() / sheet_.size_of("batch"));
    return places;
  }

  struct Place {
    Expr expr;
    Axes axes;                   ///< in the order of `values`
    std::vector<double> values;  ///< none where they are not known
    std::size_t length;
  };

  bool takes_again(const Expr& x) const {
    const auto from = operands(x);
    return std::any_of(from.begin(), from.end(), [&](const auto& name) { return scope_.is_again(name); });
  }

  bool is_known(const Expr& x) const { return !goes_along(x) && !takes_again(x); }

  std::vector<Place> places_of(const Expr& x) const {
    const auto& tensor = scope_.tensor(x->name);
    std::vector<Place> places;
    bool has_row = false;
    for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
      if (scope_.drops(tensor.axes[i])) continue;
      const auto& index = x->parts[i];
      if (!has_row && shift_of(index, scope_.along(), sheet_)) {
        has_row = true;
        continue;
      }
      const auto axes = natural(index);
      places.push_back({index, axes, {}, tensor.shape[i]});
      if (is_known(index))
        places.back().values = has_operands(index) ? values_of(index, axes) : places_along(index, axes);
    }
    return places;
  }

  static bool is_plain(const Place& place) { return place.expr->op == Op::position && !place.axes.empty(); }

  /// Which places have an axis of that one.
  static std::vector<std::size_t> sharing(const std::vector<Place>& places, std::size_t with) {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (!common(places[i].axes, places[with].axes).empty()) some.push_back(i);
    return some;
  }

  Array entry(const Expr& x, const Axes& order) {
    const auto places = places_of(x);
    auto variable = this->variable(x);
    if (places.empty()) return variable;
    for (std::size_t i = 0; i < places.size(); ++i) variable.axes.push_back("#" + std::to_string(i));
    if (auto whole = reshaped(variable, places)) return *whole;
    return taken(std::move(variable), places, order);
  }

  /// An axis cut into several, `Q[query, head * size(d_k) + d_k]`, or several as one,
  /// `heads[floor(feature / size(d_v)), query, mod(feature, size(d_v))]`. Others keep theirs.
  std::optional<Array> reshaped(const Array& variable, const std::vector<Place>& places) const {
    Axes before, after;
    bool is_reshaped = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto some = sharing(places, i);
      if (some.empty()) return std::nullopt;
      if (i != some.back()) continue;
      const bool stays = some.size() == 1 && is_plain(places[i]);
      const auto own = stays ? places[i].axes : axes_counted(places, some);
      if (own.empty()) return std::nullopt;
      is_reshaped = is_reshaped || !stays;
      for (const std::size_t j : some) before.push_back(variable.axes[j]);
      after = joined(std::move(after), {own});
    }
    if (!is_reshaped) return std::nullopt;
    return Array{Kind::reshaped, std::move(after), variable.type, "", {in_order(variable, before)}};
  }

  /// The axes along which these places count the entries in row-major order; none where they do not.
  Axes axes_counted(const std::vector<Place>& places, const std::vector<std::size_t>& some) const {
    auto axes = places[some[0]].axes;
    const auto is_other = [&](const std::size_t i) {
      return places[i].axes != axes || places[i].values.empty() || has_operands(places[i].expr) ||
             is_plain(places[i]);
    };
    if ((some.size() > 1) == (axes.size() > 1) || std::any_of(some.begin(), some.end(), is_other)) return {};
    const auto are_counted = [&] {
      std::vector<double> all(places[some[0]].values.size(), 0.0), counted(all);
      std::iota(counted.begin(), counted.end(), 0.0);
      double count = 1.0;
      for (const std::size_t i : some) {
        const auto at = places_along(places[i].expr, axes);
        const auto length = static_cast<double>(places[i].length);
        for (std::size_t k = 0; k < all.size(); ++k) {
          const double place = std::floor(at[k]);
          all[k] = place >= 0.0 && place < length ? all[k] * length + place : no_number;
        }
        count *= length;
      }
      return static_cast<double>(all.size()) == count && all == counted;
    };
    if (!are_counted()) std::sort(axes.begin(), axes.end());
    while (!are_counted())
      if (!std::next_permutation(axes.begin(), axes.end())) return {};
    return axes;
  }

  /// Each index for itself where no two have an axis in common, else all as arrays that broadcast.
  Array taken(Array variable, const std::vector<Place>& places, const Axes& order) {
    const auto type = variable.type;
    Array result{Kind::taken, {}, type, "", {std::move(variable)}};
    std::optional<Array> valid;
    bool is_grid = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      result.indices.push_back(index_of(places[i]));
      is_grid = is_grid || sharing(places, i).size() > 1;
    }
    const auto count_of = [&](Array::Index::Kind kind) {
      return std::count_if(result.indices.begin(), result.indices.end(),
                           [&](const auto& index) { return index.kind == kind; });
    };
    const auto arrays = count_of(Array::Index::Kind::array);
    is_grid = is_grid || arrays > 1 || (arrays == 1 && count_of(Array::Index::Kind::one) > 0);
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto& index = result.indices[i];
      const bool is_one = index.kind == Array::Index::Kind::one;
      if (index.kind == Array::Index::Kind::array || (is_grid && !is_one)) {
        index.kind = Array::Index::Kind::array;
        index.part = result.parts.size();
        result.parts.push_back(index_array(places[i], order, valid));
        result.axes = joined(result.axes, {without(result.parts.back().axes, result.axes)});
      } else {
        result.axes = joined(std::move(result.axes), {places[i].axes});
      }
    }
    if (is_grid) {
      result.axes = sorted(result.axes, order);
      for (std::size_t i = 1; i < result.parts.size(); ++i)
        result.parts[i] = in_order(std::move(result.parts[i]), result.axes);
    }
    if (count_of(Array::Index::Kind::all) == static_cast<std::ptrdiff_t>(places.size())) {
      result.parts[0].axes = result.axes;
      return std::move(result.parts[0]);
    }
    if (!valid) return result;
    return chosen({std::move(*valid), as_numbers(std::move(result)), number(no_number)}, order);
  }

  static bool leaves(const Place& place) {
    return place.values.empty() || std::any_of(place.values.begin(), place.values.end(), [&](double value) {
             return !(std::floor(value) >= 0.0 && std::floor(value) < static_cast<double>(place.length));
           });
  }

  /// Whether a `where` around it makes nothing of the places that leave.
  bool counts_only_inside(const Place& place) const {
    auto inside = place.expr;
    for (const auto& condition : conditions_)
      if (is_known(condition)) inside = call("where", {condition, inside, 0.0});
    return !place.values.empty() &&
           !leaves({place.expr, {}, values_of(inside, natural(inside)), place.length});
  }

  /// As a range of places where it is one.
  static Array::Index index_of(const Place& place) {
    using Index = Array::Index;
    if (is_plain(place)) return {};
    if (leaves(place) || has_operands(place.expr) || place.axes.size() > 1)
      return {.kind = Index::Kind::array};
    const auto& at = place.values;
    const auto first = static_cast<std::ptrdiff_t>(std::floor(at[0]));
    if (place.axes.empty()) return {.kind = Index::Kind::one, .begin = first};
    const double step = at.size() > 1 ? at[1] - at[0] : 1.0;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (step == 0.0 || at[i] != at[0] + step * static_cast<double>(i) || at[i] != std::floor(at[i]))
        return {.kind = Index::Kind::array, .places = {at.begin(), at.end()}};
    if (step == 1.0 && at.size() == place.length) return {};
    return {Index::Kind::slice, first, static_cast<std::ptrdiff_t>(step), at.size()};
  }

  Array index_array(const Place& place, const Axes& order, std::optional<Array>& valid) {
    auto at = read(place.expr, order);
    const auto length = static_cast<double>(place.length);
    if (!leaves(place)) return whole(std::move(at), order);
    if (counts_only_inside(place)) {
      const auto [least, most] = std::minmax_element(place.values.begin(), place.values.end());
      if (std::floor(*least) < -length || std::floor(*most) >= length)
        at = combined("mod", {std::move(at), number(length)}, order);
      return whole(std::move(at), order);
    }
    at = line(std::move(at), "places");
    auto inside = combined(
        "and", {combined("<=", {number(0.0), at}, order), combined("<", {at, number(length)}, order)}, order);
    valid = valid ? combined("and", {*valid, std::move(inside)}, order) : std::move(inside);
    return whole(function("clip", {at, number(0.0), number(length - 1.0)}, order, at.type), order);
  }

  /// As numbers that index.
  static Array whole(Array at, const Axes& order) {
    if (at.type == Type::whole) return at;
    if (at.type == Type::real && at.name != "floor") at = function("floor", {std::move(at)}, order);
    return function("whole", {std::move(at)}, order, Type::whole);
  }

  Scope& scope_;
  const Sheet& sheet_;
  std::vector<Expr> conditions_;                ///< under which the value counts
  std::map<std::string, std::string> lengths_;  ///< of an axis: the operand that has it
  std::vector<Assignment> lines_;
};

}  // namespace

std::vector<Assignment> in_whole_arrays(Scope& scope, const Definition& definition) {
  std::vector<Assignment> lines;
  for (const auto& one : scope.without_again(definition))
    for (auto& line : Analysis(scope)(one)) lines.push_back(std::move(line));
  return lines;
}

std::vector<attn::Shape> shapes_of_reshape(const Sheet& sheet, const Definition& definition) {
  if (definition.expr->op != Op::entry) return {};
  const auto& tensor = sheet.form(definition.expr->name);
  const bool has_batch = !tensor.axes.empty() && tensor.axes.front() == "batch";
  const attn::Shape whole(tensor.shape.begin() + has_batch, tensor.shape.end());
  const auto length_of = [&](const std::string& axis) {
    return axis.starts_with('#') ? whole.at(std::stoul(axis.substr(1))) : sheet.size_of(axis);
  };
  Scope scope(sheet, true);
  const auto lines = in_whole_arrays(scope, definition);
  std::vector<attn::Shape> shapes;
  bool is_reshaped = false;
  const auto* x = &lines.back().value;
  for (; x->kind == Array::Kind::transposed || x->kind == Array::Kind::reshaped; x = &x->parts[0]) {
    is_reshaped = is_reshaped || x->kind == Array::Kind::reshaped;
    std::transform(x->axes.begin(), x->axes.end(), std::back_inserter(shapes.emplace_back()), length_of);
  }
  if (!is_reshaped || x->kind != Array::Kind::variable || lines.size() != 1) return {};
  shapes.push_back(whole);
  std::reverse(shapes.begin(), shapes.end());
  return shapes;
}

}  // namespace formula
