#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "formula/functions.hpp"
#include "formula/numpy.hpp"
#include "formula/whole_arrays.hpp"

namespace formula {

namespace xtensor {

namespace {

using Kind = Array::Kind;
using Type = Array::Type;

using enum Code::Binding;

Code number_text(double number) {
  if (std::isnan(number)) return {"lab::nan"};
  if (std::isinf(number)) return number < 0.0 ? Code{"-lab::inf", unary} : Code{"lab::inf"};
  auto text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text, std::signbit(number) ? unary : primary};
}

std::string declaration(const std::string& name, Type type) {
  return fmt::format("const xt::xarray<{}> {} = ", type == Type::truth ? "bool" : "double", name);
}

/// A formula in whole arrays. Nothing comes of what xtensor has no word for.
class WholeArrays {
 public:
  WholeArrays(Scope& scope, std::vector<std::string>& lines)
      : sheet_(scope.sheet()), scope_(scope), lines_(lines) {}

  bool write(const Assignment& line) {
    const auto text = read_alone(line.value);
    if (!is_possible_ || line.value.number) return false;
    lines_.push_back(declaration(line.name, line.value.type) + text.text + ";");
    return true;
  }

 private:
  Code beyond() {
    is_possible_ = false;
    return {};
  }

  Code read(const Array& x) {
    switch (x.kind) {
      case Kind::number:
        return number_text(*x.number);
      case Kind::variable:
        return {x.name};
      case Kind::positions:
        return {fmt::format("xt::arange<double>({})", sheet_.size_of(x.axes[0]))};
      case Kind::function:
        return function(x, x.axes);
      case Kind::reduction:
        return reduced(x, false);
      case Kind::product:
        return matrix_product(x);
      case Kind::transposed:
        return transposed(x);
      case Kind::reshaped:
      case Kind::taken:
        return {named(read_alone(x), x.type)};
      case Kind::broadcast:
        return broadcast(x);
      case Kind::sums:
      case Kind::joined:
      case Kind::stacked:
        break;
    }
    return beyond();
  }

  /// The name of it, on a line of its own where it has none. Some have one wherever they stand: in an
  /// expression that broadcasts them, xtensor reads the wrong entries, or crashes.
  std::string variable(const Array& x) {
    const auto text = read(x).text;
    const bool has_line = x.kind == Kind::variable || x.kind == Kind::reduction || x.kind == Kind::taken ||
                          x.kind == Kind::reshaped;
    return has_line ? text : named({text}, x.type);
  }

  /// What stands for a whole line.
  Code read_alone(const Array& x) {
    if (x.kind == Kind::reduction) return reduction(x, false);
    if (x.kind == Kind::taken) return taken(x);
    if (x.kind != Kind::reshaped) return read(x);
    return {fmt::format("xt::reshape_view({}, {{{}}})", variable(x.parts[0]),
                        fmt::join(sheet_.shape_of(x.axes), ", "))};
  }

  std::string named(const Code& text, Type type, const std::string& wish = "part") {
    const auto name = scope_.fresh(wish);
    lines_.push_back(declaration(name, type) + text.text + ";");
    return name;
  }

  /// Whether xtensor may reduce or broadcast it as an expression: with views or reductions in it the result
  /// is wrong, or it crashes.
  static bool is_flat(const Array& x) {
    return x.kind == Kind::number || x.kind == Kind::variable || x.kind == Kind::positions ||
           (x.kind == Kind::function && std::all_of(x.parts.begin(), x.parts.end(), [&](const Array& part) {
              return is_flat(part) && fits(part.axes, x.axes);
            }));
  }

  Code flat(const Array& x) { return is_flat(x) ? read(x) : Code{variable(x)}; }

  Code as_numbers(const Array& x, Code text) {
    if (x.type != Type::truth || x.number) return text;
    return {"xt::cast<double>(" + text.text + ")"};
  }

  /// So that it broadcasts to `target`.
  Code fit(const Array& x, const Axes& target) {
    if (fits(x.axes, target)) return read(x);
    if (x.kind == Kind::reduction && x.name != "argmax" && fits(x.parts[0].axes, target))
      return reduced(x, true);
    if (is_of_one_operand(x)) return function(x, target);
    const auto index = signs_along(x.axes, target, "xt::all()", "xt::newaxis()");
    // A view of xt::arange has the wrong entries, too.
    const auto whole = x.kind == Kind::positions ? named(read(x), x.type, x.axes[0]) : variable(x);
    return {fmt::format("xt::view({}, {})", whole, fmt::join(index, ", "))};
  }

  Code function(const Array& x, const Axes& axes) {
    if (x.number)
      return x.name == "sqrt" ? Code{fmt::format("std::sqrt({})", read(x.parts[0]).text)}
                              : number_text(*x.number);
    const auto& f = x.name;
    if (f == "mod" || f == "clip" || f == "whole" || rounds_to_format(f)) return beyond();
    std::vector<Code> p;
    const bool is_logic = f == "and" || f == "or" || f == "not" || f == "!=";
    for (std::size_t i = 0; i < x.parts.size(); ++i) {
      const auto& part = x.parts[i];
      const bool stays = is_logic || (f == "where" && (i == 0 || x.type == Type::truth));
      p.push_back(stays ? fit(part, axes) : as_numbers(part, fit(part, axes)));
      if (part.type == Type::truth && part.number) return beyond();
    }
    if (f == "numbers") return p[0];
    if (f == "//") return {fmt::format("xt::floor({})", written(Language::xtensor, "/", p).text)};
    if (f == "^" && x.parts[1].number && *x.parts[1].number == 2.0)
      return {fmt::format("xt::square({})", p[0].text)};
    return written(Language::xtensor, f, p);
  }

  Code reduced(const Array& x, bool keeps) {
    static const std::map<std::string, const char*> wishes = {
        {"max", "largest"}, {"min", "smallest"}, {"argmax", "place"}, {"sum", "total"}};
    const auto found = wishes.find(x.name);
    return {named(reduction(x, keeps), Type::real, found == wishes.end() ? x.name : found->second)};
  }

  Code reduction(const Array& x, bool keeps) {
    const auto& part = x.parts[0];
    const auto inner = as_numbers(part, flat(part));
    const auto places = places_in(part.axes, x.over);
    const bool is_whole = places.size() == part.axes.size() && !keeps;
    if (x.name == "argmax") {  // xtensor 0.24.3 fails on what has no name
      const bool has_name = part.kind == Kind::variable && part.type != Type::truth;
      return {fmt::format("xt::cast<double>(xt::argmax({}{}))",
                          has_name ? inner.text : named(inner, Type::real, "entries"),
                          is_whole ? "" : fmt::format(", {}", places[0]))};
    }
    const auto along = is_whole ? "" : fmt::format(", {{{}}}", fmt::join(places, ", "));
    const auto* kept = keeps ? ", xt::keep_dims" : "";
    if (x.name == "var") {
      const auto name = variable(part);
      const auto mean =
          named({fmt::format("xt::mean({}, {{{}}}, xt::keep_dims)", name, fmt::join(places, ", "))},
                Type::real, "mean");
      return {fmt::format("xt::mean(xt::square({} - {}){}{})", name, mean, along, kept)};
    }
    const auto* space = x.name == "max" || x.name == "min" ? "lab::a" : "xt::";
    return {fmt::format("{}{}({}{}{})", space, x.name, inner.text, along, kept)};
  }

  Code matrix_product(const Array& x) {
    const auto& a = x.parts[0];
    const auto& b = x.parts[1];
    const bool is_flat = a.axes.size() <= 2 && b.axes.size() <= 2;
    if (!is_flat && (a.axes.size() == 1 || b.axes.size() == 1)) return beyond();
    if (a.axes.size() + b.axes.size() == 2)  // dot makes an axis of length 1 of it
      return {fmt::format("xt::sum({} * {})", matrix(a), matrix(b))};
    return {fmt::format("{}({}, {})", is_flat ? "xt::linalg::dot" : "lab::matmul", matrix(a), matrix(b))};
  }

  /// BLAS wants numbers in memory.
  std::string matrix(const Array& x) {
    if (x.type == Type::truth) return as_numbers(x, read(x)).text;
    return x.kind == Kind::transposed ? transposed(x).text : variable(x);
  }

  Code transposed(const Array& x) {
    const auto& part = x.parts[0];
    const auto places = places_in(part.axes, x.axes);
    if (places.size() == 2) return {fmt::format("xt::transpose({})", variable(part))};
    return {fmt::format("xt::transpose({}, {{{}}})", variable(part), fmt::join(places, ", "))};
  }

  Code taken(const Array& x) {
    using Kind = Array::Index::Kind;
    if (is_grid(x)) return beyond();
    std::vector<std::string> index;
    for (const auto& one : x.indices) {
      const auto end = one.begin + one.step * static_cast<std::ptrdiff_t>(one.count);
      const bool is_long = one.kind == Kind::array && (one.places.empty() || one.places.size() > 64);
      if (is_long || one.step < 0) return beyond();
      index.push_back(one.kind == Kind::all     ? "xt::all()"
                      : one.kind == Kind::array ? fmt::format("xt::keep({})", fmt::join(one.places, ", "))
                      : one.kind == Kind::one   ? fmt::format("{}", one.begin)
                      : one.step == 1           ? fmt::format("xt::range({}, {})", one.begin, end)
                                      : fmt::format("xt::range({}, {}, {})", one.begin, end, one.step));
    }
    return {fmt::format("xt::view({}, {})", variable(x.parts[0]), fmt::join(index, ", "))};
  }

  /// Whether indices share axes, and do not stand for themselves.
  static bool is_grid(const Array& x) {
    const auto has_axes = [](const Array::Index& index) { return index.kind != Array::Index::Kind::one; };
    return static_cast<std::size_t>(std::count_if(x.indices.begin(), x.indices.end(), has_axes)) !=
               x.axes.size() ||
           (x.parts.size() > 2);
  }

  Code broadcast(const Array& x) {
    const auto& part = x.parts[0];
    const auto shape = sheet_.shape_of(x.axes);
    if (part.number)
      return {
          fmt::format("{} * xt::ones<double>({{{}}})", bound(read(part), product), fmt::join(shape, ", ")),
          product};
    const auto whole =
        is_flat(part) && fits(part.axes, x.axes) ? read(part).text : named(fit(part, x.axes), part.type);
    return {fmt::format("xt::broadcast({}, {{{}}})", whole, fmt::join(shape, ", "))};
  }

  const Sheet& sheet_;
  Scope& scope_;
  std::vector<std::string>& lines_;
  bool is_possible_ = true;
};

/// A formula as loops over the indices of its entries.
class Loops {
 public:
  explicit Loops(const Scope& scope) : scope_(scope), sheet_(scope.sheet()) {}

  /// Steps that are computed together, one place after the other.
  std::vector<std::string> operator()(const Recurrence& together) const {
    std::vector<std::string> lines, inner;
    for (const auto& step : together.steps) add(step, lines, inner, together.axis, "  ");
    const auto place = place_of(together.axis);
    const auto length = sheet_.size_of(together.axis);
    lines.push_back(together.is_reversed
                        ? fmt::format("for (long {0} = {1}; {0}-- > 0;) {{", place, length)
                        : fmt::format("for (long {0} = 0; {0} < {1}; ++{0}) {{", place, length));
    lines.insert(lines.end(), inner.begin(), inner.end());
    lines.emplace_back("}");
    return lines;
  }

  std::vector<std::string> operator()(const Definition& definition) const {
    std::vector<std::string> lines;
    add(definition, lines, lines, "", "");
    return lines;
  }

 private:
  /// The array of a step, and the loops that fill it: along all of its axes but the one around them.
  void add(const Definition& step, std::vector<std::string>& arrays, std::vector<std::string>& loops,
           const std::string& around, std::string margin) const {
    const auto name = identifier(step.name), text = read(step.expr).text;
    const auto* element = is_truth(step.expr) ? "bool" : "double";
    const auto kept = scope_.kept(step.axes);
    if (kept.empty())
      return arrays.push_back(fmt::format("const xt::xarray<{}> {}({});", element, name, text));
    arrays.push_back(fmt::format("xt::xarray<{0}> {1} = xt::zeros<{0}>({{{2}}});", element, name,
                                 fmt::join(sheet_.shape_of(kept), ", ")));
    for (const auto& axis : kept) {
      if (axis == around) continue;
      loops.push_back(fmt::format("{0}for (long {1} = 0; {1} < {2}; ++{1})", margin, place_of(axis),
                                  sheet_.size_of(axis)));
      margin += "  ";
    }
    loops.push_back(fmt::format("{}{}({}) = {};", margin, name, places_along(kept), text));
  }

  std::string places_along(const Axes& axes) const {
    std::vector<std::string> places;
    for (const auto& axis : axes) places.push_back(place_of(axis));
    return fmt::format("{}", fmt::join(places, ", "));
  }

  /// The variable that counts along an axis; no tensor has its name.
  std::string place_of(const std::string& axis) const {
    auto name = identifier(axis);
    const auto is_tensor = [&](const auto& tensor) { return identifier(tensor.first) == name; };
    while (std::any_of(sheet_.tensors().begin(), sheet_.tensors().end(), is_tensor)) name += "_";
    return name;
  }

  Code read(const Expr& x) const {
    switch (x->op) {
      case Op::number:
        return number_text(x->number);
      case Op::size:
        return number_text(static_cast<double>(sheet_.size_of(x->name)));
      case Op::position:
        return {scope_.drops(x->name) ? "0.0" : place_of(x->name)};
      case Op::entry:
        return entry(x);
      case Op::call:
        return called(x);
      default:
        return over_axis(x);
    }
  }

  Code entry(const Expr& x) const {
    std::vector<std::string> places;
    bool is_plain = true;
    const auto& axes = scope_.tensor(x->name).axes;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (scope_.drops(axes[i])) continue;
      is_plain = is_plain && x->parts[i]->op == Op::position && !scope_.drops(x->parts[i]->name);
      places.push_back(read(x->parts[i]).text);
    }
    const auto name = identifier(x->name);
    if (is_plain) return {fmt::format("{}({})", name, fmt::join(places, ", "))};
    return {fmt::format("lab::at({}, {})", name, fmt::join(places, ", "))};
  }

  /// Whether C++ may take it for a whole number, which it divides without a rest.
  bool may_be_whole(const Expr& x) const {
    if (x->op == Op::position || is_truth(x)) return true;
    if (x->op == Op::entry) return scope_.type_of(x->name) == Type::truth;
    return x->op == Op::call && std::any_of(x->parts.begin(), x->parts.end(),
                                            [this](const Expr& part) { return may_be_whole(part); });
  }

  Code called(const Expr& x) const {
    if (const auto whole = expanded(x)) return read(*whole);
    std::vector<Code> p;
    for (const auto& part : x->parts) p.push_back(read(part));
    if (x->name == "where")
      return {fmt::format("{} ? {} : {}", bound(p[0], either), bound(p[1], either), bound(p[2], either)),
              choice};
    if (x->name == "/" && may_be_whole(x->parts[0])) p[0] = {"1.0 * " + bound(p[0], unary), product};
    return written(Language::entries, x->name, p);
  }

  Code over_axis(const Expr& x) const {
    if (const auto whole = expanded(x)) return read(*whole);
    return {fmt::format("lab::{}({}, [&](long {}) -> double {{ return {}; }})", x->name,
                        sheet_.size_of(x->axis), place_of(x->axis), read(x->parts[0]).text)};
  }

  const Scope& scope_;
  const Sheet& sheet_;
};

}  // namespace

}  // namespace xtensor

std::vector<std::string> xtensor_lines(const Sheet& sheet, const Definition& definition, bool drops_batch) {
  Scope scope(sheet, drops_batch, definition.name + "_");
  if (const auto* together = sheet.recurrence_of(definition.name))
    return together->steps.front().name == definition.name ? xtensor::Loops(scope)(*together)
                                                           : std::vector<std::string>();
  std::vector<std::string> all;
  for (const auto& one : scope.without_again(definition)) {
    std::vector<std::string> lines;
    xtensor::WholeArrays text(scope, lines);
    bool is_written = true;
    for (const auto& line : in_whole_arrays(scope, one)) is_written = is_written && text.write(line);
    if (!is_written) lines = xtensor::Loops(scope)(one);
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

}  // namespace formula
