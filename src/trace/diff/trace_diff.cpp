#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "trace/diff/diff.hpp"
#include "trace/filter.hpp"
#include "trace/json/json.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

std::int64_t whole_number_at(const TensorView& tensor, std::size_t offset) {
  return tensor.dtype == Dtype::boolean ? static_cast<const bool*>(tensor.data)[offset]
                                        : static_cast<const std::int64_t*>(tensor.data)[offset];
}

/// |a − b| of the elements at that offset, rounded once; infinite where there is no such number.
double distance_at(std::size_t offset, const TensorView& a, const TensorView& b) {
  if (is_floating(a.dtype) || is_floating(b.dtype)) return difference(a.at(offset), b.at(offset));
  const auto x = whole_number_at(a, offset), y = whole_number_at(b, offset);
  const auto large = static_cast<std::uint64_t>(std::max(x, y)),
             small = static_cast<std::uint64_t>(std::min(x, y));
  return static_cast<double>(large - small);
}

/// The largest finite magnitude of as many elements.
double largest_magnitude(const TensorView& tensor, std::size_t begin, std::size_t count) {
  double largest = 0.0;
  for (auto i = begin; i < begin + count; ++i)
    if (const double size = std::abs(tensor.at(i)); std::isfinite(size)) largest = std::max(largest, size);
  return largest;
}

/// In its own type, or in float64 where it is shown beside one of another type.
Number number_at(const TensorView& tensor, std::size_t offset, bool in_own_type) {
  if (in_own_type && tensor.dtype == Dtype::boolean) return whole_number_at(tensor, offset) != 0;
  if (in_own_type && tensor.dtype == Dtype::int64) return whole_number_at(tensor, offset);
  return in_own_type ? with_fewest_digits(tensor.at(offset), tensor.dtype) : tensor.at(offset);
}

const std::set<std::string_view> of_reading = {"input", "set",    "embeddings", "dtype",
                                               "steps", "shapes", "precision",  "full"};
const std::set<std::string_view> of_drawing = {"seed", "rng", "draws", "weight_scale"};

/// What is called so, or the nothing of its kind.
template <class Value>
Value member_of(const std::vector<std::pair<std::string, Value>>& members, const std::string& name) {
  for (const auto& [member, value] : members)
    if (member == name) return value;
  return {};
}

bool has_member(const Config& config, const std::string& name) {
  return any_of(config, [&](const auto& member) { return member.first == name; });
}

/// In the order of A, then those that are in B alone. A number is the same whether it is written 1 or 1.0.
std::vector<OptionDiff> compare_options(const Config& a, const Config& b) {
  std::vector<OptionDiff> options;
  for (const auto& [name, value] : a) options.push_back({name, value, member_of(b, name)});
  for (const auto& [name, value] : b)
    if (!has_member(a, name)) options.push_back({name, {}, value});
  std::erase_if(options,
                [](const auto& option) { return option_as_json(option.a) == option_as_json(option.b); });
  return options;
}

bool are_close(const std::string& a, const std::string& b, const Tolerance& tolerance) {
  const auto number_a = number_in(a), number_b = number_in(b);
  return number_a && number_b && tolerance.accepts(*number_a, *number_b);
}

/// The first entry of the axis that is named differently, as each sample sees it.
std::optional<LabelDiff> compare_labels(const std::string& axis, const AxisLabels& a, const AxisLabels& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  for (std::size_t sample = 0; sample < std::max(a.lists.size(), b.lists.size()); ++sample) {
    const auto &of_a = a.of(sample), &of_b = b.of(sample);
    for (std::size_t i = 0; i < std::min(of_a.size(), of_b.size()); ++i)
      if (of_a[i] != of_b[i]) return LabelDiff{axis, i, of_a[i], of_b[i]};
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

TensorDiff compare_tensors(const StoredTrace& a, const StoredTrace& b, const std::string& id,
                           const DiffSettings& settings) {
  const auto *const from_a = a.find(id), *const from_b = b.find(id);
  TensorDiff diff{.id = id};
  if (from_a != nullptr) diff.a = *from_a;
  if (from_b != nullptr) diff.b = *from_b;
  if (!diff.is_in_both()) return diff;
  diff.tolerance = tolerance_of(settings, default_tolerance(diff.a->stored_dtype, diff.b->stored_dtype));
  if (diff.a->shape != diff.b->shape) return diff;
  diff.elements = compare_elements(a.read(id).view(), b.read(id).view(), diff.tolerance);
  if (diff.has_same_shape()) diff.labels = compare_labels(*diff.a, *diff.b);
  return diff;
}

std::vector<OptionDiff> options_that_count(const Header& a, const Header& b, const DiffSettings& settings) {
  if (a.config.empty() || b.config.empty() || settings.ignores_config) return {};
  auto options = compare_options(a.config, b.config);
  if (settings.a_is_expected)
    std::erase_if(options, [&](const auto& option) {
      return !option.is_decisive() || !has_member(a.config, option.name);
    });
  if (settings.only_common)
    std::erase_if(options,
                  [](const auto& option) { return option.a == ConfigValue() || option.b == ConfigValue(); });
  return options;
}

/// What rounding explains in the value of a claim: it was computed in the type of the run.
Tolerance claim_tolerance(const StoredTrace& a, const StoredTrace& b) {
  const auto dtype_of = [](const StoredTrace& trace) {
    const auto text = trace.header().text("dtype");
    return text.empty() ? "float64" : text;
  };
  return default_tolerance(dtype_of(a), dtype_of(b));
}

std::string ids_of(const StoredTrace& trace) {
  return fmt::format("{}", fmt::join(ids_in(trace.tensors()), ", "));
}

void require_used(const DiffSettings& settings, const StoredTrace& a, const StoredTrace& b) {
  for (const auto& [from, to] : settings.renames) {
    const Renames alone = {{from, to}};
    const auto is_there = [&](const StoredTrace& trace) {
      return any_of(trace.tensors(),
                    [&](const auto& tensor) { return renamed(tensor.id, alone) != tensor.id; });
    };
    if (!is_there(a) && !is_there(b))
      throw Error(fmt::format("--rename {}={}: neither has {}; valid: one of {}; {}", from, to, from,
                              ids_of(a), ids_of(b)));
  }
}

/// Event by event under their ids, where both have words. An input or a step that is in one trace only is
/// left to whoever compares tensors.
std::vector<WordsDiff> compare_words(const StoredTrace& a, const StoredTrace& b, const Tolerance& tolerance) {
  if (a.words().empty() || b.words().empty()) return {};
  std::vector<WordsDiff> diffs;
  const auto add = [&](const std::string& id, const std::string& member, const std::string& of_a,
                       const std::string& of_b) {
    if (of_a != of_b)
      diffs.push_back({id, member, of_a, of_b, member == "value" && are_close(of_a, of_b, tolerance)});
  };
  add("", "title", a.header().title, b.header().title);
  for (const auto& words : a.words()) {
    const auto* other = find_by_id(b.words(), words.id);
    if (other == nullptr && a.find(words.id) == nullptr)
      add(words.id, "", member_of(words.members, "kind"), "");
    if (other == nullptr) continue;
    const auto& members = other->members;
    for (const auto& [name, value] : words.members) add(words.id, name, value, member_of(members, name));
    for (const auto& [name, value] : members)
      if (member_of(words.members, name).empty()) add(words.id, name, "", value);
  }
  for (const auto& words : b.words())
    if (find_by_id(a.words(), words.id) == nullptr && b.find(words.id) == nullptr)
      add(words.id, "", "", member_of(words.members, "kind"));
  return diffs;
}

}  // namespace

bool Tolerance::accepts(double a, double b) const {
  return is_near(a, b, 0.0) || allows(difference(a, b), b);
}

bool Tolerance::allows(double distance, double b) const {
  return std::isfinite(distance) && distance <= absolute + relative * std::abs(b);
}

Tolerance default_tolerance(std::string_view dtype) {
  if (dtype == "float64") return {1e-12, 1e-10, true};
  if (dtype == "float32") return {1e-6, 1e-5, true};
  if (dtype == "float16") return {1e-3, 1e-3, true};
  if (dtype == "bfloat16") return {1e-2, 1e-2, true};
  return {};
}

Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b) {
  const auto a = default_tolerance(dtype_a), b = default_tolerance(dtype_b);
  return {std::max(a.absolute, b.absolute), std::max(a.relative, b.relative), a.is_of_row || b.is_of_row};
}

bool NumberDiff::add_unequal(double distance, double b) {
  const bool is_farthest = ++unequal == 1 || distance > max_absolute;
  max_absolute = std::max(max_absolute, distance);
  const double relative = std::isinf(distance) ? distance : b == 0.0 ? 0.0 : distance / std::abs(b);
  max_relative = std::max(max_relative, relative);
  return is_farthest;
}

std::string to_string(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

ElementDiff compare_elements(const TensorView& a, const TensorView& b, const Tolerance& tolerance) {
  if (a.shape != b.shape)
    throw std::invalid_argument(
        fmt::format("[compare_elements] {} beside {}", to_string(a.shape), to_string(b.shape)));
  ElementDiff diff;
  const auto count = element_count(a.shape);
  if (count == 0 || (a.dtype == b.dtype && std::memcmp(a.data, b.data, count * size_of(a.dtype)) == 0))
    return diff;
  const auto row_length = a.shape.empty() ? 1 : a.shape.back();
  std::optional<double> of_row;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % row_length == 0) of_row.reset();
    const double distance = distance_at(i, a, b);
    if (distance == 0.0) continue;
    if (tolerance.is_of_row && !of_row) of_row = largest_magnitude(b, i - i % row_length, row_length);
    if (diff.add_unequal(distance, b.at(i))) diff.farthest = i;
    if (!tolerance.allows(distance, of_row.value_or(b.at(i))) && diff.beyond++ == 0) diff.first = i;
  }
  if (diff.beyond > 0) {
    diff.first_a = number_at(a, diff.first, a.dtype == b.dtype);
    diff.first_b = number_at(b, diff.first, a.dtype == b.dtype);
  }
  return diff;
}

bool OptionDiff::is_decisive(bool has_tolerance) const {
  return !of_reading.contains(name) && !(has_tolerance && of_drawing.contains(name));
}

Tolerance tolerance_of(const DiffSettings& settings, const Tolerance& otherwise) {
  if (!settings.absolute && !settings.relative) return otherwise;
  return {settings.absolute.value_or(otherwise.absolute), settings.relative.value_or(otherwise.relative),
          otherwise.is_of_row && !settings.relative};
}

bool TensorDiff::has_same_shape() const {
  return a->shape == b->shape && (a->axes.empty() || b->axes.empty() || a->axes == b->axes);
}

bool TensorDiff::has_same_kind_of_elements() const {
  return a->dtype == b->dtype || (is_floating(a->dtype) && is_floating(b->dtype));
}

std::string_view TensorDiff::difference() const {
  if (!is_in_both()) return a ? "only in a" : "only in b";
  if (!has_same_shape()) return "shapes";
  if (!has_same_kind_of_elements()) return "element types";
  if (elements->beyond > 0) return "numbers";
  if (!labels.empty()) return "labels";
  return elements->unequal > 0 ? "within tolerance" : "none";
}

Verdict verdict_of(std::string_view difference) {
  if (difference == "none") return Verdict::equal;
  return difference == "within tolerance" ? Verdict::within_tolerance : Verdict::different;
}

bool TraceDiff::has_same_lesson() const {
  return lesson_a.empty() || lesson_b.empty() || lesson_a == lesson_b;
}

Verdict TraceDiff::verdict() const {
  const bool is_decided =
      any_of(options, [&](const auto& option) { return option.is_decisive(has_tolerance); });
  if ((!only_common && !has_same_lesson()) || is_decided) return Verdict::different;
  auto verdict = PartsDiff::verdict();
  for (const auto& one : words)
    verdict = std::max(verdict, one.is_within_tolerance ? Verdict::within_tolerance : Verdict::different);
  return verdict;
}

TraceDiff compare_traces(const StoredTrace& given_a, const StoredTrace& given_b,
                         const DiffSettings& settings) {
  require_used(settings, given_a, given_b);
  const RenamedTrace a(given_a, settings.renames), b(given_b, settings.renames);
  TraceDiff diff;
  diff.lesson_a = a.header().lesson;
  diff.lesson_b = b.header().lesson;
  diff.options = options_that_count(a.header(), b.header(), settings);
  diff.has_tolerance = settings.absolute || settings.relative;
  diff.only_common = settings.only_common;
  const auto add = [&](const StoredTrace& from, auto is_wanted) {
    for (const auto& tensor : from.tensors())
      if (is_selected(tensor.id, settings.only) && is_wanted(tensor.id))
        diff.parts.push_back(compare_tensors(a, b, tensor.id, settings));
  };
  add(a, [&](const auto& id) { return !settings.only_common || b.find(id) != nullptr; });
  add(b, [&](const auto& id) { return !settings.only_common && a.find(id) == nullptr; });
  const auto is_input = [](const TensorDiff& tensor) {
    return tensor.b->kind.value_or(tensor.a->kind.value_or(Kind::step)) == Kind::input;
  };
  if (settings.only_common && all_of(diff.parts, is_input)) {
    const auto* common = diff.parts.empty() ? "no id is in both, but {} in A and {} in B"
                                            : "no step is in both, but inputs alone; A has {}, and B {}";
    throw Error(fmt::format("--only-common: {}; valid: --rename A=B",
                            fmt::format(fmt::runtime(common), ids_of(given_a), ids_of(given_b))));
  }
  if (settings.only.empty() && !settings.only_common && !settings.ignores_config && settings.renames.empty())
    diff.words = compare_words(a, b, tolerance_of(settings, claim_tolerance(a, b)));
  return diff;
}

}  // namespace attn
