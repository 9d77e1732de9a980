#include "formula/linear_index.hpp"

#include <cmath>

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

/// Whether every place is one of `length`.
bool stays_within(const LinearIndex& index, const Sheet& sheet, std::size_t length) {
  const auto [least, most] = range_of(index, sheet);
  return least >= 0 && most < static_cast<std::ptrdiff_t>(length);
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
    if (!linear || !stays_within(*linear, sheet, shape[i])) return std::nullopt;
    all.push_back(std::move(*linear));
  }
  return all;
}

}  // namespace formula
