#include "trace/diff/trace_diff.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "trace/filter.hpp"

namespace attn {

namespace {

/// The first entry of the axis that is named differently, as each sample sees it.
std::optional<LabelDiff> compare_labels(const std::string& axis, const AxisLabels& a, const AxisLabels& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const std::string none;
  for (std::size_t sample = 0; sample < std::max(a.lists.size(), b.lists.size()); ++sample) {
    const auto& from_a = a.lists[std::min(sample, a.lists.size() - 1)];
    const auto& from_b = b.lists[std::min(sample, b.lists.size() - 1)];
    for (std::size_t i = 0; i < std::max(from_a.size(), from_b.size()); ++i) {
      const auto& label_a = i < from_a.size() ? from_a[i] : none;
      const auto& label_b = i < from_b.size() ? from_b[i] : none;
      if (label_a != label_b) return LabelDiff{axis, i, label_a, label_b};
    }
  }
  return std::nullopt;
}

std::vector<LabelDiff> compare_labels(const StoredTensor& a, const StoredTensor& b) {
  std::vector<LabelDiff> labels;
  for (std::size_t axis = 0; axis < std::min(a.labels.size(), b.labels.size()); ++axis)
    if (auto label = compare_labels(a.axes[axis], a.labels[axis], b.labels[axis]))
      labels.push_back(std::move(*label));
  return labels;
}

TensorDiff compare_tensors(const StoredTrace& a, std::size_t in_a, const StoredTrace& b, std::size_t in_b,
                           const DiffSettings& settings) {
  const auto& from_a = a.tensors()[in_a];
  const auto& from_b = b.tensors()[in_b];
  TensorDiff diff{.id = from_a.id, .a = &from_a, .b = &from_b};
  diff.tolerance = tolerance_of(settings, default_tolerance(from_a.stored_dtype, from_b.stored_dtype));
  if (from_a.shape != from_b.shape) return diff;
  diff.elements = compare_elements(a.read(in_a).view(), b.read(in_b).view(), diff.tolerance);
  if (diff.has_same_shape()) diff.labels = compare_labels(from_a, from_b);
  return diff;
}

std::vector<OptionDiff> options_that_count(const Header& a, const Header& b, const DiffSettings& settings) {
  if (a.config.empty() || b.config.empty()) return {};
  auto options = compare_options(a.config, b.config);
  const auto a_has = [&](const std::string& name) {
    return std::any_of(a.config.begin(), a.config.end(),
                       [&](const auto& option) { return option.first == name; });
  };
  if (settings.a_is_expected)
    std::erase_if(options, [&](const auto& option) { return !option.is_decisive() || !a_has(option.name); });
  return options;
}

/// What rounding explains in the value of a claim: it was computed in the type of the run.
Tolerance claim_tolerance(const StoredTrace& a, const StoredTrace& b) {
  const auto dtype_of = [](const StoredTrace& trace) -> std::string {
    for (const auto& [name, value] : trace.header().config)
      if (name == "dtype" && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
    return "float64";
  };
  return default_tolerance(dtype_of(a), dtype_of(b));
}

/// Where each id that is to be compared stands in the trace.
std::unordered_map<std::string_view, std::size_t> places_of(const StoredTrace& trace) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) places.emplace(trace.tensors()[i].id, i);
  return places;
}

}  // namespace

Tolerance tolerance_of(const DiffSettings& settings, const Tolerance& otherwise) {
  if (!settings.absolute && !settings.relative) return otherwise;
  return {settings.absolute.value_or(otherwise.absolute), settings.relative.value_or(otherwise.relative)};
}

bool TensorDiff::has_same_shape() const {
  return a->shape == b->shape && (a->axes.empty() || b->axes.empty() || a->axes == b->axes);
}

bool TensorDiff::has_same_kind_of_elements() const {
  return a->dtype == b->dtype || (is_floating(a->dtype) && is_floating(b->dtype));
}

Verdict TensorDiff::verdict() const {
  if (!is_in_both() || !has_same_shape() || !has_same_kind_of_elements()) return Verdict::different;
  if (!labels.empty() || elements->beyond > 0) return Verdict::different;
  return elements->unequal > 0 ? Verdict::within_tolerance : Verdict::equal;
}

bool TraceDiff::has_same_lesson() const {
  return lesson_a.empty() || lesson_b.empty() || lesson_a == lesson_b;
}

Verdict TraceDiff::verdict() const {
  const bool is_decided =
      std::any_of(options.begin(), options.end(), [](const auto& option) { return option.is_decisive(); });
  if (!has_same_lesson() || is_decided || !claims_of_b_hold) return Verdict::different;
  auto verdict = Verdict::equal;
  for (const auto& tensor : tensors) verdict = std::max(verdict, tensor.verdict());
  for (const auto& one : words)
    verdict = std::max(verdict, one.is_within_tolerance ? Verdict::within_tolerance : Verdict::different);
  return verdict;
}

const TensorDiff* TraceDiff::first() const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [](const auto& tensor) { return tensor.verdict() == Verdict::different; });
  return found == tensors.end() ? nullptr : &*found;
}

TraceDiff compare_traces(const StoredTrace& a, const StoredTrace& b, const DiffSettings& settings) {
  TraceDiff diff{.lesson_a = a.header().lesson,
                 .lesson_b = b.header().lesson,
                 .options = options_that_count(a.header(), b.header(), settings)};
  const auto in_a = places_of(a), in_b = places_of(b);
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    const auto& tensor = a.tensors()[i];
    if (!is_selected(tensor.id, settings.only)) continue;
    const auto found = in_b.find(tensor.id);
    diff.tensors.push_back(found == in_b.end() ? TensorDiff{.id = tensor.id, .a = &tensor}
                                               : compare_tensors(a, i, b, found->second, settings));
  }
  for (const auto& tensor : b.tensors())
    if (is_selected(tensor.id, settings.only) && in_a.count(tensor.id) == 0)
      diff.tensors.push_back({.id = tensor.id, .b = &tensor});
  if (settings.only.empty()) diff.words = compare_words(a, b, tolerance_of(settings, claim_tolerance(a, b)));
  return diff;
}

}  // namespace attn
