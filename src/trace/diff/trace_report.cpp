#include "trace/diff/trace_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace attn {

namespace {

/// "[query 6 × key 6]", "[6×6]" where the axes have no names, "[scalar]".
std::string named_shape(const StoredTensor& tensor) {
  if (tensor.axes.empty()) return fmt::format("[{}]", to_string(tensor.shape));
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < tensor.axes.size(); ++i)
    axes.push_back(fmt::format("{} {}", tensor.axes[i], tensor.shape[i]));
  return fmt::format("[{}]", fmt::join(axes, " × "));
}

std::string label_sentence(const LabelDiff& label, const DiffNames& names) {
  return fmt::format("{} {}: {}", label.axis, label.position,
                     in_both('`' + label.a + '`', '`' + label.b + '`', names));
}

/// What keeps two tensors of one id from being compared number by number, or from being the same although
/// their numbers are.
std::string remark(const TensorDiff& diff, const DiffNames& names) {
  if (!diff.is_in_both()) return "only in " + (diff.a != nullptr ? names.a : names.b);
  if (!diff.has_same_shape()) return in_both(named_shape(*diff.a), named_shape(*diff.b), names);
  if (!diff.has_same_kind_of_elements()) return in_both(diff.a->stored_dtype, diff.b->stored_dtype, names);
  if (diff.elements->unequal == 0 && !diff.labels.empty()) return "labels differ";
  return "";
}

std::string first_number(const TensorDiff& diff, const DiffNames& names) {
  const auto values = in_both(to_string(diff.elements->first_a), to_string(diff.elements->first_b), names);
  if (diff.a->shape.empty()) return fmt::format("{} differs: {}", diff.id, values);
  return fmt::format("{} differs first at {}: {}", diff.id, name_of_place(diff, diff.elements->first),
                     values);
}

std::string first_sentence(const TraceDiff& diff, const DiffNames& names) {
  const auto* tensor = diff.first();
  const auto lesson = diff.lesson_a.empty() ? diff.lesson_b : diff.lesson_a;
  const auto start = lesson.empty() || !diff.has_same_lesson() ? "" : lesson + ": ";
  if (!remark(*tensor, names).empty())
    return start + fmt::format("{} is the first to differ: {}", tensor->id, remark(*tensor, names));
  if (tensor->elements->beyond == 0)
    return start + fmt::format("{} is the first to differ: {}", tensor->id,
                               label_sentence(tensor->labels.front(), names));
  return start + first_number(*tensor, names);
}

std::string words_sentence(const WordsDiff& words, const DiffNames& names) {
  if (words.member.empty())
    return fmt::format("{}: a {} only in {}", words.id, words.a.empty() ? words.b : words.a,
                       words.b.empty() ? names.a : names.b);
  return fmt::format("{}: {}", words.id.empty() ? words.member : words.id + ", " + words.member,
                     in_both('`' + words.a + '`', '`' + words.b + '`', names));
}

std::string within_tolerance_sentence(const TraceDiff& diff, const DiffNames& names) {
  const TensorDiff* farthest = nullptr;
  for (const auto& tensor : diff.tensors)
    if (tensor.elements && tensor.elements->unequal > 0)
      if (farthest == nullptr || tensor.elements->max_absolute > farthest->elements->max_absolute)
        farthest = &tensor;
  if (farthest == nullptr)
    return fmt::format("equal within tolerance; {}\n", words_sentence(diff.words.front(), names));
  const bool is_scalar = farthest->a->shape.empty();
  const auto place = is_scalar ? "" : " at " + name_of_place(*farthest, farthest->elements->farthest);
  return fmt::format("equal within tolerance; the largest difference is {} in {}{}\n",
                     format_error(farthest->elements->max_absolute), farthest->id, place);
}

std::string format_labels(const TraceDiff& diff, const DiffNames& names) {
  std::string text;
  std::set<std::string> axes;
  for (const auto& tensor : diff.tensors)
    for (const auto& label : tensor.labels)
      if (axes.insert(label.axis).second) text += "  " + format_paragraph(label_sentence(label, names));
  return text.empty() ? "" : "Labels differ\n" + text;
}

std::string format_words(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::string text;
  for (const auto& words : diff.words)
    if (all || !words.is_within_tolerance) text += "  " + format_paragraph(words_sentence(words, names));
  return text.empty() ? "" : "Words differ\n" + text;
}

std::vector<std::string> row_of(const TensorDiff& diff, const DiffNames& names) {
  const auto& tensor = diff.a != nullptr ? *diff.a : *diff.b;
  if (!diff.is_in_both() || !diff.elements) return {diff.id, remark(diff, names)};
  std::vector<std::string> row = {diff.id, to_string(tensor.shape)};
  if (const auto text = remark(diff, names); !text.empty()) {
    row.push_back(text);
    return row;
  }
  row.push_back(format_share(diff.elements->beyond, element_count(tensor.shape)));
  row.push_back(format_error(diff.elements->max_absolute));
  row.push_back(format_error(diff.elements->max_relative));
  return row;
}

std::string format_table(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::vector<std::string>> rows = {{"id", "shape", "differ", "max abs", "max rel"}};
  for (const auto& tensor : diff.tensors)
    if (all || tensor.verdict() == Verdict::different) rows.push_back(row_of(tensor, names));
  return rows.size() == 1 ? "" : format_columns(rows);
}

/// Which tensors have other element types, as wide ones beside narrow ones.
std::string format_types(const TraceDiff& diff, const DiffNames& names) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& tensor : diff.tensors)
    if (tensor.is_in_both() && tensor.a->stored_dtype != tensor.b->stored_dtype)
      rows.push_back({tensor.id, in_both(tensor.a->stored_dtype, tensor.b->stored_dtype, names)});
  return rows.empty() ? "" : "Element types differ\n" + format_columns(rows);
}

std::string format_count(const TraceDiff& diff) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(diff.tensors.begin(), diff.tensors.end(),
                         [&](const auto& tensor) { return tensor.verdict() == verdict; });
  };
  const auto different = count(Verdict::different), close = count(Verdict::within_tolerance);
  const auto rest = close > 0 ? fmt::format(", {} only within tolerance", close) : "";
  return different == 0
             ? fmt::format("All {} inputs and steps agree{}.\n", diff.tensors.size(), rest)
             : fmt::format("{} of {} inputs and steps differ{}.\n", different, diff.tensors.size(), rest);
}

}  // namespace

std::vector<std::size_t> index_of(const Shape& shape, std::size_t offset) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis]) index[axis] = offset % shape[axis];
  return index;
}

std::string name_of_place(const TensorDiff& diff, std::size_t offset) {
  const auto& tensor = diff.a->axes.empty() ? *diff.b : *diff.a;
  const auto index = index_of(tensor.shape, offset);
  if (tensor.axes.empty()) return fmt::format("[{}]", fmt::join(index, ", "));
  const std::size_t sample = tensor.axes.front() == "batch" ? index.front() : 0;
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    axes.push_back(fmt::format("{} {}", tensor.axes[axis], index[axis]));
    if (const auto& labels = tensor.labels[axis]; !labels.empty())
      axes.back() += fmt::format(" `{}`", labels.of(sample)[index[axis]]);
  }
  return fmt::format("[{}]", fmt::join(axes, " × "));
}

std::string format_diff(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::string> parts;
  if (!diff.has_same_lesson())
    parts.push_back(format_paragraph("Lessons differ: " + in_both(diff.lesson_a, diff.lesson_b, names)));
  parts.push_back(format_options(diff.options, names));
  parts.push_back(format_labels(diff, names));
  if (diff.first() != nullptr) parts.push_back(format_paragraph(first_sentence(diff, names)));
  if (diff.verdict() == Verdict::within_tolerance) parts.push_back(within_tolerance_sentence(diff, names));
  parts.push_back(format_table(diff, names, all));
  parts.push_back(format_words(diff, names, all));
  if (all) parts.push_back(format_types(diff, names));
  std::erase(parts, "");
  const bool has_difference = !parts.empty() && diff.verdict() == Verdict::different;
  if (all || has_difference) parts.push_back(format_count(diff));
  if (!diff.claims_of_b_hold) parts.push_back(fmt::format("Not all claims hold on {}.\n", names.b));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

}  // namespace attn
