#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "formula/functions.hpp"
#include "formula/sheet.hpp"

namespace formula {

namespace {

LinearIndex combined(LinearIndex x, const LinearIndex& y, std::ptrdiff_t times) {
  x.first += times * y.first;
  for (const auto& [axis, step] : y.steps) x.steps[axis] += times * step;
  return x;
}

std::optional<LinearIndex> whole(double number) {
  if (std::abs(number) > 1e15 || number != std::floor(number)) return std::nullopt;
  return LinearIndex{static_cast<std::ptrdiff_t>(number)};
}

std::optional<LinearIndex> of_call(const Expr& x, const Sheet& sheet) {
  const auto left = linear_index(x->parts[0], sheet);
  if (!left) return std::nullopt;
  if (x->name == "neg") return combined({}, *left, -1);
  if (x->name != "+" && x->name != "-" && x->name != "*") return std::nullopt;
  const auto right = linear_index(x->parts[1], sheet);
  if (!right) return std::nullopt;
  if (x->name != "*") return combined(*left, *right, x->name == "+" ? 1 : -1);
  if (left->steps.empty()) return combined({}, *right, left->first);
  if (right->steps.empty()) return combined({}, *left, right->first);
  return std::nullopt;
}

}  // namespace

std::optional<LinearIndex> linear_index(const Expr& index, const Sheet& sheet) {
  switch (index->op) {
    case Op::number:
      return whole(index->number);
    case Op::size:
      return whole(static_cast<double>(sheet.size_of(index->name)));
    case Op::position:
      return LinearIndex{0, {{index->name, 1}}};
    case Op::call:
      return of_call(index, sheet);
    default:
      return std::nullopt;
  }
}

std::optional<std::ptrdiff_t> shift_of(const Expr& index, const std::string& axis, const Sheet& sheet) {
  const auto linear = linear_index(index, sheet);
  const bool goes_along = linear && linear->steps == std::map<std::string, std::ptrdiff_t>{{axis, 1}};
  return goes_along ? std::optional(linear->first) : std::nullopt;
}

std::pair<std::ptrdiff_t, std::ptrdiff_t> range_of(const LinearIndex& index, const Sheet& sheet) {
  std::ptrdiff_t least = index.first, most = index.first;
  for (const auto& [axis, step] : index.steps) {
    const auto last = static_cast<std::ptrdiff_t>(sheet.size_of(axis)) - 1;
    (step < 0 ? least : most) += step * last;
  }
  return {least, most};
}

std::optional<std::vector<LinearIndex>> linear_indices(const std::vector<Expr>& indices, const Sheet& sheet,
                                                       const attn::Shape& shape) {
  std::vector<LinearIndex> all;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto linear = linear_index(indices[i], sheet);
    if (!linear) return std::nullopt;
    const auto [least, most] = range_of(*linear, sheet);
    if (least < 0 || most >= static_cast<std::ptrdiff_t>(shape[i])) return std::nullopt;
    all.push_back(std::move(*linear));
  }
  return all;
}

namespace {

/// Finds along which axis formulas take one another, and in which order they are computed.
class Together {
 public:
  Together(const Sheet& sheet, std::vector<Definition> steps) : sheet_(sheet), steps_(std::move(steps)) {
    for (const auto& step : steps_) names_.insert(step.name);
  }

  Recurrence operator()() {
    for (const auto& step : steps_) find_axis(step.expr);
    if (axis_.empty())
      throw Error(
          steps_.front().expr->at,
          fmt::format("{} takes steps that are computed after it; valid: entries one place before, {}",
                      steps_.front().name, example(steps_.front().name)));
    Recurrence all{.axis = axis_, .is_reversed = lag_ > 0};
    for (auto& step : steps_) {
      if (!has(step.axes, axis_))
        throw Error(
            step.expr->at,
            fmt::format("{} is computed place by place along {}, which it does not have", step.name, axis_));
      require_in_turn(step.expr, needs_[step.name]);
      if (is_truth(step.expr)) step.expr = call("where", {step.expr, 1.0, 0.0});
    }
    std::set<std::string> done;
    while (done.size() < steps_.size()) {
      const auto next = std::find_if(steps_.begin(), steps_.end(), [&](const Definition& step) {
        const auto& needed = needs_.at(step.name);
        return done.count(step.name) == 0 &&
               std::includes(done.begin(), done.end(), needed.begin(), needed.end());
      });
      if (next == steps_.end())
        throw Error(steps_.front().expr->at,
                    fmt::format("steps of {} need one another at the same place", steps_.front().name));
      done.insert(next->name);
      all.steps.push_back(*next);
    }
    return all;
  }

 private:
  void find_axis(const Expr& x) {
    for (const auto& part : x->parts) find_axis(part);
    if (x->op != Op::entry || names_.count(x->name) == 0) return;
    const auto& axes = sheet_.form(x->name).axes;
    for (std::size_t i = 0; i < axes.size() && axis_.empty(); ++i)
      if (const auto lag = shift_of(x->parts[i], axes[i], sheet_); lag && *lag != 0) {
        axis_ = axes[i];
        lag_ = *lag;
      }
  }

  void require_in_turn(const Expr& x, std::set<std::string>& needed) const {
    if ((x->op == Op::over && x->axis == axis_) || x->op == Op::again)
      throw Error(x->at,
                  fmt::format("{} needs all places along {} at once, where they are computed one after "
                              "the other; valid: a step of its own, before or after",
                              x->name, axis_));
    for (const auto& part : x->parts) require_in_turn(part, needed);
    if (x->op != Op::entry || names_.count(x->name) == 0) return;
    const auto along = place_in(sheet_.form(x->name).axes, axis_);
    const auto lag = along < x->parts.size() ? shift_of(x->parts[along], axis_, sheet_) : std::nullopt;
    if (!lag || *lag * lag_ < 0)
      throw Error(x->at, fmt::format("{} is computed place by place along {}; valid: {}", x->name, axis_,
                                     example(x->name)));
    if (*lag == 0) needed.insert(x->name);
  }

  std::string example(const std::string& name) const {
    return fmt::format("{}[{} {} 1, …]", name, axis_.empty() ? "t" : axis_, lag_ > 0 ? '+' : '-');
  }

  const Sheet& sheet_;
  std::vector<Definition> steps_;
  std::set<std::string> names_;
  std::map<std::string, std::set<std::string>> needs_;  ///< of each step at the same place
  std::string axis_;
  std::ptrdiff_t lag_ = -1;  ///< of the first entry at another place
};

}  // namespace

Recurrence Sheet::together(std::vector<Definition> steps) const {
  return Together(*this, std::move(steps))();
}

const Recurrence* Sheet::recurrence_of(const std::string& step) const {
  for (const auto& one : recurrences_)
    for (const auto& definition : one.steps)
      if (definition.name == step) return &one;
  return nullptr;
}

void Sheet::compute(const Recurrence& recurrence, const SeeRow& see) {
  definitions_.insert(definitions_.end(), recurrence.steps.begin(), recurrence.steps.end());
  recurrences_.push_back(recurrence);
  compute_rows(recurrence, see);
}

void Sheet::compute_rows(const Recurrence& recurrence, const SeeRow& see) {
  std::vector<std::shared_ptr<Numbers>> whole;
  for (const auto& step : recurrence.steps) {
    whole.push_back(std::make_shared<Numbers>(shape_of(step.axes), 0.0));
    set(step.name, view_of(step.axes, std::shared_ptr<const Numbers>(whole.back())));
  }
  const auto length = size_of(recurrence.axis);
  for (std::size_t i = 0; i < length; ++i)
    for (std::size_t k = 0; k < whole.size(); ++k) {
      const auto place = recurrence.is_reversed ? length - 1 - i : i;
      const auto& step = recurrence.steps[k];
      auto row = row_of(step, recurrence.axis, place);
      if (see) see(step, place, row);
      std::size_t run = 1;
      for (auto axis = step.axes.rbegin(); *axis != recurrence.axis; ++axis) run *= size_of(*axis);
      for (std::size_t from = 0; from < row.size(); from += run)
        std::copy_n(row.data() + from, run, whole[k]->data() + from * length + place * run);
    }
}

}  // namespace formula
