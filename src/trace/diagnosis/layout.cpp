#include "trace/diagnosis/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn {

namespace {

/// For each expected axis the given one; none for an axis of length 1 that is not there.
using AxisOrder = std::vector<std::optional<std::size_t>>;

std::optional<std::size_t> place_in(const std::vector<std::string>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

/// The order by names; none unless each name of an axis longer than 1 is there on both sides.
std::optional<AxisOrder> order_by_name(const Shape& given, const std::vector<std::string>& axes,
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

std::vector<std::size_t> axes_longer_than_one(const Shape& shape) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1) axes.push_back(axis);
  return axes;
}

Shape lengths_of(const Shape& shape, const std::vector<std::size_t>& axes) {
  Shape lengths;
  for (const auto axis : axes) lengths.push_back(shape[axis]);
  return lengths;
}

bool is_query_axis(const std::string& name) {
  return name == "query" || name == "target";
}

bool is_key_axis(const std::string& name) {
  return name == "key" || name == "source";
}

/// Whether no two axes are equally long, but for those of queries and keys, whose order is known.
bool tell_axes_apart(const Shape& lengths, const std::vector<std::string>& names) {
  const auto are_query_and_key = [&](std::size_t i, std::size_t j) {
    return (is_query_axis(names[i]) && is_key_axis(names[j])) ||
           (is_key_axis(names[i]) && is_query_axis(names[j]));
  };
  for (std::size_t i = 0; i < lengths.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (lengths[i] == lengths[j] && !are_query_and_key(i, j)) return false;
  return true;
}

/// The order by lengths: as it is, but for axes of length 1, or the only one that has the expected lengths;
/// of two equally long axes the first remains the first.
std::optional<AxisOrder> order_by_length(const Shape& given, const ExpectedTensor& expected) {
  const auto given_axes = axes_longer_than_one(given), expected_axes = axes_longer_than_one(expected.shape);
  const auto from = lengths_of(given, given_axes), to = lengths_of(expected.shape, expected_axes);
  std::vector<std::string> names;
  for (const auto axis : expected_axes) names.push_back(expected.axes.empty() ? "" : expected.axes[axis]);
  if (from != to && (from.size() != to.size() || !tell_axes_apart(to, names) ||
                     !std::is_permutation(from.begin(), from.end(), to.begin())))
    return std::nullopt;
  AxisOrder order(expected.shape.size());
  std::vector<bool> is_taken(from.size(), false);
  for (std::size_t i = 0; i < to.size(); ++i) {
    auto place = from == to ? i : std::size_t{0};
    while (from != to && (is_taken[place] || from[place] != to[i])) ++place;
    is_taken[place] = true;
    order[expected_axes[i]] = given_axes[place];
  }
  return order;
}

/// Whether the axes of queries and keys follow each other as they should.
bool keeps_queries_before_keys(const AxisOrder& order, const std::vector<std::string>& axes) {
  const auto query = std::find_if(axes.begin(), axes.end(), is_query_axis) - axes.begin();
  const auto key = std::find_if(axes.begin(), axes.end(), is_key_axis) - axes.begin();
  const auto rank = static_cast<std::ptrdiff_t>(axes.size());
  if (query == rank || key == rank) return true;
  const auto from_query = order[static_cast<std::size_t>(query)],
             from_key = order[static_cast<std::size_t>(key)];
  return !from_query || !from_key || (*from_query < *from_key) == (query < key);
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
std::optional<Fitted> in_order(const AnyTensor& given, const std::vector<std::string>& axes,
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

std::optional<Fitted> with_all_axes(const AnyTensor& given, const std::vector<std::string>& axes,
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
std::optional<Fitted> without_repeats(const AnyTensor& given, const std::vector<std::string>& axes,
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

bool is_whole_number(double x) {
  constexpr double largest_exact = 9007199254740992.0;  // 2^53
  return std::trunc(x) == x && std::abs(x) <= largest_exact;
}

template <class To>
AnyTensor converted(const AnyTensor& given, Dtype dtype) {
  AnyTensor result(dtype, given.shape());
  const auto view = given.view();
  for (std::size_t i = 0; i < element_count(view.shape); ++i)
    result.elements<To>()[i] = static_cast<To>(view.at(i));
  return result;
}

}  // namespace

std::optional<Fitted> laid_out(const AnyTensor& given, const std::vector<std::string>& axes,
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
  const auto view = given.view();
  if (given.dtype() == expected) return given;
  if (expected == Dtype::int64) {
    for (std::size_t i = 0; i < element_count(view.shape); ++i)
      if (!is_whole_number(view.at(i))) return given;
    return converted<std::int64_t>(given, expected);
  }
  return is_floating(expected) && given.dtype() == Dtype::int64 ? converted<double>(given, expected) : given;
}

}  // namespace attn
