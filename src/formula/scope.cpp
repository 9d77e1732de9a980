#include <fmt/format.h>

#include <algorithm>

#include "formula/functions.hpp"
#include "formula/numpy.hpp"
#include "formula/whole_arrays.hpp"

namespace formula {

Array::Type Scope::type_of(const std::string& name) const {
  const auto& view = tensor(name);
  const auto* definition = sheet_.definition_of(original(name));
  if (view.is_truth || (definition != nullptr && is_truth(definition->expr))) return Array::Type::truth;
  return view.is_whole ? Array::Type::whole : Array::Type::real;
}

Axes Scope::kept(Axes axes) const {
  std::erase_if(axes, [this](const auto& axis) { return drops(axis) || axis == along_; });
  return axes;
}

Axes Scope::axes_of(const std::string& name) const {
  return kept(tensor(name).axes);
}

const std::string& Scope::original(const std::string& name) const {
  const auto found = originals_.find(name);
  return found == originals_.end() ? name : found->second;
}

std::string Scope::fresh(const std::string& wish) {
  const auto is_taken = [this](const std::string& name) {
    return std::find(taken_.begin(), taken_.end(), name) != taken_.end() ||
           std::any_of(sheet_.tensors().begin(), sheet_.tensors().end(),
                       [&](const auto& tensor) { return identifier(tensor.first) == name; });
  };
  auto name = identifier(prefix_ + wish);
  for (int i = 2; is_taken(name); ++i) name = identifier(prefix_ + wish) + "_" + std::to_string(i);
  taken_.push_back(name);
  return name;
}

std::vector<Definition> Scope::without_again(const Definition& definition) {
  std::vector<Definition> all;
  auto expr = plain(definition.expr, {}, all);
  all.push_back({definition.name, definition.axes, std::move(expr)});
  return all;
}

/// `x` with other names for what `changed` names, and with the names of new steps for what it computes again.
Expr Scope::plain(const Expr& x, const Names& changed, std::vector<Definition>& before) {
  if (x->op == Op::again) return computed_again(x, changed, before);
  const auto with_plain_parts = with_parts(x, [&](const Expr& part) { return plain(part, changed, before); });
  const auto found = changed.find(x->name);
  if (x->op != Op::entry || found == changed.end()) return with_plain_parts;
  return entry(found->second, with_plain_parts->parts);
}

Expr Scope::computed_again(const Expr& x, const Names& outer, std::vector<Definition>& before) {
  auto changed = outer;
  const auto add = [&](const std::string& name, const Axes& axes, Expr expr) {
    const auto other = fresh(name + "_again");
    originals_[other] = name;
    before.push_back({other, axes, std::move(expr)});
    return other;
  };
  for (std::size_t i = 0; i < x->parts.size(); ++i) {
    const auto& name = x->changed[i];
    changed[name] = add(name, sheet_.form(name).axes, plain(x->parts[i], outer, before));
  }
  for (const auto& definition : sheet_.definitions()) {
    const auto from = operands(definition.expr);
    const bool follows =
        std::any_of(from.begin(), from.end(), [&](const auto& name) { return changed.count(name) > 0; });
    if (follows && sheet_.recurrence_of(definition.name) != nullptr)
      throw Error(
          0, fmt::format("{} is computed place by place, and again in no line of code", definition.name));
    if (follows && changed.count(definition.name) == 0)
      changed[definition.name] =
          add(definition.name, definition.axes, plain(definition.expr, changed, before));
    if (definition.name == x->name) break;
  }
  std::vector<Expr> places;
  for (const auto& axis : sheet_.form(x->name).axes) places.push_back(position(axis));
  const auto found = changed.find(x->name);
  return entry(found == changed.end() ? x->name : found->second, std::move(places));
}

}  // namespace formula
