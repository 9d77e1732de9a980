#include "formula/expression.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "formula/functions.hpp"

namespace formula {

std::size_t place_in(const Axes& axes, const std::string& axis) {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
}

bool has(const Axes& axes, const std::string& axis) {
  return place_in(axes, axis) < axes.size();
}

Axes joined(Axes axes, std::initializer_list<Axes> more) {
  for (const auto& some : more) axes.insert(axes.end(), some.begin(), some.end());
  return axes;
}

Expr::Expr(double number) : node_(std::make_shared<const Node>(Node{.op = Op::number, .number = number})) {}
Expr::Expr(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}

Expr name(std::string name) {
  return Expr(Node{.op = Op::name, .name = std::move(name)});
}

Expr position(std::string axis) {
  return Expr(Node{.op = Op::position, .name = std::move(axis)});
}

std::vector<Expr> positions(const Axes& axes) {
  std::vector<Expr> all;
  for (const auto& axis : axes) all.push_back(position(axis));
  return all;
}

Expr size(std::string axis) {
  return Expr(Node{.op = Op::size, .name = std::move(axis)});
}

Expr entry(std::string tensor, std::vector<Expr> indices) {
  return Expr(Node{.op = Op::entry, .name = std::move(tensor), .parts = std::move(indices)});
}

Expr call(std::string function, std::vector<Expr> parts) {
  return Expr(Node{.op = Op::call, .name = std::move(function), .parts = std::move(parts)});
}

Expr over(std::string function, std::string axis, Expr part) {
  return Expr(
      Node{.op = Op::over, .name = std::move(function), .axis = std::move(axis), .parts = {std::move(part)}});
}

bool same(const Expr& x, const Expr& y) {
  if (&*x == &*y) return true;
  return x->op == y->op && x->number == y->number && x->name == y->name && x->axis == y->axis &&
         x->changed == y->changed &&
         std::equal(x->parts.begin(), x->parts.end(), y->parts.begin(), y->parts.end(), same);
}

Expr with_parts(const Expr& x, const std::function<Expr(const Expr& part)>& change) {
  std::optional<Node> changed;
  for (std::size_t i = 0; i < x->parts.size(); ++i) {
    auto part = change(x->parts[i]);
    if (!changed && &*part == &*x->parts[i]) continue;
    if (!changed) changed = *x;
    changed->parts[i] = std::move(part);
  }
  return changed ? Expr(*std::move(changed)) : x;
}

namespace {

/// Whether `x` without its axis `own` stays free of `axis` at those positions.
bool leaves_free(const Expr& x, const std::map<std::string, Expr>& positions, const std::string& own,
                 const std::string& axis) {
  const auto free = free_axes(x);
  return std::none_of(free.begin(), free.end(), [&](const std::string& one) {
    const auto found = positions.find(one);
    return one != own && (found == positions.end() ? one == axis : depends_on(found->second, axis));
  });
}

/// softmax(key) x at another position along key: along the axis of that position, or else written out.
Expr at_other_position(const Expr& x, const std::map<std::string, Expr>& positions) {
  const auto& place = positions.at(x->axis);
  if (place->op != Op::position || !leaves_free(x->parts[0], positions, x->axis, place->name))
    return at_positions(expanded(x).value(), positions);
  return edited(with_parts(x, [&](const Expr& part) { return at_positions(part, positions); }),
                [&](Node& node) { node.axis = place->name; });
}

}  // namespace

Expr at_positions(const Expr& x, const std::map<std::string, Expr>& positions) {
  if (positions.empty()) return x;
  if (x->op == Op::position) {
    const auto found = positions.find(x->name);
    return found == positions.end() ? x : found->second;
  }
  if (x->op == Op::over && !reduces(x->name) && positions.count(x->axis) > 0)
    return at_other_position(x, positions);
  auto inner = positions;
  if (x->op == Op::over) inner.erase(x->axis);
  return with_parts(x, [&](const Expr& part) { return at_positions(part, inner); });
}

namespace {

/// Adds the positions that are free in `x`, where `bound` are summed over around it.
void add_free_axes(const Expr& x, Axes& bound, Axes& axes) {
  const bool has_position = x->op == Op::position || (x->op == Op::over && !reduces(x->name));
  const auto& axis = x->op == Op::over ? x->axis : x->name;
  if (has_position && !has(bound, axis) && !has(axes, axis)) axes.push_back(axis);
  if (x->op == Op::over) bound.push_back(x->axis);
  for (const auto& part : x->parts) add_free_axes(part, bound, axes);
  if (x->op == Op::over) bound.pop_back();
}

}  // namespace

Axes free_axes(const Expr& x) {
  Axes bound, axes;
  add_free_axes(x, bound, axes);
  return axes;
}

bool depends_on(const Expr& x, const std::string& axis) {
  return has(free_axes(x), axis);
}

std::vector<std::string> operands(const Expr& x) {
  std::vector<std::string> names;
  const std::function<void(const Expr&)> see = [&](const Expr& part) {
    const bool is_tensor = part->op == Op::entry || part->op == Op::again;
    if (is_tensor && !has(names, part->name)) names.push_back(part->name);
    const bool is_choice = is_call(part, "where");  // its condition comes last
    for (std::size_t i = 0; i < part->parts.size(); ++i)
      see(part->parts[is_choice ? (i + 1) % part->parts.size() : i]);
  };
  see(x);
  return names;
}

}  // namespace formula
