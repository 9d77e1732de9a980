#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "formula/functions.hpp"
#include "formula/gradient.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

void add(Axes& axes, const std::string& axis) {
  if (!has(axes, axis)) axes.push_back(axis);
}

template <class Map>
std::string names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& one : map) names.push_back(one.first);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Tells names apart, in two passes over a formula: which axes the entry has, and then what each name is.
class Resolver {
 public:
  explicit Resolver(Sheet& sheet) : sheet_(sheet) {}

  Definition operator()(const Definition& definition) {
    named_ = definition.axes;
    group_ = definition.name.substr(0, definition.name.rfind('/') + 1);
    bound_.clear();
    collect(definition.expr);
    Axes axes = carried_;
    for (const auto& axis : definition.axes) {
      require_axis(axis, definition.expr->at);
      axes.push_back(axis);
    }
    bound_ = axes;
    return {definition.name, axes, resolve(definition.expr)};
  }

 private:
  void require_axis(const std::string& axis, std::size_t at) const {
    if (!sheet_.has_axis(axis))
      throw Error(at, fmt::format("the axis {} is unknown; valid: {}", axis, names_of(sheet_.axes())));
  }

  /// Notes which axes of operands the result carries along: where it names none, all that are free, also
  /// those along which an index goes, `floor(head / 2)`; else those that stand in front of what it names.
  void collect(const Expr& x, bool is_index = false) {
    if (is_call(x, "gradient")) return collect_gradient(whole_tensor(x));
    const bool may_be_tensor = x->op == Op::name || x->op == Op::entry || x->op == Op::again;
    if (const auto* tensor = may_be_tensor ? sheet_.find_form(x->name) : nullptr)
      return collect_axes(*tensor, x->op == Op::again ? std::vector<Expr>{} : x->parts);
    const bool is_axis = is_index && (x->op == Op::position || x->op == Op::name);
    if (is_axis && sheet_.has_axis(x->name) && !has(bound_, x->name)) add(carried_, x->name);
    if (may_be_tensor) return;  // refused in the second pass, or an axis
    const bool binds = x->op == Op::over && reduces(x->name);
    if (x->op == Op::over) require_axis(x->axis, x->at);
    if (binds) bound_.push_back(x->axis);
    for (const auto& part : x->parts) collect(part, is_index);
    if (binds) bound_.pop_back();
  }

  /// Under other names of its axes the gradient of a tensor carries along those in front of them.
  void collect_gradient(const Expr& of) {
    const auto* tensor = sheet_.find_form(of->name);
    if (tensor == nullptr || !has_other_names(tensor->axes)) return collect(of);
    for (std::size_t i = 0; i < tensor->axes.size() - named_.size(); ++i) add(carried_, tensor->axes[i]);
  }

  /// Whether the result names axes of a tensor otherwise.
  bool has_other_names(const Axes& axes) const {
    return named_.size() <= axes.size() &&
           std::any_of(named_.begin(), named_.end(), [&](const auto& axis) { return !has(axes, axis); });
  }

  void collect_axes(const View& tensor, const std::vector<Expr>& indices) {
    if (indices.size() > tensor.axes.size()) return;  // refused in the second pass
    const std::size_t implied = tensor.axes.size() - indices.size();
    bool is_in_front = true;
    for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
      const auto* index = i < implied ? nullptr : &*indices[i - implied];
      const bool is_plain = index == nullptr || index->op == Op::position ||
                            (index->op == Op::name && sheet_.find_form(index->name) == nullptr);
      if (!is_plain) {
        is_in_front = false;
        collect(indices[i - implied], named_.empty());
        continue;
      }
      const auto& axis = index == nullptr ? tensor.axes[i] : index->name;
      if (!sheet_.has_axis(axis)) sheet_.axis(axis, tensor.shape[i]);
      const bool is_known = has(named_, axis) || has(bound_, axis);
      if (!is_known && (is_in_front || named_.empty())) add(carried_, axis);
      if (is_known) is_in_front = false;
    }
  }

  Expr resolve(const Expr& x) {
    switch (x->op) {
      case Op::number:
        return x;
      case Op::size:
        require_axis(x->name, x->at);
        return x;
      case Op::position:
        return position_of(x);
      case Op::name:
      case Op::entry:
        return sheet_.find_form(x->name) != nullptr ? entry_of(x) : axis_of(x);
      case Op::call:
        return x->name == "gradient" ? gradient_of(x) : with_resolved_parts(x);
      case Op::over:
        return over_axis(x);
      case Op::again:
        return again_of(x);
    }
    return x;
  }

  Expr with_resolved_parts(const Expr& x) {
    return with_parts(x, [this](const Expr& part) { return resolve(part); });
  }

  Expr position_of(const Expr& x) const {
    if (!has(bound_, x->name))
      throw Error(x->at, fmt::format("the axis {} is neither of the result [{}] nor summed over", x->name,
                                     fmt::join(bound_, ", ")));
    return Expr(Node{.op = Op::position, .name = x->name, .at = x->at});
  }

  /// Of "scores/d_k", which is a name: what was meant.
  std::string about_blanks(const std::string& name) const {
    const auto at = name.find_first_of("/*+-");
    const bool has_operands =
        at != std::string::npos && at > 0 && knows(name.substr(0, at)) && knows(name.substr(at + 1));
    if (!has_operands) return "";
    return fmt::format(" (operators stand between blanks: {} {} {})", name.substr(0, at), name[at],
                       name.substr(at + 1));
  }

  bool knows(const std::string& name) const {
    return sheet_.find_form(name) != nullptr || sheet_.has_axis(name);
  }

  Expr axis_of(const Expr& x) const {
    if (x->op == Op::entry || !sheet_.has_axis(x->name))
      throw Error(x->at,
                  fmt::format("{} is unknown{}; valid: the tensors {} and the axes {}", x->name,
                              about_blanks(x->name), names_of(sheet_.tensors()), names_of(sheet_.axes())));
    if (is_in_index_ || has(bound_, x->name)) return position_of(x);
    return Expr(Node{.op = Op::size, .name = x->name, .at = x->at});
  }

  Expr over_axis(const Expr& x) {
    if (!reduces(x->name)) {
      if (!has(bound_, x->axis))
        throw Error(x->at, fmt::format("{} goes over {}, which the result [{}] does not have", x->name,
                                       x->axis, fmt::join(bound_, ", ")));
      return with_resolved_parts(x);
    }
    bound_.push_back(x->axis);
    const auto result = with_resolved_parts(x);
    bound_.pop_back();
    return result;
  }

  Expr entry_of(const Expr& x) {
    const auto& name = sheet_.stands_for(x->name);
    const auto& tensor = *sheet_.find_form(name);
    if (x->parts.size() > tensor.axes.size())
      throw Error(x->at, fmt::format("{} has {} indices; valid: the {} axes {}", x->name, x->parts.size(),
                                     tensor.axes.size(), fmt::join(tensor.axes, ", ")));
    const std::size_t implied = tensor.axes.size() - x->parts.size();
    std::vector<Expr> indices;
    for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
      indices.push_back(i < implied ? own_position(x, tensor.axes[i]) : index_of(x->parts[i - implied]));
      if (indices.back()->op == Op::position) require_length(x, tensor, i, indices.back()->name);
    }
    return Expr(Node{.op = Op::entry, .name = name, .parts = std::move(indices), .at = x->at});
  }

  Expr own_position(const Expr& x, const std::string& axis) const {
    if (!has(bound_, axis))
      throw Error(x->at, fmt::format("the axis {0} of {1} is neither of the result [{2}] nor summed over; "
                                     "valid: sum({0}) …, {1}[…] with an index, or a result with {0}",
                                     axis, x->name, fmt::join(bound_, ", ")));
    return position(axis);
  }

  /// What `gradient` is of, all of it: a part may have been given a tensor at an index.
  static Expr whole_tensor(const Expr& gradient) {
    const auto& of = gradient->parts[0];
    return Expr(Node{.op = Op::name, .name = of->name, .at = of->at});
  }

  /// The formula that it stands for.
  Expr gradient_of(const Expr& x) {
    const auto of = whole_tensor(x);
    if (sheet_.find_form(of->name) == nullptr)
      throw Error(of->at, fmt::format("gradient({0}): {0} is no tensor; valid: {1}", of->name,
                                      names_of(sheet_.tensors())));
    const auto& tensor = sheet_.form(of->name);
    const bool is_renamed = has_other_names(tensor.axes) && bound_.size() == tensor.axes.size();
    for (std::size_t i = 0; is_renamed && i < bound_.size(); ++i) require_length(of, tensor, i, bound_[i]);
    if (!is_renamed) entry_of(of);
    return gradient(sheet_, of->name, is_renamed ? bound_ : tensor.axes, group_, x->at);
  }

  Expr index_of(const Expr& x) {
    const bool was_in_index = std::exchange(is_in_index_, true);
    auto index = resolve(x);
    is_in_index_ = was_in_index;
    return index;
  }

  void require_length(const Expr& x, const View& tensor, std::size_t i, const std::string& axis) const {
    if (sheet_.size_of(axis) != tensor.shape[i])
      throw Error(x->at, fmt::format("the axis {} has {} positions, and {} of {} has {}", axis,
                                     sheet_.size_of(axis), tensor.axes[i], x->name, tensor.shape[i]));
  }

  Expr again_of(const Expr& x) {
    const auto& step = sheet_.stands_for(x->name);
    if (sheet_.definition_of(step) == nullptr)
      throw Error(x->at, fmt::format("{} is no step that can be computed again", x->name));
    Node node = *x;
    node.name = step;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      node.changed[i] = sheet_.stands_for(node.changed[i]);
      const auto* tensor = sheet_.find_form(node.changed[i]);
      if (tensor == nullptr)
        throw Error(x->at,
                    fmt::format("{} is unknown; valid: {}", node.changed[i], names_of(sheet_.tensors())));
      Resolver inner(sheet_);
      node.parts[i] = inner({node.changed[i], tensor->axes, node.parts[i]}).expr;
    }
    return Expr(std::move(node));
  }

  Sheet& sheet_;
  Axes named_, carried_, bound_;
  std::string group_;  ///< of the result
  bool is_in_index_ = false;
};

}  // namespace

Expr with_lengths(const Expr& x, const Sheet& sheet) {
  if (x->op == Op::size) return static_cast<double>(sheet.size_of(x->name));
  if (x->op == Op::number) return x->number;
  return with_parts(x, [&](const Expr& part) { return with_lengths(part, sheet); });
}

Definition Sheet::resolved(const Definition& definition) {
  return Resolver(*this)(definition);
}

void Sheet::axis(const std::string& name, std::size_t size) {
  const auto [known, is_new] = sizes_.emplace(name, size);
  if (!is_new && known->second != size)
    throw Error(
        0, fmt::format("the axis {} has {} positions, and now it should have {}", name, known->second, size));
}

std::size_t Sheet::size_of(const std::string& axis) const {
  const auto found = sizes_.find(axis);
  if (found == sizes_.end())
    throw Error(0, fmt::format("the axis {} is unknown; valid: {}", axis, names_of(sizes_)));
  return found->second;
}

attn::Shape Sheet::shape_of(const Axes& axes) const {
  attn::Shape shape;
  for (const auto& axis : axes) shape.push_back(size_of(axis));
  return shape;
}

void Sheet::set(const std::string& name, View tensor) {
  for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
    const auto& length = sizes_.emplace(tensor.axes[i], tensor.shape[i]).first->second;
    if (length != tensor.shape[i])
      throw Error(
          0, fmt::format("{} is [{}], [{}] long; the axis {} has {} positions elsewhere", name,
                         fmt::join(tensor.axes, "×"), attn::to_string(tensor.shape), tensor.axes[i], length));
  }
  aliases_.erase(name);
  dropped_.erase(name);
  tensors_.insert_or_assign(name, std::move(tensor));
}

const std::string& Sheet::stands_for(const std::string& name) const {
  const auto found = aliases_.find(name);
  return found == aliases_.end() ? name : stands_for(found->second);
}

const View* Sheet::find_form(const std::string& name) const {
  const auto found = tensors_.find(stands_for(name));
  return found == tensors_.end() ? nullptr : &found->second;
}

const View& Sheet::form(const std::string& name) const {
  const auto* tensor = find_form(name);
  if (tensor == nullptr)
    throw Error(0, fmt::format("the tensor {} is unknown; valid: {}", name, names_of(tensors_)));
  return *tensor;
}

const View* Sheet::find(const std::string& name) const {
  return find_form(name) == nullptr ? nullptr : &tensor(name);
}

const View& Sheet::tensor(const std::string& name) const {
  const auto& tensor = form(name);
  if (!dropped_.empty()) compute_dropped(stands_for(name));
  return tensor;
}

const Definition* Sheet::definition_of(const std::string& name) const {
  const auto found = std::find_if(definitions_.begin(), definitions_.end(),
                                  [&](const auto& definition) { return definition.name == name; });
  return found == definitions_.end() ? nullptr : &*found;
}

}  // namespace formula
