#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "formula/functions.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

using attn::Index;
using attn::Worked;

/// A place along each axis; of an axis that is there twice the last one counts.
class Places {
 public:
  Places(const Axes& axes, const Index& at) {
    for (std::size_t i = 0; i < axes.size(); ++i) places_.emplace_back(axes[i], at[i]);
  }

  std::size_t at(std::string_view axis) const {
    const auto found = std::find_if(places_.rbegin(), places_.rend(),
                                    [axis](const auto& place) { return place.first == axis; });
    if (found == places_.rend()) throw Error(0, "a position along an axis that the entry does not have");
    return found->second;
  }

  Places with(std::string_view axis, std::size_t place) const {
    auto more = *this;
    more.places_.emplace_back(axis, place);
    return more;
  }

 private:
  std::vector<std::pair<std::string_view, std::size_t>> places_;
};

/// How an entry of a formula comes about.
class Working {
 public:
  Working(const Sheet& sheet, const Sheet::IsNamed& is_named) : sheet_(sheet), is_named_(is_named) {}

  Worked operator()(const Expr& x, const Places& at) const {
    if (x->is_known) return value_alone(x, free_axes(x), at);
    switch (x->op) {
      case Op::number:
        return x->number;
      case Op::size:
        return static_cast<double>(sheet_.size_of(x->name));
      case Op::position:
        return static_cast<double>(at.at(x->name));
      case Op::entry:
        return entry(x, at);
      case Op::call:
        return called(x, at);
      case Op::over:
        return over_axis(x, at);
      default:
        return value_alone(x, sheet_.form(x->name).axes, at);
    }
  }

 private:
  Worked entry(const Expr& x, const Places& at) const {
    const auto& form = sheet_.form(x->name);
    Index index;
    for (std::size_t i = 0; i < form.axes.size(); ++i) {
      const double place = std::floor((*this)(x->parts[i], at).value());
      if (!(place >= 0.0 && place < static_cast<double>(form.shape[i])))
        return std::numeric_limits<double>::quiet_NaN();
      index.push_back(static_cast<std::size_t>(place));
    }
    const bool is_unnamed = is_named_ && !is_named_(x->name);
    const auto* definition = is_unnamed ? sheet_.definition_of(x->name) : nullptr;
    if (definition != nullptr && !form.is_whole)
      return (*this)(definition->expr, Places(definition->axes, index));
    const auto& tensor = sheet_.tensor(x->name);
    if (is_unnamed && tensor.is_whole) return tensor.at(index);
    return Worked({x->name, index, tensor.is_truth || tensor.is_whole}, tensor.at(index));
  }

  Worked called(const Expr& x, const Places& at) const {
    const auto& f = x->name;
    if (f == "where") return (*this)(x->parts[(*this)(x->parts[0], at).value() != 0.0 ? 1 : 2], at);
    if (f == "*") return Worked::product(terms_of("*", x, at));
    if (f == "+") return Worked::sum(terms_of("+", x, at));
    if (f == "max" && (is_maximum(x->parts[0]) || is_maximum(x->parts[1])))
      return attn::largest(choices_of(x, at));
    std::vector<Worked> p;
    for (const auto& part : x->parts) p.push_back((*this)(part, at));
    if (f == "=")
      return Worked::product({Worked::call("<=", {p[0], p[1]}), Worked::call("<=", {p[1], p[0]})});
    if (f == "and") return Worked::product(std::move(p));
    if (f == "or") return Worked::call("max", std::move(p));
    if (f == "not") return Worked(1.0) - p[0];
    if (f == "abs") return Worked::call("max", {p[0], -p[0]});
    if (f == "mod") return p[0] - Worked::product({p[1], Worked::call("floor", {p[0] / p[1]})});
    if (Worked::has_function(f)) return Worked::call(f, std::move(p));
    return (*this)(expanded(x).value(), at);
  }

  /// x + y + z and x · y · z as one sum or product.
  std::vector<Worked> terms_of(const std::string& f, const Expr& x, const Places& at) const {
    if (!is_call(x, f)) return {(*this)(x, at)};
    auto terms = terms_of(f, x->parts[0], at);
    if (f == "+" && is_nothing(x->parts[1], at)) return terms;
    if (f == "+" && is_nothing(x->parts[0], at)) terms.clear();
    terms.push_back((*this)(x->parts[1], at));
    return terms;
  }

  /// What `where` leaves out of a sum: a 0, or a sum of them.
  bool is_nothing(const Expr& x, const Places& at) const {
    if (x->op != Op::call) return false;
    if (x->name == "+") return is_nothing(x->parts[0], at) && is_nothing(x->parts[1], at);
    if (x->name != "where") return false;
    const auto& chosen = x->parts[(*this)(x->parts[0], at).value() != 0.0 ? 1 : 2];
    return is_number(chosen, 0.0) || is_nothing(chosen, at);
  }

  Worked over_axis(const Expr& x, const Places& at) const {
    const auto length = sheet_.size_of(x->axis);
    if (x->name == "softmax" || x->name == "unguarded_softmax") {
      const auto& operand = x->parts[0];
      const bool is_divided = is_call(operand, "/") && operand->parts[1]->op == Op::number;
      const auto& shared_out = is_divided ? operand->parts[0] : operand;
      const double divisor = is_divided ? operand->parts[1]->number : 1.0;
      const auto score = [&](const Index& place) { return (*this)(shared_out, at.with(x->axis, place[0])); };
      if (x->name == "unguarded_softmax" && sees_nothing(score, length))
        return std::numeric_limits<double>::quiet_NaN();
      if ((*this)(shared_out, at).value() == -std::numeric_limits<double>::infinity()) return 0.0;
      return attn::worked_softmax(attn::WorkedOut(score), length, divisor)({at.at(x->axis)});
    }
    if (x->name == "log_sum_exp") return log_sum_exp(x, at);
    if (x->name == "entropy") return attn::worked_entropy(along(x, at));
    if (x->name == "layer_norm") return normed(x, at);
    if (x->name == "sum") return Worked::sum(along(x, at));
    if (x->name == "max") return attn::largest(choices_of(x, at));
    if (x->name == "min") return Worked::call("min", along(x, at));
    if (x->name == "argmax") return attn::argmax(along(x, at));
    return (*this)(expanded(x).value(), at);
  }

  static bool is_maximum(const Expr& x) { return x->op == Op::over && x->name == "max"; }

  /// What a maximum is chosen from, that of a maximum in it with the rest; without −∞ where there is more.
  std::vector<Worked> choices_of(const Expr& x, const Places& at) const {
    std::vector<Worked> all;
    if (is_maximum(x)) all = along(x, at);
    for (std::size_t i = 0; !is_maximum(x) && i < x->parts.size(); ++i) {
      auto more = is_maximum(x->parts[i]) ? along(x->parts[i], at) : std::vector{(*this)(x->parts[i], at)};
      std::move(more.begin(), more.end(), std::back_inserter(all));
    }
    std::vector<Worked> choices;
    for (auto& one : all)
      if (one.value() != -std::numeric_limits<double>::infinity()) choices.push_back(std::move(one));
    if (choices.empty()) choices.emplace_back(-std::numeric_limits<double>::infinity());
    return choices;
  }

  /// Without the maximum, unless a term would be too large.
  Worked log_sum_exp(const Expr& x, const Places& at) const {
    constexpr double most = 700.0, infinity = std::numeric_limits<double>::infinity();
    std::vector<Worked> terms;
    double largest = -infinity;
    for (auto& one : along(x, at)) {
      if (one.value() == -infinity) continue;
      largest = std::max(largest, one.value());
      terms.push_back(Worked::call("exp", {std::move(one)}));
    }
    if (terms.empty()) return -infinity;
    const bool fits = -most < largest && largest < most;
    return fits ? Worked::call("log", {Worked::sum(std::move(terms))}) : (*this)(expanded(x).value(), at);
  }

  /// Mean and variance of the row as numbers.
  Worked normed(const Expr& x, const Places& at) const {
    constexpr double epsilon = 1e-5;
    const auto row = along(x, at);
    const auto mean_of_row = [&](const auto& term) {
      double sum = 0.0;
      for (const auto& one : row) sum += term(one.value());
      return sum / static_cast<double>(row.size());
    };
    const double mean = mean_of_row([](double number) { return number; });
    const double variance = mean_of_row([mean](double number) { return (number - mean) * (number - mean); });
    const auto deviation = Worked::call("sqrt", {Worked::sum({Worked(variance), Worked(epsilon)})});
    return (row[at.at(x->axis)] - Worked(mean)) / deviation;
  }

  static bool sees_nothing(const attn::WorkedOut& score, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i)
      if (score({i}).value() != -std::numeric_limits<double>::infinity()) return false;
    return true;
  }

  std::vector<Worked> along(const Expr& x, const Places& at) const {
    std::vector<Worked> all;
    for (std::size_t i = 0; i < sheet_.size_of(x->axis); ++i)
      all.push_back((*this)(x->parts[0], at.with(x->axis, i)));
    return all;
  }

  /// Of a step that was computed again there is no tensor whose entries could be named.
  Worked value_alone(const Expr& x, const Axes& axes, const Places& at) const {
    Index index;
    for (const auto& axis : axes) index.push_back(at.at(axis));
    return sheet_.value({x->name, axes, x}).at(index);
  }

  const Sheet& sheet_;
  const Sheet::IsNamed& is_named_;
};

}  // namespace

Worked Sheet::worked(const Definition& definition, const Index& at, const IsNamed& is_named) const {
  return Working(*this, is_named)(definition.expr, Places(definition.axes, at));
}

}  // namespace formula
