#include "trace/diagnosis/masks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/names.hpp"

namespace attn {

namespace {

using AxisNames = std::vector<std::string>;

AnyTensor compared(const AnyTensor& given, double seen) {
  AnyTensor mask(Dtype::boolean, given.shape());
  const auto view = given.view();
  for (std::size_t i = 0; i < element_count(view.shape); ++i) mask.elements<bool>()[i] = view.at(i) == seen;
  return mask;
}

template <class Predicate>
bool all_entries(const AnyTensor& tensor, Predicate predicate) {
  const auto view = tensor.view();
  for (std::size_t i = 0; i < element_count(view.shape); ++i)
    if (!predicate(view.at(i))) return false;
  return true;
}

/// The mask with true = may be seen, in the shape that it has.
std::optional<Fitted> with_true_for_seen(const AnyTensor& given, const std::string& name,
                                         const std::string& id, MaskTrue mask_true) {
  constexpr double largest_hidden = -1000.0;
  const bool hides_by_size = !all_entries(given, [](double x) { return x > largest_hidden; });
  const bool is_additive = (is_floating(given.dtype()) || hides_by_size) &&
                           all_entries(given, [](double x) { return x == 0.0 || x <= largest_hidden; });
  if (is_additive)
    return Fitted{compared(given, 0.0),
                  fmt::format("{} is taken for one that is added: 0 for what may be seen.", id)};
  if (!all_entries(given, [](double x) { return x == 0.0 || x == 1.0; })) return std::nullopt;
  if (mask_true == MaskTrue::hidden)
    return Fitted{
        compared(given, 0.0),
        is_named_as_in_torch(name)
            ? fmt::format("{} is taken to be true for what is hidden, as nn.MultiheadAttention has it "
                          "(--mask-true seen: for what may be seen).",
                          name)
            : fmt::format("{} has true for what is hidden.", id)};
  if (is_named_as_in_torch(name))
    return Fitted{
        compared(given, 1.0),
        fmt::format("{} is taken to be true for what may be seen; nn.MultiheadAttention has it true "
                    "for what is hidden.",
                    name)};
  return Fitted{compared(given, 1.0),
                given.dtype() == Dtype::boolean
                    ? ""
                    : fmt::format("{} is taken for one of 0 and 1: 1 for what may be seen.", id)};
}

/// One name for the axes of queries and of keys.
std::string role_of(const std::string& axis) {
  if (axis == "target") return "query";
  return axis == "source" ? "key" : axis;
}

/// For each name the place in `axes` that has that role, or how many there are.
std::size_t place_of_role(const AxisNames& axes, const std::string& role) {
  return static_cast<std::size_t>(
      std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return role_of(axis) == role; }) -
      axes.begin());
}

bool is_the_same_along(const AnyTensor& given, std::size_t axis) {
  const auto strides = strides_of(given.shape());
  auto shape = given.shape();
  shape[axis] = 1;
  const auto first = strided(given, shape, strides);
  for (std::size_t i = 1; i < given.shape()[axis]; ++i)
    if (!are_identical(first, strided(given, shape, strides, i * strides[axis]))) return false;
  return true;
}

/// The mask in the expected shape, where its axes have these roles and their lengths agree with that.
std::optional<AnyTensor> read_as(const AnyTensor& given, const AxisNames& roles,
                                 const ExpectedTensor& expected) {
  const auto given_strides = strides_of(given.shape());
  std::vector<std::size_t> strides(expected.shape.size(), 0);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const auto length = given.shape()[i];
    const auto place = place_of_role(expected.axes, roles[i]);
    if (place == expected.axes.size()) {
      if (!is_the_same_along(given, i)) return std::nullopt;
    } else if (length == expected.shape[place]) {
      strides[place] = given_strides[i];
    } else if (length != 1 || roles[i] == "key") {
      return std::nullopt;
    }
  }
  return strided(given, expected.shape, strides);
}

std::vector<AxisNames> possible_roles(std::size_t rank) {
  switch (rank) {
    case 1:
      return {{"key"}};
    case 2:
      return {{"query", "key"}, {"batch", "key"}};
    case 3:
      return {{"batch", "query", "key"}, {"head", "query", "key"}};
    case 4:
      return {{"batch", "head", "query", "key"}};
    default:
      return {};
  }
}

struct Reading {
  AxisNames roles;
  AnyTensor mask;
};

/// [batch·head×query×key] as [batch×head×query×key], with the heads of a sample one after another.
std::optional<Reading> read_with_merged_heads(const AnyTensor& given, const ExpectedTensor& expected) {
  const auto place = place_of_role(expected.axes, "batch");
  if (place == expected.axes.size() || given.shape().size() != 3) return std::nullopt;
  const auto batch = expected.shape[place], merged = given.shape()[0];
  if (batch == 0 || merged <= batch || merged % batch != 0) return std::nullopt;
  const auto split = reshaped(given, {batch, merged / batch, given.shape()[1], given.shape()[2]});
  auto mask = read_as(split, {"batch", "head", "query", "key"}, expected);
  if (!mask) return std::nullopt;
  return Reading{{"batch·head", "query", "key"}, std::move(*mask)};
}

std::vector<Reading> readings_of(const AnyTensor& given, const ExpectedTensor& expected) {
  std::vector<Reading> readings;
  if (element_count(given.shape()) == 0) return readings;
  for (auto& roles : possible_roles(given.shape().size()))
    if (auto mask = read_as(given, roles, expected)) readings.push_back({roles, std::move(*mask)});
  if (auto merged = read_with_merged_heads(given, expected)) readings.push_back(std::move(*merged));
  return readings;
}

/// Whether a mask of that name has these axes.
bool is_named_for(const std::string& name, const AxisNames& roles) {
  const auto folded_name = folded(name);
  const auto has = [&](std::string_view word) { return folded_name.find(word) != folded_name.npos; };
  if (has("pad") || has("attentionmask")) return roles == AxisNames{"batch", "key"};
  if (has("causal") || has("attnmask")) return roles == AxisNames{"query", "key"};
  return false;
}

/// The reading that there is, or that all agree on, or that the name asks for.
const Reading* only_reading(const std::vector<Reading>& readings, const std::string& name) {
  if (readings.empty()) return nullptr;
  if (std::all_of(readings.begin(), readings.end(),
                  [&](const auto& other) { return are_identical(other.mask, readings[0].mask); }))
    return readings.data();
  const auto named = std::find_if(readings.begin(), readings.end(),
                                  [&](const auto& reading) { return is_named_for(name, reading.roles); });
  return named == readings.end() ? nullptr : &*named;
}

}  // namespace

bool is_named_as_in_torch(const std::string& name, bool has_module) {
  const auto folded_name = folded(name);
  return folded_name.find("keypaddingmask") != folded_name.npos ||
         (has_module && folded_name.ends_with("attnmask"));
}

std::optional<Fitted> as_mask(const AnyTensor& given, const std::string& name, const ExpectedTensor& expected,
                              MaskTrue mask_true) {
  auto seen = with_true_for_seen(given, name, expected.id, mask_true);
  if (!seen || given.shape() == expected.shape) return seen;
  const auto readings = readings_of(seen->tensor, expected);
  const auto* const reading = only_reading(readings, name);
  if (reading == nullptr) return std::nullopt;
  if (!expected.shows_batch && reading->roles == AxisNames{"query", "key"})
    return Fitted{reading->mask, seen->assumption};
  return Fitted{reading->mask, fmt::format("{}{}{} is taken to be [{}].", seen->assumption,
                                           seen->assumption.empty() ? "" : " ", expected.id,
                                           fmt::join(reading->roles, "×"))};
}

AnyTensor hidden_by_either(AnyTensor a, const AnyTensor& b) {
  const auto other = b.view();
  for (std::size_t i = 0; i < element_count(other.shape); ++i)
    a.elements<bool>()[i] = a.elements<bool>()[i] && other.at(i) != 0.0;
  return a;
}

}  // namespace attn
