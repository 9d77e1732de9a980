#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/text/trim.hpp"
#include "page/html/html.hpp"
#include "page/html/markup.hpp"
#include "trace/entry.hpp"
#include "trace/number.hpp"

namespace attn::html {

namespace {

constexpr std::size_t most_entries_of_step = 300'000;  // of all its cells together

/// The offset of the entry `at`, whose places may be any linear form of places.
template <class Places>
std::int64_t offset_in(const Shape& shape, const Places& at) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    offset = offset * static_cast<std::int64_t>(shape[axis]) + static_cast<std::int64_t>(at[axis]);
  return offset;
}

/// Whether every number that agrees with this one in nine digits has the same digits after the point on the
/// page: it is small enough for that, and neither nearly whole in steps of the last digit nor halfway
/// between.
bool is_rounded_alike(double value, double steps_to_one) {
  constexpr double largest = 1e7, near = 0.01;
  const double steps = std::abs(value) * steps_to_one;
  const double part = std::abs(steps - std::round(steps));
  return steps > 11.0 && steps < largest && part > near && part < 0.5 - near;
}

/// A number with the fewest digits, at least nine, that the page rounds as it does the number itself.
std::string number_for_script(double value, int precision) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0.0 ? "\"Infinity\"" : "\"-Infinity\"";
  constexpr int enough = 17;
  const Operand operand{.tensor = "", .index = {}};
  const auto on_page = worked_number(Worked(operand, value), precision);
  for (int digits = 9; digits < enough; ++digits) {
    const auto text = fmt::format("{:.{}g}", value, digits);
    const double read = *number_in(text);
    if (worked_number(Worked(operand, read), precision) == on_page) return shortest(read);
  }
  return shortest(value);
}

template <class Numbers>
std::string list_of(const Numbers& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::vector<std::pair<const Operand*, double>> entries_of(const Worked& worked) {
  std::vector<std::pair<const Operand*, double>> entries;
  worked.for_each_entry([&](const Operand& operand, double value) { entries.emplace_back(&operand, value); });
  return entries;
}

/// A row of strides for each of `components`, such that each is linear in the place of the cell; nothing
/// where they are not.
std::optional<std::vector<std::vector<std::int64_t>>> fitted_strides(
    const std::vector<Index>& cells, const std::vector<std::vector<std::int64_t>>& operands) {
  const std::size_t rank = cells[0].size(), count = operands[0].size();
  std::vector<std::vector<std::int64_t>> strides(rank, std::vector<std::int64_t>(count, 0));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::map<Index, std::size_t> first;  // of the cells that differ along this axis only
    for (std::size_t i = 0; i < cells.size(); ++i) {
      auto others = cells[i];
      others[axis] = 0;
      const auto [found, is_new] = first.emplace(std::move(others), i);
      if (is_new) continue;
      const auto steps = static_cast<std::int64_t>(cells[i][axis] - cells[found->second][axis]);
      for (std::size_t k = 0; k < count; ++k)
        strides[axis][k] = (operands[i][k] - operands[found->second][k]) / steps;
      break;
    }
  }
  for (std::size_t i = 1; i < cells.size(); ++i)
    for (std::size_t k = 0; k < count; ++k) {
      std::int64_t expected = operands[0][k];
      for (std::size_t axis = 0; axis < rank; ++axis)
        expected += strides[axis][k] *
                    (static_cast<std::int64_t>(cells[i][axis]) - static_cast<std::int64_t>(cells[0][axis]));
      if (expected != operands[i][k]) return std::nullopt;
    }
  return strides;
}

}  // namespace

std::size_t Workings::number_of(const std::string& id) {
  const auto [found, is_new] = numbers_.try_emplace(id, tensors_.size());
  if (is_new) tensors_.push_back({.id = id});
  return found->second;
}

/// The text with a $ for each entry and, in braces, each constant that the page rounds.
std::string Workings::text_of(const Worked& worked) const {
  const auto number = [this](const Worked& part) {
    if (part.entry() != nullptr) return std::string("$");
    auto on_page = worked_number(part, precision_);
    if (on_page == number_in_full(part) || !std::isfinite(part.value())) return on_page;
    return "{" + shortest(part.value()) + "}";
  };
  return with_raised_exponents(worked.text(number, std::numeric_limits<std::size_t>::max()));
}

void Workings::add(const Event& event, const std::vector<std::size_t>& cells, bool is_core) {
  const auto number = number_of(event.id);
  const auto& shape = event.tensor->shape;
  std::vector<std::vector<std::size_t>> axes(event.labels.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    for (const auto& tokens : event.labels[axis].lists)
      axes[axis].push_back(names_.try_emplace(tokens, names_.size()).first->second);
  auto& known = tensors_[number];
  known.shape = shape;
  known.axes = std::move(axes);
  known.is_whole = !is_floating(event.tensor->dtype);
  known.is_core = is_core;
  known.origin = event.kind == Kind::input ? "input" : event.worked ? "worked" : "none";
  if (!event.worked || cells.empty()) return;

  std::map<std::pair<std::size_t, std::vector<std::size_t>>, Group> alike;
  std::vector<std::size_t> before;  // the tensors of the cell before, which mostly has the same
  std::size_t entry_count = 0;
  for (const auto cell : cells) {
    auto at = index_at(cell, shape);
    const auto worked = event.worked(at);
    const auto entries = entries_of(worked);
    entry_count += entries.size();
    if (entry_count > most_entries_of_step || entries.size() * cells.size() > 2 * most_entries_of_step)
      return;
    std::vector<std::size_t> tensors, ranks;
    std::vector<std::int64_t> places;
    for (const auto& [operand, value] : entries) {
      const auto k = tensors.size();
      const bool is_as_before = k < before.size() && tensors_[before[k]].id == operand->tensor;
      tensors.push_back(is_as_before ? before[k] : number_of(operand->tensor));
      ranks.push_back(operand->index.size());
      places.insert(places.end(), operand->index.begin(), operand->index.end());
      auto& source = tensors_[tensors.back()];
      source.values[operand->index] = value;
      source.is_whole = source.is_whole || operand->is_whole;
    }
    before = tensors;
    const std::pair key(texts_.try_emplace(text_of(worked), texts_.size()).first->second, std::move(tensors));
    auto& group = alike.try_emplace(key, Group{key.first, key.second, std::move(ranks)}).first->second;
    group.cells.push_back(std::move(at));
    group.operands.push_back(std::move(places));
  }
  for (auto& [key, group] : alike) add_groups(tensors_[number], std::move(group), 0);
}

/// As one group where the places are linear in that of the cell, else those with one place along `axis`
/// apart.
void Workings::add_groups(Known& step, Group group, std::size_t axis) {
  if (auto strides = fitted_strides(group.cells, group.operands)) {
    group.operands.resize(1);
    group.strides = std::move(*strides);
    step.groups.push_back(std::move(group));
    return;
  }
  std::map<std::size_t, Group> parts;
  for (std::size_t i = 0; i < group.cells.size(); ++i) {
    auto& part =
        parts.try_emplace(group.cells[i][axis], Group{group.text, group.tensors, group.ranks}).first->second;
    part.cells.push_back(std::move(group.cells[i]));
    part.operands.push_back(std::move(group.operands[i]));
  }
  for (auto& [place, part] : parts) add_groups(step, std::move(part), axis + 1);
}

/// As the trace has it, or, of a tensor that was not shown, as large as the entries need.
Shape Workings::shape_of(const Known& tensor) const {
  if (tensor.shape) return *tensor.shape;
  Shape shape;
  for (const auto& [at, value] : tensor.values) {
    shape.resize(at.size(), 1);
    for (std::size_t axis = 0; axis < at.size(); ++axis) shape[axis] = std::max(shape[axis], at[axis] + 1);
  }
  return shape;
}

std::pair<std::string, std::size_t> Workings::groups_of(const Known& step, const std::vector<Shape>& shapes,
                                                        Needed& needed) const {
  std::vector<std::string> groups;
  std::size_t more = 0;
  for (const auto& group : step.groups) {
    std::map<std::vector<std::int64_t>, std::size_t> numbers;
    std::vector<std::string> places;
    std::vector<std::int64_t> terms;
    std::size_t k = 0;  // of the indices of the entries
    for (std::size_t i = 0; i < group.tensors.size(); k += group.ranks[i++]) {
      const auto& shape = shapes[group.tensors[i]];
      std::vector<std::int64_t> row = {static_cast<std::int64_t>(group.tensors[i])};
      auto base = offset_in(shape, group.operands[0].data() + k);
      for (std::size_t axis = 0; axis < step.shape->size(); ++axis) {
        row.push_back(offset_in(shape, group.strides[axis].data() + k));
        base -= row.back() * static_cast<std::int64_t>(group.cells[0][axis]);
      }
      const auto [found, is_new] = numbers.emplace(row, places.size());
      if (is_new) places.push_back(list_of(row));
      terms.insert(terms.end(), {static_cast<std::int64_t>(found->second), base});
      for (const auto& at : group.cells) {
        auto offset = base;
        for (std::size_t axis = 0; axis < at.size(); ++axis)
          offset += row[axis + 1] * static_cast<std::int64_t>(at[axis]);
        auto is_needed = needed[group.tensors[i]][static_cast<std::size_t>(offset)];
        if (!is_needed) ++more;
        is_needed = true;
      }
    }
    std::vector<std::int64_t> cells;
    if (group.cells.size() < element_count(*step.shape))
      for (const auto& cell : group.cells) cells.push_back(offset_in(*step.shape, cell));
    groups.push_back(fmt::format("[{},{},{},{}]", group.text, cells.empty() ? "0" : list_of(cells),
                                 list_of(places), list_of(terms)));
  }
  return {list_of(groups), more};
}

std::string Workings::values_of(const Known& tensor, const std::vector<bool>& needed,
                                const Shape& shape) const {
  const auto count = static_cast<std::size_t>(std::count(needed.begin(), needed.end(), true));
  const bool is_sparse = 2 * count < needed.size();
  const double steps_to_one = std::pow(10.0, std::max(precision_, 2));
  std::vector<std::string> list;
  for (std::size_t offset = 0; offset < needed.size(); ++offset)
    if (needed[offset]) {
      const double value = tensor.values.at(index_at(offset, shape));
      auto number = is_rounded_alike(value, steps_to_one) ? fmt::format("{:.9g}", value)
                                                          : number_for_script(value, precision_);
      list.push_back(is_sparse ? fmt::format("\"{}\":{}", offset, number) : std::move(number));
    } else if (!is_sparse) {
      list.emplace_back("null");
    }
  return is_sparse ? fmt::format("{{{}}}", fmt::join(list, ",")) : list_of(list);
}

std::string Workings::json(std::size_t most_bytes) const {
  constexpr std::size_t bytes_of_value = 13;
  std::vector<Shape> shapes;
  Needed needed;
  for (const auto& tensor : tensors_) {
    shapes.push_back(shape_of(tensor));
    needed.emplace_back(element_count(shapes.back()), false);
  }
  std::vector<std::string> texts(texts_.size()), name_lists(names_.size());
  for (const auto& [text, number] : texts_) texts[number] = text;
  for (const auto& [tokens, number] : names_) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < tokens.size(); ++i) names.push_back(json_string(token_name(tokens, i)));
    name_lists[number] = list_of(names);
  }
  std::vector<std::string> steps(tensors_.size(), "[]");
  std::vector<bool> text_used(texts_.size(), false);
  std::size_t bytes = 0;
  for (const bool is_core : {true, false})
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].groups.empty() || tensors_[i].is_core != is_core) continue;
      auto needed_then = needed;
      auto [groups, values] = groups_of(tensors_[i], shapes, needed_then);
      auto more = groups.size() + bytes_of_value * values;
      for (const auto& group : tensors_[i].groups)
        if (!text_used[group.text]) more += texts[group.text].size();
      if (bytes + more > most_bytes) continue;
      needed = std::move(needed_then);
      bytes += more;
      steps[i] = std::move(groups);
      for (const auto& group : tensors_[i].groups) text_used[group.text] = true;
    }
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = json_string(text_used[i] ? texts[i] : "");
  std::vector<std::string> tensors;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto& tensor = tensors_[i];
    std::vector<std::string> axes;
    for (const auto& lists : tensor.axes) axes.push_back(list_of(lists));
    tensors.push_back(fmt::format(
        "{{\"id\":{},\"shape\":{},\"axes\":{},\"origin\":\"{}\",\"whole\":{},\"values\":{},\"steps\":{}}}",
        json_string(tensor.id), list_of(shapes[i]), list_of(axes), tensor.origin, tensor.is_whole,
        values_of(tensor, needed[i], shapes[i]), steps[i]));
  }
  return fmt::format("{{\"precision\":{},\"texts\":{},\n\"names\":{},\n\"tensors\":[{}]}}", precision_,
                     list_of(texts), list_of(name_lists), fmt::join(tensors, ",\n"));
}

}  // namespace attn::html
