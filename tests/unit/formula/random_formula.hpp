#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "formula/sheet.hpp"

/// Formulas for tests, drawn at random: each has a sheet of small tensors and a resolved definition over
/// them.
namespace formula {

struct RandomFormula {
  Sheet sheet;
  Definition definition;
};

/// Draws formulas whose values do not hang on rounding: what is compared, indexed with or searched for the
/// largest of is exact, and no entry is NaN or infinite where `max` and its like would see it.
class RandomFormulas {
 public:
  /// `normal` for who moves them a little: then hardly any two tie.
  enum class Elements { quarters, normal };

  explicit RandomFormulas(unsigned seed, Elements elements = Elements::quarters)
      : elements_(elements), random_(seed) {}

  RandomFormula operator()() {
    RandomFormula result{tensors(), {"result", {}, 0.0}};
    sheet_ = &result.sheet;
    for (const auto& axis : {"head", "query", "key", "d_k", "d_v", "feature"})
      if (below(3) == 0 && result.definition.axes.size() < 3) result.definition.axes.push_back(axis);
    if (result.sheet.has_axis("batch")) result.definition.axes.push_back("batch");
    std::shuffle(result.definition.axes.begin(), result.definition.axes.end(), random_);
    const auto& axes = result.definition.axes;
    result.definition.expr = number(4, axes);
    if (chance(5) && has(axes, "query"))  // NaN where nothing is
      result.definition.expr =
          result.definition.expr + formula::entry("strongest", {Expr(2.0) * position("query") - Expr(1.0)});
    result.definition = result.sheet.resolved(result.definition);
    return result;
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool chance(std::size_t percent) { return below(100) < percent; }

  template <class T>
  T one_of(std::vector<T> all) {
    return all[below(all.size())];
  }

  double quarter() { return (static_cast<double>(below(17)) - 8.0) / 4.0; }

  Sheet tensors() {
    Sheet sheet;
    const auto length = [&](std::size_t most) { return 1 + below(most); };
    const std::size_t heads = length(3), groups = heads == 2 ? length(2) : 1, d_k = length(3);
    for (const auto& [axis, size] :
         std::vector<std::pair<std::string, std::size_t>>{{"head", heads},
                                                          {"group", groups},
                                                          {"query", length(4)},
                                                          {"key", length(4)},
                                                          {"d_k", d_k},
                                                          {"d_v", length(3)},
                                                          {"feature", heads * d_k}})
      sheet.axis(axis, size);
    const Axes batch = chance(30) ? Axes{"batch"} : Axes{};
    if (!batch.empty()) sheet.axis("batch", length(2));
    const auto of_sample = [&](Axes axes) {
      axes.insert(axes.begin(), batch.begin(), batch.end());
      return axes;
    };
    for (const auto& [name, axes] :
         std::vector<std::pair<std::string, Axes>>{{"Q", of_sample({"query", "d_k"})},
                                                   {"K", of_sample({"key", "d_k"})},
                                                   {"V", of_sample({"key", "d_v"})},
                                                   {"X", of_sample({"query", "feature"})},
                                                   {"W_O", {"feature", "d_v"}},
                                                   {"bias", {"query", "key"}},
                                                   {"Q_heads", of_sample({"head", "query", "d_k"})},
                                                   {"K_heads", of_sample({"head", "key", "d_k"})},
                                                   {"K_groups", of_sample({"group", "key", "d_k"})},
                                                   {"gain", {"d_k"}},
                                                   {"temperature=0.5/slope", {"head"}},
                                                   {"relation", {"query", "key", "d_k"}},
                                                   {"scale", {}}})
      sheet.set(name, drawn(sheet, axes));
    sheet.set("mask", mask(sheet, of_sample({"query", "key"})));
    sheet.set("is_real", mask(sheet, {"key"}));
    sheet.compute({"scores",
                   {"query", "key"},
                   over("sum", "d_k", entry("Q", "query", "d_k") * entry("K", "key", "d_k"))});
    sheet.compute(
        {"shifted", {"query", "key"}, entry("scores", "query", "key") + entry("bias", "query", "key")});
    sheet.compute({"strongest", {"query"}, over("argmax", "key", entry("shifted", "query", "key"))});
    return sheet;
  }

  static Expr entry(const std::string& tensor, const std::string& first, const std::string& second) {
    return formula::entry(tensor, {position(first), position(second)});
  }

  static attn::Shape shape_of(const Sheet& sheet, const Axes& axes) {
    attn::Shape shape;
    for (const auto& axis : axes) shape.push_back(sheet.size_of(axis));
    return shape;
  }

  View drawn(const Sheet& sheet, const Axes& axes) {
    auto numbers = std::make_shared<Numbers>(shape_of(sheet, axes), 0.0);
    std::normal_distribution<double> normal;
    for (auto& number : *numbers) number = elements_ == Elements::normal ? normal(random_) : quarter();
    return view_of(axes, std::shared_ptr<const Numbers>(numbers));
  }

  View mask(const Sheet& sheet, const Axes& axes) {
    auto truths = std::make_shared<Truths>(shape_of(sheet, axes), false);
    for (auto& truth : *truths) truth = chance(60);
    return view_of(axes, std::shared_ptr<const Truths>(truths));
  }

  // Exact: quarters, whole numbers, their sums and products.

  Expr exact(std::size_t depth, const Axes& axes) {
    if (depth == 0 || chance(20)) return leaf(axes);
    switch (below(9)) {
      case 0:
        return -exact(depth - 1, axes);
      case 1:
        return call(one_of<std::string>({"max", "min"}), {exact(depth - 1, axes), exact(depth - 1, axes)});
      case 2:
        return call("where", {truth(depth - 1, axes), exact(depth - 1, axes), exact(depth - 1, axes)});
      case 3:
        return call(one_of(with_rounding({"floor", "abs", "relu"})), {exact(depth - 1, axes)});
      case 4:
        return call("mod", {exact(depth - 1, axes), Expr(1.0 + static_cast<double>(below(3)))});
      case 5: {
        const auto axis = any_axis();
        return over(one_of<std::string>({"sum", "max", "min", "argmax"}), axis,
                    exact(depth - 1, with(axes, axis)));
      }
      case 6:
        return truth(depth - 1, axes);
      default:
        return call(one_of<std::string>({"+", "-", "*"}), {exact(depth - 1, axes), exact(depth - 1, axes)});
    }
  }

  Expr truth(std::size_t depth, const Axes& axes) {
    if (depth == 0 || chance(20)) return tensor(chance(50) ? "mask" : "is_real", axes);
    switch (below(4)) {
      case 0:
        return call(one_of<std::string>({"and", "or"}), {truth(depth - 1, axes), truth(depth - 1, axes)});
      case 1:
        return call("not", {truth(depth - 1, axes)});
      default:
        return call(one_of<std::string>({"<", "<=", "="}), {exact(depth - 1, axes), exact(depth - 1, axes)});
    }
  }

  Expr leaf(const Axes& axes) {
    switch (below(8)) {
      case 0:
        return Expr(quarter());
      case 1:
        return size(any_axis());
      case 2:
        return axes.empty() ? Expr(2.0) : position(one_of(axes));
      default:
        return tensor(one_of<std::string>({"Q", "K", "V", "X", "W_O", "bias", "Q_heads", "K_heads",
                                           "K_groups", "gain", "temperature=0.5/slope", "relation", "scale",
                                           "mask", "scores", "shifted", "strongest"}),
                      axes);
    }
  }

  std::string any_axis() {
    return one_of<std::string>({"head", "group", "query", "key", "d_k", "d_v", "feature"});
  }

  static Axes with(Axes axes, const std::string& axis) {
    if (!has(axes, axis)) axes.push_back(axis);
    return axes;
  }

  Expr tensor(const std::string& name, const Axes& axes) {
    std::vector<Expr> indices;
    for (const auto& axis : sheet_->tensor(name).axes) indices.push_back(index(axis, axes));
    return formula::entry(name, std::move(indices));
  }

  /// A place along `axis` that `axes` tell; seldom one that is out of it.
  Expr index(const std::string& axis, const Axes& axes) {
    const auto length = sheet_->size_of(axis);
    if (axis == "batch") return position(axis);
    if (has(axes, axis) && chance(80)) return position(axis);
    if (axis == "feature" && has(axes, "head") && has(axes, "d_k"))
      return chance(50) ? position("head") * size("d_k") + position("d_k")
                        : position("d_k") + size("d_k") * position("head");
    if (axis == "head" && has(axes, "feature")) return call("floor", {position("feature") / size("d_k")});
    if (axis == "d_k" && has(axes, "feature")) return call("mod", {position("feature"), size("d_k")});
    if (axis == "group" && has(axes, "head"))
      return call("floor", {position("head") / (size("head") / size("group"))});
    if (axis == "key" && has(axes, "query") && chance(30)) return name("strongest");
    const Expr place = axes.empty() ? Expr(static_cast<double>(below(length))) : position(one_of(axes));
    if (axes.empty() || chance(20)) return Expr(static_cast<double>(below(length)));
    if (sheet_->size_of(place->name) == length) return chance(50) ? place : size(axis) - Expr(1.0) - place;
    return call("mod", {place + Expr(static_cast<double>(below(3))), size(axis)});
  }

  /// These functions and, where nobody moves elements a little, those that round.
  std::vector<std::string> with_rounding(std::vector<std::string> functions) const {
    if (elements_ == Elements::quarters)
      functions.insert(functions.end(), {"float32", "float16", "bfloat16"});
    return functions;
  }

  // Any number.

  Expr number(std::size_t depth, const Axes& axes) {
    if (depth == 0 || chance(5)) return leaf(axes);
    switch (below(16)) {
      case 0:
        return call(one_of<std::string>({"tanh", "sigmoid", "relu", "gelu", "neg", "abs", "erf"}),
                    {number(depth - 1, axes)});
      case 1:
        return call(one_of(with_rounding({"sin", "cos", "floor"})), {exact(depth - 1, axes)});
      case 2:
        return call("exp", {call("tanh", {number(depth - 1, axes)})});
      case 3:
        return call(one_of<std::string>({"sqrt", "log"}), {positive(depth - 1, axes)});
      case 4:
        return number(depth - 1, axes) /
               (chance(50) ? positive(depth - 1, axes) : call("sqrt", {size(any_axis())}));
      case 5:
        return call("where", {truth(depth - 1, axes), number(depth - 1, axes), number(depth - 1, axes)});
      case 6:
        return chance(50) ? call("^", {number(depth - 1, axes), Expr(1.0 + static_cast<double>(below(3)))})
                          : call("^", {positive(depth - 1, axes), Expr(quarter())});
      case 7: {
        const auto axis = any_axis();
        return over(one_of<std::string>({"sum", "mean", "max", "min", "log_sum_exp"}), axis,
                    number(depth - 1, with(axes, axis)));
      }
      case 8:
      case 9: {
        const auto axis = any_axis();
        return over("sum", axis, number(depth - 1, with(axes, axis)) * number(depth - 1, with(axes, axis)));
      }
      case 10:
        if (axes.empty()) return exact(depth, axes);
        return over(one_of<std::string>({"softmax", "softmax", "layer_norm"}), one_of(axes),
                    tame(depth - 1, axes));
      case 11:
        if (axes.empty()) return exact(depth, axes);
        return over("softmax", one_of(axes),
                    call("where", {truth(depth - 1, axes), tame(depth - 1, axes),
                                   Expr(-std::numeric_limits<double>::infinity())}));
      case 12:
        return exact(depth, axes);
      case 13:
        return beyond(axes);
      case 14:
        return computed_again(depth - 1, axes);
      default:
        return call(one_of<std::string>({"+", "-", "*"}), {number(depth - 1, axes), number(depth - 1, axes)});
    }
  }

  /// A read before the beginning of a tensor, where it does not count.
  Expr beyond(const Axes& axes) {
    const std::map<std::string, std::string> along = {
        {"d_k", "gain"}, {"head", "temperature=0.5/slope"}, {"query", "strongest"}};
    for (const auto& axis : axes) {
      if (along.count(axis) == 0) continue;
      const auto place = position(axis) - Expr(1.0 + static_cast<double>(below(2)));
      return call("where",
                  {call("<=", {Expr(0.0), place}), formula::entry(along.at(axis), {place}), leaf(axes)});
    }
    return leaf(axes);
  }

  Expr computed_again(std::size_t depth, const Axes& axes) {
    if (!has(axes, "query") || !has(axes, "key")) return leaf(axes);
    return Expr(Node{.op = Op::again,
                     .name = "shifted",
                     .parts = {exact(depth, sheet_->tensor("Q").axes)},
                     .changed = {"Q"}});
  }

  /// Exact or small: shares of large numbers hang on their rounding.
  Expr tame(std::size_t depth, const Axes& axes) {
    return chance(50) ? exact(depth, axes) : call("tanh", {number(depth, axes)});
  }

  Expr positive(std::size_t depth, const Axes& axes) {
    return call("abs", {number(depth, axes)}) + Expr(1.0);
  }

  Elements elements_;
  std::mt19937 random_;
  Sheet* sheet_ = nullptr;
};

}  // namespace formula
