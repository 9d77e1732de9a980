#include "trace/diagnosis/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "trace/diagnosis/names.hpp"

namespace attn {

namespace {

/// For each expected axis the given one; none for an axis of length 1 that is not there.
using AxisOrder = std::vector<std::optional<std::size_t>>;

using AxisNames = std::vector<std::string>;

std::optional<std::size_t> place_in(const AxisNames& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

/// The order by names; none unless each name of an axis longer than 1 is there on both sides.
std::optional<AxisOrder> order_by_name(const Shape& given, const AxisNames& axes,
                                       const ExpectedTensor& expected) {
  if (axes.size() != given.size()) return std::nullopt;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (given[i] != 1 && !place_in(expected.axes, axes[i])) return std::nullopt;
  AxisOrder order;
  for (std::size_t i = 0; i < expected.axes.size(); ++i) {
    order.push_back(place_in(axes, expected.axes[i]));
    if (!order.back() && expected.shape[i] != 1) return std::nullopt;
  }
  return order;
}

/// One name for the axes of queries and of keys.
std::string role_of(const std::string& axis) {
  if (axis == "target") return "query";
  return axis == "source" ? "key" : axis;
}

bool are_query_and_key(const std::string& a, const std::string& b) {
  const auto is = [&](std::string_view one, std::string_view other) {
    return role_of(a) == one && role_of(b) == other;
  };
  return is("query", "key") || is("key", "query");
}

/// Whether no two axes are equally long, but for those of queries and keys, whose order is known.
bool tell_axes_apart(const ExpectedTensor& expected) {
  const auto& shape = expected.shape;
  for (std::size_t i = 0; i < shape.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (shape[i] == shape[j] && shape[i] != 1 &&
          (expected.axes.empty() || !are_query_and_key(expected.axes[i], expected.axes[j])))
        return false;
  return true;
}

/// The order by lengths: each axis but those of length 1 is the first of its length that is left. None where
/// this is another order than the given one, and not the only one.
std::optional<AxisOrder> order_by_length(const Shape& given, const ExpectedTensor& expected) {
  AxisOrder order(expected.shape.size());
  auto left = given;
  std::vector<std::size_t> places;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    if (expected.shape[axis] == 1) continue;
    const auto found = std::find(left.begin(), left.end(), expected.shape[axis]);
    if (found == left.end()) return std::nullopt;
    *found = 1;
    places.push_back(static_cast<std::size_t>(found - left.begin()));
    order[axis] = places.back();
  }
  const bool is_whole = all_of(left, [](std::size_t length) { return length == 1; });
  if (!is_whole || (!std::is_sorted(places.begin(), places.end()) && !tell_axes_apart(expected)))
    return std::nullopt;
  return order;
}

/// Whether the axes of queries and keys follow each other as they should.
bool keeps_queries_before_keys(const AxisOrder& order, const AxisNames& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (are_query_and_key(axes[i], axes[j]) && order[i] && order[j] && *order[i] < *order[j]) return false;
  return true;
}

AnyTensor ordered(const AnyTensor& given, const Shape& shape, const AxisOrder& order) {
  const auto given_strides = strides_of(given.shape());
  std::vector<std::size_t> strides;
  for (const auto& axis : order) strides.push_back(axis ? given_strides[*axis] : 0);
  return strided(given, shape, strides);
}

bool has_expected_lengths(const Shape& given, const Shape& expected, const AxisOrder& order) {
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i] && given[*order[i]] != expected[i]) return false;
  return true;
}

std::string sentence_on_batch(const ExpectedTensor& expected) {
  if (!expected.shows_batch) return "";
  return fmt::format("{} has no batch axis and is taken for a batch of one.", expected.id);
}

/// What was done to reach an order.
std::string sentence_of(const Shape& given, const ExpectedTensor& expected, const AxisOrder& order) {
  std::vector<std::pair<std::size_t, std::string>> by_place;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i]) by_place.emplace_back(*order[i], expected.axes[i]);
  if (!std::is_sorted(by_place.begin(), by_place.end())) {
    std::sort(by_place.begin(), by_place.end());
    std::vector<std::string> names;
    for (const auto& [place, name] : by_place) names.push_back(name);
    return fmt::format("{} is taken to be [{}], where the lesson has [{}].", expected.id,
                       fmt::join(names, "×"), fmt::join(expected.axes, "×"));
  }
  if (given == expected.shape) return "";
  const bool lacks_batch =
      !expected.axes.empty() && expected.axes[0] == "batch" && given.size() + 1 == expected.shape.size();
  if (lacks_batch) return sentence_on_batch(expected);
  return fmt::format("{} is [{}] and is taken for [{}].", expected.id, to_string(given),
                     to_string(expected.shape));
}

/// The tensor with its axes in the expected order, without a change of their lengths.
std::optional<Fitted> in_order(const AnyTensor& given, const AxisNames& axes,
                               const ExpectedTensor& expected) {
  const auto named = order_by_name(given.shape(), axes, expected);
  const auto order = named ? named : order_by_length(given.shape(), expected);
  if (!order || !has_expected_lengths(given.shape(), expected.shape, *order)) return std::nullopt;
  if (!named && !keeps_queries_before_keys(*order, expected.axes)) return std::nullopt;
  return Fitted{ordered(given, expected.shape, *order), sentence_of(given.shape(), expected, *order)};
}

/// Rows of a table, as CSV has them: all axes but the last are one.
std::optional<Fitted> in_rows(const AnyTensor& given, const ExpectedTensor& expected) {
  const auto& shape = expected.shape;
  if (given.shape().size() != 2 || shape.size() < 3 || given.shape()[1] != shape.back() ||
      element_count(given.shape()) != element_count(shape))
    return std::nullopt;
  return Fitted{reshaped(given, shape),
                fmt::format("{} is [{}] and is taken for the rows of [{}], one after another.", expected.id,
                            to_string(given.shape()), to_string(shape))};
}

/// Samples and heads that are one axis, the heads of a sample one after another, or, where `heads_first`, the
/// samples of a head.
std::optional<Fitted> with_folded_heads(const AnyTensor& given, const ExpectedTensor& expected,
                                        bool heads_first) {
  const auto& names = expected.axes;
  if (names.size() < 2 || names[0] != "batch" || (names[1] != "head" && names[1] != "kv_head") ||
      given.shape().size() + 1 != expected.shape.size())
    return std::nullopt;
  const auto batch = expected.shape[0], heads = expected.shape[1];
  for (std::size_t axis = 0; axis < given.shape().size(); ++axis) {
    if (given.shape()[axis] != batch * heads) continue;
    auto shape = given.shape();
    shape[axis] = heads_first ? heads : batch;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, heads_first ? batch : heads);
    std::vector<std::size_t> order = {heads_first ? axis + 1 : axis, heads_first ? axis : axis + 1};
    for (std::size_t other = 0; other < shape.size(); ++other)
      if (other != axis && other != axis + 1) order.push_back(other);
    auto unfolded = in_order(permuted(reshaped(given, shape), order), {}, expected);
    if (!unfolded) continue;
    return Fitted{std::move(unfolded->tensor),
                  fmt::format("{} is [{}] and is taken to have samples and heads in one axis, {}.",
                              expected.id, to_string(given.shape()),
                              heads_first ? "the samples of a head one after another"
                                          : "the heads of a sample one after another")};
  }
  return std::nullopt;
}

std::optional<Fitted> with_all_axes(const AnyTensor& given, const AxisNames& axes,
                                    const ExpectedTensor& expected) {
  if (auto fitted = in_order(given, axes, expected)) return fitted;
  return with_folded_heads(given, expected, false);
}

/// One of every `copies` entries along an axis, the next copy being `apart` further on; none where copies
/// differ.
std::optional<AnyTensor> without_copies(const AnyTensor& repeated, const Shape& shape, std::size_t axis,
                                        std::size_t copies, bool is_tiled) {
  auto strides = strides_of(repeated.shape());
  const auto entry = strides[axis];
  if (!is_tiled) strides[axis] *= copies;
  const auto apart = is_tiled ? entry * shape[axis] : entry;
  auto first = strided(repeated, shape, strides);
  for (std::size_t copy = 1; copy < copies; ++copy)
    if (!are_identical(first, strided(repeated, shape, strides, copy * apart))) return std::nullopt;
  return first;
}

/// Key or value heads of which each stands there for every query head that reads it; angles of which each
/// stands there for both numbers of its pair.
std::optional<Fitted> without_repeats(const AnyTensor& given, const AxisNames& axes,
                                      const ExpectedTensor& expected) {
  const bool has_pairs = place_in(expected.axes, "pair").has_value();
  const auto axis = place_in(expected.axes, has_pairs ? "pair" : "kv_head");
  const auto count = element_count(expected.shape), given_count = element_count(given.shape());
  if (!axis || count == 0 || given_count <= count || given_count % count != 0) return std::nullopt;
  const auto copies = given_count / count;
  auto with_copies = expected;
  with_copies.shape[*axis] *= copies;
  const auto repeated = with_all_axes(given, axes, with_copies);
  if (!repeated) return std::nullopt;
  for (const bool is_tiled : {false, true}) {
    auto one_of_each = without_copies(repeated->tensor, expected.shape, *axis, copies, is_tiled);
    if (!one_of_each) continue;
    const auto entries = expected.shape[*axis];
    return Fitted{std::move(*one_of_each),
                  fmt::format("{} has {} {} for {}: {}, of which one is taken.", expected.id,
                              entries * copies, has_pairs ? "pairs" : "heads", entries,
                              is_tiled ? fmt::format("all of them {} times over", copies)
                                       : fmt::format("each one {} times in a row", copies))};
  }
  return std::nullopt;
}

/// The mask with true = may be seen, in the shape that it has.
std::optional<Fitted> with_true_for_seen(const AnyTensor& given, const std::string& name,
                                         const std::string& id, MaskTrue mask_true) {
  constexpr double largest_hidden = -1000.0;
  const auto view = given.view();
  const auto all = [&](auto is_one) {
    for (std::size_t i = 0; i < element_count(view.shape); ++i)
      if (!is_one(view.at(i))) return false;
    return true;
  };
  const bool hides_by_size = !all([](double x) { return x > largest_hidden; });
  const bool is_added = (is_floating(given.dtype()) || hides_by_size) &&
                        all([](double x) { return x == 0.0 || x <= largest_hidden; });
  if (!is_added && !all([](double x) { return x == 0.0 || x == 1.0; })) return std::nullopt;
  const bool is_true_for_hidden = !is_added && mask_true == MaskTrue::hidden;
  AnyTensor mask(Dtype::boolean, given.shape());
  for (std::size_t i = 0; i < element_count(view.shape); ++i)
    mask.elements<bool>()[i] = view.at(i) == (is_added || is_true_for_hidden ? 0.0 : 1.0);
  std::string said;
  if (is_added)
    said = fmt::format("{} is taken for one that is added: 0 for what may be seen.", id);
  else if (is_named_as_in_torch(name))
    said = name + (is_true_for_hidden
                       ? " is taken to be true for what is hidden, as nn.MultiheadAttention has it "
                         "(--mask-true seen: for what may be seen)."
                       : " is taken to be true for what may be seen; nn.MultiheadAttention has it true for "
                         "what is hidden.");
  else if (is_true_for_hidden)
    said = fmt::format("{} has true for what is hidden.", id);
  else if (given.dtype() != Dtype::boolean)
    said = fmt::format("{} is taken for one of 0 and 1: 1 for what may be seen.", id);
  return Fitted{std::move(mask), std::move(said)};
}

/// The place in `axes` that has that role.
std::optional<std::size_t> place_of_role(AxisNames axes, std::string_view role) {
  for (auto& axis : axes) axis = role_of(axis);
  return place_in(axes, role);
}

/// The mask in the expected shape, where its axes have these roles and their lengths agree with that.
std::optional<AnyTensor> read_as(const AnyTensor& given, const AxisNames& roles,
                                 const ExpectedTensor& expected) {
  AxisOrder order(expected.shape.size());
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const auto length = given.shape()[i];
    const auto place = place_of_role(expected.axes, roles[i]);
    if (!place) {
      auto shape = given.shape();
      shape[i] = 1;
      if (!without_copies(given, shape, i, length, true)) return std::nullopt;
    } else if (length == expected.shape[*place]) {
      order[*place] = i;
    } else if (length != 1 || roles[i] == "key") {
      return std::nullopt;
    }
  }
  return ordered(given, expected.shape, order);
}

/// What the axes of a mask may be, by their number.
const std::vector<std::vector<AxisNames>> possible_roles = {
    {},
    {{"key"}},
    {{"query", "key"}, {"batch", "key"}},
    {{"batch", "query", "key"}, {"head", "query", "key"}},
    {{"batch", "head", "query", "key"}}};

struct Reading {
  AxisNames roles;
  AnyTensor mask;
};

/// [batch·head×query×key] as [batch×head×query×key], with the heads of a sample one after another.
std::optional<Reading> read_with_merged_heads(const AnyTensor& given, const ExpectedTensor& expected) {
  const auto place = place_of_role(expected.axes, "batch");
  if (!place || given.shape().size() != 3) return std::nullopt;
  const auto batch = expected.shape[*place], merged = given.shape()[0];
  if (batch == 0 || merged <= batch || merged % batch != 0) return std::nullopt;
  const auto split = reshaped(given, {batch, merged / batch, given.shape()[1], given.shape()[2]});
  auto mask = read_as(split, {"batch", "head", "query", "key"}, expected);
  if (!mask) return std::nullopt;
  return Reading{{"batch·head", "query", "key"}, std::move(*mask)};
}

std::vector<Reading> readings_of(const AnyTensor& given, const ExpectedTensor& expected) {
  std::vector<Reading> readings;
  if (element_count(given.shape()) == 0) return readings;
  if (const auto rank = given.shape().size(); rank < possible_roles.size())
    for (const auto& roles : possible_roles[rank])
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
  if (all_of(readings, [&](const Reading& one) { return are_identical(one.mask, readings[0].mask); }))
    return readings.data();
  for (const auto& reading : readings)
    if (is_named_for(name, reading.roles)) return &reading;
  return nullptr;
}

}  // namespace

std::optional<Fitted> laid_out(const AnyTensor& given, const AxisNames& axes,
                               const ExpectedTensor& expected) {
  if (auto fitted = with_all_axes(given, axes, expected)) return fitted;
  if (auto fitted = in_rows(given, expected)) return fitted;
  return without_repeats(given, axes, expected);
}

std::optional<Fitted> with_batch_axis(const AnyTensor& given, const ExpectedTensor& expected) {
  const bool is_batch_of_one =
      !expected.axes.empty() && expected.axes[0] == "batch" && expected.shape[0] == 1;
  if (!is_batch_of_one || given.shape().size() + 1 != expected.shape.size()) return std::nullopt;
  auto shape = given.shape();
  shape.insert(shape.begin(), 1);
  return Fitted{reshaped(given, shape), sentence_on_batch(expected)};
}

std::optional<Fitted> with_heads_before_samples(const AnyTensor& given, const ExpectedTensor& expected) {
  return with_folded_heads(given, expected, true);
}

std::vector<Fitted> other_orders(const AnyTensor& given, const ExpectedTensor& expected) {
  std::vector<std::size_t> places(given.shape().size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  constexpr std::size_t most_axes = 5;
  std::vector<Fitted> others;
  if (places.size() != expected.shape.size() || places.size() > most_axes) return others;
  while (std::next_permutation(places.begin(), places.end())) {
    const AxisOrder order(places.begin(), places.end());
    if (has_expected_lengths(given.shape(), expected.shape, order) &&
        keeps_queries_before_keys(order, expected.axes))
      others.push_back({ordered(given, expected.shape, order), sentence_of(given.shape(), expected, order)});
  }
  return others;
}

AnyTensor in_kind_of(AnyTensor given, Dtype expected) {
  const bool has_counts = given.dtype() == Dtype::int64 && is_floating(expected);
  if (given.dtype() == expected || (expected != Dtype::int64 && !has_counts)) return given;
  AnyTensor converted(expected, given.shape());
  for (std::size_t i = 0; i < element_count(given.shape()); ++i) {
    if (!has_counts && !is_whole_number(given.view().at(i))) return given;
    store(expected, converted.elements<std::byte>(), i, given.view().at(i));
  }
  return converted;
}

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
