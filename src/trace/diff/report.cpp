#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "trace/diff/diff.hpp"
#include "trace/entry.hpp"
#include "trace/json/json.hpp"
#include "trace/wording.hpp"

namespace attn {

namespace {

constexpr std::size_t page_width = 80;
constexpr std::size_t indent = 2;
constexpr std::size_t left_columns = 2;

std::string in_both(const std::string& a, const std::string& b, const DiffNames& names) {
  return fmt::format("{} in {}, {} in {}", a, names.a, b, names.b);
}

std::string format_error(double error) {
  return fmt::format("{:.2g}", error);
}

/// How many of so many numbers differ, and by how much: relative by "-" where none of them is beside a number
/// to which it is relative.
std::vector<std::string> cells_of(const NumberDiff& diff, std::size_t numbers) {
  const bool has_relative = diff.max_relative != 0.0 || diff.unequal == 0;
  return {fmt::format("{} of {}", diff.beyond, numbers), format_error(diff.max_absolute),
          has_relative ? format_error(diff.max_relative) : "-"};
}

template <class Part>
bool is_different(const Part& part) {
  return verdict_of(part.difference()) == Verdict::different;
}

std::string value_text(const ConfigValue& value) {
  return std::holds_alternative<std::monostate>(value) ? "unset" : option_as_json(value);
}

std::string label_sentence(const LabelDiff& label, const DiffNames& names) {
  return fmt::format("{} {}: {}", label.axis, label.position,
                     in_both('`' + label.a + '`', '`' + label.b + '`', names));
}

/// What keeps two tensors of one id from being compared number by number, or from being the same although
/// their numbers are.
std::string remark(const TensorDiff& diff, const DiffNames& names) {
  if (!diff.is_in_both()) return "only in " + (diff.a ? names.a : names.b);
  if (!diff.has_same_shape())
    return in_both(named_shape(diff.a->axes, diff.a->shape), named_shape(diff.b->axes, diff.b->shape), names);
  if (!diff.has_same_kind_of_elements()) return in_both(diff.a->stored_dtype, diff.b->stored_dtype, names);
  if (diff.elements->unequal == 0 && !diff.labels.empty()) return "labels differ";
  return "";
}

/// "[query 2 `sat` × key 0 `The`]": the same with the names and labels that one of the traces has for the
/// axes.
std::string name_of_place(const TensorDiff& diff, std::size_t offset) {
  const auto& tensor = diff.a->axes.empty() ? *diff.b : *diff.a;
  const auto index = index_at(offset, tensor.shape);
  if (tensor.axes.empty()) return fmt::format("[{}]", fmt::join(index, ", "));
  const std::size_t sample = tensor.axes.front() == "batch" ? index[0] : 0;
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    axes.push_back(fmt::format("{} {}", tensor.axes[axis], index[axis]));
    if (const auto& labels = tensor.labels[axis]; !labels.empty())
      axes.back() += fmt::format(" `{}`", labels.of(sample)[index[axis]]);
  }
  return fmt::format("[{}]", fmt::join(axes, " × "));
}

std::string first_number(const TensorDiff& diff, const DiffNames& names) {
  const auto values = in_both(to_string(diff.elements->first_a), to_string(diff.elements->first_b), names);
  if (diff.a->shape.empty()) return fmt::format("{} differs: {}", diff.id, values);
  return fmt::format("{} differs first at {}: {}", diff.id, name_of_place(diff, diff.elements->first),
                     values);
}

/// The tensor with the largest difference; null where no number differs.
const TensorDiff* farthest_of(const TraceDiff& diff) {
  const TensorDiff* farthest = nullptr;
  for (const auto& tensor : diff.parts)
    if (tensor.elements && tensor.elements->unequal > 0)
      if (farthest == nullptr || tensor.elements->max_absolute > farthest->elements->max_absolute)
        farthest = &tensor;
  return farthest;
}

/// "the largest difference is 0.5 in weights at [query 0 × key 1]"; empty where no number differs.
std::string largest_in_words(const TraceDiff& diff) {
  const auto* farthest = farthest_of(diff);
  if (farthest == nullptr) return "";
  const bool is_scalar = farthest->a->shape.empty();
  const auto place = is_scalar ? "" : " at " + name_of_place(*farthest, farthest->elements->farthest);
  return fmt::format("the largest difference is {} in {}{}", format_error(farthest->elements->max_absolute),
                     farthest->id, place);
}

std::string first_sentence(const TraceDiff& diff, const DiffNames& names) {
  const auto* tensor = diff.first();
  const auto lesson = diff.lesson_a.empty() ? diff.lesson_b : diff.lesson_a;
  const auto start = lesson.empty() || !diff.has_same_lesson() ? "" : lesson + ": ";
  const auto largest = largest_in_words(diff);
  const bool is_any_in_both = any_of(diff.parts, std::mem_fn(&TensorDiff::is_in_both));
  if (!tensor->is_in_both())
    return start + fmt::format("{}{}. {} is {}",
                               is_any_in_both ? "what both have agrees" : "no id is in both",
                               largest.empty() ? "" : "; " + largest, tensor->id, remark(*tensor, names));
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
  const auto largest = largest_in_words(diff);
  return fmt::format("equal within tolerance; {}\n",
                     largest.empty() ? words_sentence(diff.words.front(), names) : largest);
}

/// A heading, and each sentence below it; nothing where there are none.
std::string below(const std::string& heading, const std::vector<std::string>& sentences) {
  std::string text;
  for (const auto& sentence : sentences) text += "  " + format_paragraph(sentence);
  return text.empty() ? "" : heading + '\n' + text;
}

std::string format_labels(const TraceDiff& diff, const DiffNames& names) {
  std::vector<std::string> sentences;
  std::set<std::string> axes;
  for (const auto& tensor : diff.parts)
    for (const auto& label : tensor.labels)
      if (axes.insert(label.axis).second) sentences.push_back(label_sentence(label, names));
  return below("Labels differ", sentences);
}

/// Whether a member is data, a drawing or code: nobody reads that in a sentence.
bool is_told_by_name(const WordsDiff& words) {
  const auto is_long = [](const std::string& text) {
    return text.starts_with('{') || text.starts_with('[') || text.find('\n') != text.npos;
  };
  return !words.member.empty() && (is_long(words.a) || is_long(words.b));
}

std::string format_words(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::string> sentences, members;
  std::map<std::string, std::vector<std::string>> ids;  // by member
  for (const auto& words : diff.words) {
    if (!all && words.is_within_tolerance) continue;
    if (!is_told_by_name(words)) {
      sentences.push_back(words_sentence(words, names));
      continue;
    }
    if (!contains(members, words.member)) members.push_back(words.member);
    ids[words.member].push_back(words.id.empty() ? "the lesson" : words.id);
  }
  for (const auto& member : members)
    sentences.push_back(fmt::format("{} differs in {}", member, fmt::join(ids.at(member), ", ")));
  return below("Words differ", sentences);
}

std::string format_options(const std::vector<OptionDiff>& options, const DiffNames& names) {
  return below("Configurations differ", each_of(options, [&](const auto& option) {
                 return fmt::format("{}: {}", option.name,
                                    in_both(value_text(option.a), value_text(option.b), names));
               }));
}

std::vector<std::string> row_of(const TensorDiff& diff, const DiffNames& names) {
  const auto& tensor = diff.a ? *diff.a : *diff.b;
  if (!diff.is_in_both() || !diff.elements) return {diff.id, remark(diff, names)};
  const auto text = remark(diff, names);
  auto cells = text.empty() ? cells_of(*diff.elements, element_count(tensor.shape)) : std::vector{text};
  cells.insert(cells.begin(), {diff.id, to_string(tensor.shape)});
  return cells;
}

std::string format_table(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::vector<std::string>> rows = {{"id", "shape", "differ", "max abs", "max rel"}};
  std::vector<const TensorDiff*> shown;
  for (const auto& tensor : diff.parts)
    if (all || is_different(tensor)) shown.push_back(&tensor);
  const auto size_of = [](const TensorDiff* tensor) {
    if (!tensor->is_in_both()) return -1.0;
    return tensor->elements ? tensor->elements->max_absolute : std::numeric_limits<double>::infinity();
  };
  if (!all)
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const auto* a, const auto* b) { return size_of(a) > size_of(b); });
  for (const auto* tensor : shown) rows.push_back(row_of(*tensor, names));
  return rows.size() == 1 ? "" : format_columns(rows);
}

/// Which tensors have other element types, as wide ones beside narrow ones.
std::string format_types(const TraceDiff& diff, const DiffNames& names) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& tensor : diff.parts)
    if (tensor.is_in_both() && tensor.a->stored_dtype != tensor.b->stored_dtype)
      rows.push_back({tensor.id, in_both(tensor.a->stored_dtype, tensor.b->stored_dtype, names)});
  return rows.empty() ? "" : "Element types differ\n" + format_columns(rows);
}

std::string format_count(const TraceDiff& diff) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(diff.parts.begin(), diff.parts.end(),
                         [&](const auto& tensor) { return verdict_of(tensor.difference()) == verdict; });
  };
  const auto alone = std::count_if(diff.parts.begin(), diff.parts.end(),
                                   [](const auto& tensor) { return !tensor.is_in_both(); });
  const auto compared = static_cast<std::ptrdiff_t>(diff.parts.size()) - alone;
  const auto different = count(Verdict::different) - alone, close = count(Verdict::within_tolerance);
  const auto rest = (close > 0 ? fmt::format(", {} only within tolerance", close) : "") +
                    (alone > 0 ? fmt::format("; {} not compared", alone) : "");
  return different == 0 ? fmt::format("All {} inputs and steps agree{}.\n", compared, rest)
                        : fmt::format("{} of {} inputs and steps differ{}.\n", different, compared, rest);
}

constexpr std::size_t longest_name = 30;

/// "line 57", "line 57 in A, 58 in B", "line 57 in A only".
std::string lines_text(std::size_t a, std::size_t b, const DiffNames& names) {
  if (a == 0 || b == 0) return fmt::format("line {} in {} only", std::max(a, b), a > 0 ? names.a : names.b);
  if (a == b) return fmt::format("line {}", a);
  return "line " + in_both(fmt::format("{}", a), fmt::format("{}", b), names);
}

/// `scores`, or “The idea” for what is no input or step.
std::string short_name(const TextSectionDiff& section) {
  return section.is_step ? section.name : "“" + shorten(section.name, longest_name) + "”";
}

std::string both_lines(const TextPlace& place, const DiffNames& names) {
  const auto width = std::max(display_width(names.a), display_width(names.b));
  std::string text;
  const auto add = [&](const std::string& name, const std::string& line) {
    text += fmt::format("  {}  {}\n", pad_right(name, width), printable(line));
  };
  if (place.line_a > 0) add(names.a, place.text_a);
  if (place.line_b > 0) add(names.b, place.text_b);
  return text;
}

std::string word_text(const std::string& word) {
  if (word.empty()) return "nothing";
  return number_in(word) ? word : '`' + word + '`';
}

std::string first_sentence(const TextSectionDiff& section, const DiffNames& names) {
  if (!section.is_in_both())
    return format_paragraph(fmt::format("{} is the first to differ: {}", short_name(section),
                                        lines_text(section.line_a, section.line_b, names)));
  const auto& place = *section.first;
  auto text = fmt::format("{} differs first at {}", short_name(section),
                          lines_text(place.line_a, place.line_b, names));
  if (place.line_a > 0 && place.line_b > 0)
    text += ": " + in_both(word_text(place.word_a), word_text(place.word_b), names);
  return format_paragraph(text) + both_lines(place, names);
}

std::string within_tolerance_sentence(const TextDiff& diff, const DiffNames& names) {
  const TextSectionDiff* farthest = nullptr;
  for (const auto& section : diff.parts)
    if (section.farthest && (farthest == nullptr || section.max_absolute > farthest->max_absolute))
      farthest = &section;
  return fmt::format("equal within tolerance; the largest difference is {} in {} at {}\n",
                     format_error(farthest->max_absolute), short_name(*farthest),
                     lines_text(farthest->farthest->line_a, farthest->farthest->line_b, names));
}

std::vector<std::string> row_of(const TextSectionDiff& section, const DiffNames& names) {
  const auto [a, b] = std::pair(section.line_a, section.line_b);
  if (!section.is_in_both()) return {short_name(section), lines_text(a, b, names)};
  const auto lines = a == b ? fmt::format("{}", a) : fmt::format("{}, {}", a, b);
  if (section.difference() == "none") return {short_name(section), lines, "equal"};
  const auto cells = cells_of(section, section.numbers);
  return {short_name(section), lines, cells[0], fmt::format("{}", section.words), cells[1], cells[2]};
}

std::string format_table(const TextDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::vector<std::string>> rows = {
      {"id or heading", "lines", "numbers", "words", "max abs", "max rel"}};
  for (const auto& section : diff.parts)
    if (all || is_different(section)) rows.push_back(row_of(section, names));
  constexpr std::size_t heading = 1, most = 10;
  const auto more = all || rows.size() <= heading + most ? 0 : rows.size() - heading - most;
  rows.resize(rows.size() - more);
  return (rows.size() == 1 ? "" : format_columns(rows)) +
         (more == 0 ? "" : fmt::format("  … and {} more, which --all lists\n", more));
}

std::string format_count(const TextDiff& diff) {
  const auto differ = std::count_if(diff.parts.begin(), diff.parts.end(), is_different<TextSectionDiff>);
  return differ == 0 ? fmt::format("All {} headings agree.\n", diff.parts.size())
                     : fmt::format("{} of {} headings have differences.\n", differ, diff.parts.size());
}

/// The paragraphs, with how many differ and whether the claims hold below them.
template <class Diff>
std::string with_summary(std::vector<std::string> parts, const Diff& diff, const DiffNames& names, bool all) {
  std::erase(parts, "");
  const bool has_difference = !parts.empty() && diff.verdict() == Verdict::different;
  if (all || has_difference) parts.push_back(format_count(diff));
  if (!diff.claims_of_b_hold) parts.push_back(fmt::format("Not all claims hold on {}.\n", names.b));
  return fmt::format("{}", fmt::join(parts, "\n"));
}

using Json = nlohmann::ordered_json;

Json sides(Json a, Json b) {
  return {{"a", std::move(a)}, {"b", std::move(b)}};
}

/// As in a trace: what is no finite number is a text.
Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0.0 ? "-Infinity" : "Infinity";
  return value;
}

Json number(const Number& value) {
  if (const auto* floating = std::get_if<double>(&value)) return number(*floating);
  return std::visit([](auto typed) { return Json(typed); }, value);
}

/// Null in the place of an empty text, or of the line 0.
template <class T>
Json or_null(const T& value) {
  return value == T() ? Json() : Json(value);
}

/// The relative error is null where nothing that is unequal is beside a number to which it is relative.
void add_numbers(Json& entry, const NumberDiff& diff, std::optional<std::size_t> words = std::nullopt) {
  entry["unequal"] = diff.unequal;
  entry["differ"] = diff.beyond;
  if (words) entry["words"] = *words;
  entry["max_absolute"] = number(diff.max_absolute);
  entry["max_relative"] = diff.max_relative == 0.0 && diff.unequal > 0 ? Json() : number(diff.max_relative);
}

std::string_view name_of(Verdict verdict) {
  const std::string_view names[] = {"equal", "within tolerance", "different"};
  return names[static_cast<int>(verdict)];
}

Json options_json(const std::vector<OptionDiff>& options) {
  auto list = Json::array();
  for (const auto& option : options) {
    Json entry = {{"name", option.name}};
    entry.update(sides(Json::parse(option_as_json(option.a)), Json::parse(option_as_json(option.b))));
    list.push_back(std::move(entry));
  }
  return list;
}

template <class Member>
Json of_both(const TensorDiff& diff, Member member) {
  return sides(diff.a ? Json((*diff.a).*member) : Json(), diff.b ? Json((*diff.b).*member) : Json());
}

Json tensor_json(const TensorDiff& diff) {
  Json entry = {{"id", diff.id}, {"difference", diff.difference()}};
  entry["shape"] = of_both(diff, &StoredTensor::shape);
  entry["axes"] = of_both(diff, &StoredTensor::axes);
  entry["dtype"] = of_both(diff, &StoredTensor::stored_dtype);
  if (!diff.elements) return entry;
  entry["tolerance"] = {{"absolute", diff.tolerance.absolute}, {"relative", diff.tolerance.relative}};
  entry["elements"] = element_count(diff.a->shape);
  add_numbers(entry, *diff.elements);
  for (const auto& [axis, position, a, b] : diff.labels)
    entry["labels"].push_back({{"axis", axis}, {"position", position}, {"a", a}, {"b", b}});
  return entry;
}

Json first_json(const TraceDiff& diff) {
  const auto* first = diff.first();
  if (first == nullptr) return nullptr;
  Json entry = {{"id", first->id}, {"difference", first->difference()}};
  if (first->difference() != "numbers") return entry;
  entry["index"] = index_at(first->elements->first, first->a->shape);
  entry["place"] = name_of_place(*first, first->elements->first);
  entry.update(sides(number(first->elements->first_a), number(first->elements->first_b)));
  return entry;
}

Json start_of(const TextSectionDiff& diff) {
  return {{diff.is_step ? "id" : "heading", diff.name}, {"difference", diff.difference()}};
}

Json section_json(const TextSectionDiff& diff) {
  auto entry = start_of(diff);
  entry["line"] = sides(or_null(diff.line_a), or_null(diff.line_b));
  if (!diff.is_in_both()) return entry;
  entry["numbers"] = diff.numbers;
  add_numbers(entry, diff, diff.words);
  return entry;
}

Json first_json(const TextDiff& diff) {
  const auto* first = diff.first();
  if (first == nullptr) return nullptr;
  auto entry = start_of(*first);
  const auto place = first->first.value_or(TextPlace{.line_a = first->line_a, .line_b = first->line_b});
  entry["line"] = sides(or_null(place.line_a), or_null(place.line_b));
  if (!first->first) return entry;
  entry["text"] = sides(or_null(place.text_a), or_null(place.text_b));
  entry["word"] = sides(or_null(place.word_a), or_null(place.word_b));
  return entry;
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string format_paragraph(const std::string& text) {
  std::string paragraph;
  for (const auto& line : wrap(text, page_width - indent))
    paragraph += std::string(paragraph.empty() ? 0 : indent, ' ') + printable(line) + '\n';
  return paragraph;
}

std::string format_columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (i + 1 < row.size() || row.size() == widths.size())
        widths[i] = std::max(widths[i], display_width(row[i]));
  std::string text;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_remark = i + 1 == row.size() && row.size() < widths.size();
      const bool is_left = i < left_columns || is_remark;
      line += (i > 0 ? "  " : "") + (is_left ? pad_right(row[i], widths[i]) : pad_left(row[i], widths[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string format_diff(const TraceDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::string> parts;
  if (!diff.only_common && !diff.has_same_lesson())
    parts.push_back(format_paragraph("Lessons differ: " + in_both(diff.lesson_a, diff.lesson_b, names)));
  parts.push_back(format_options(diff.options, names));
  parts.push_back(format_labels(diff, names));
  if (diff.first() != nullptr) parts.push_back(format_paragraph(first_sentence(diff, names)));
  if (diff.first() != nullptr && diff.first()->is_in_both() && farthest_of(diff) != nullptr &&
      farthest_of(diff) != diff.first())
    parts.push_back(format_paragraph("The" + largest_in_words(diff).substr(3)));
  if (diff.verdict() == Verdict::within_tolerance) parts.push_back(within_tolerance_sentence(diff, names));
  parts.push_back(format_table(diff, names, all));
  parts.push_back(format_words(diff, names, all));
  if (all) parts.push_back(format_types(diff, names));
  return with_summary(std::move(parts), diff, names, all);
}

std::string hint_on_absent(const TraceDiff& diff, const DiffNames& names) {
  std::vector<const StoredTensor*> only_in_a, only_in_b;
  for (const auto& tensor : diff.parts)
    if (!tensor.is_in_both())
      (tensor.a ? only_in_a : only_in_b).push_back(tensor.a ? &*tensor.a : &*tensor.b);
  if (only_in_a.empty() && only_in_b.empty()) return "";
  const auto text = fmt::format("{} only in {}, {} only in {}: --only-common compares what both have.\n",
                                only_in_a.size(), names.a, only_in_b.size(), names.b);
  const bool a_is_of_program = diff.lesson_a.empty() && !diff.lesson_b.empty();
  const auto& [theirs, ours] =
      a_is_of_program ? std::pair(only_in_a, only_in_b) : std::pair(only_in_b, only_in_a);
  for (const auto* a : theirs)
    for (auto b = ours.rbegin(); b != ours.rend(); ++b)  // a result before what it came from
      if (a->shape == (*b)->shape && a->kind.value_or(Kind::step) == (*b)->kind.value_or(Kind::step))
        return text + format_paragraph(fmt::format("If {0} in {1} is {2}: --rename {0}={2}.", a->id,
                                                   a_is_of_program ? names.a : names.b, (*b)->id));
  return text + "--rename FROM=TO compares an id with one of another name.\n";
}

std::string format_diff(const TextDiff& diff, const DiffNames& names, bool all) {
  std::vector<std::string> parts;
  const auto is_told = [&](const TextSectionDiff& section) {
    return &section == diff.first() || (section.is_header && section.first);
  };
  for (const auto& section : diff.parts)
    if (is_told(section)) parts.push_back(first_sentence(section, names));
  if (diff.verdict() == Verdict::within_tolerance) parts.push_back(within_tolerance_sentence(diff, names));
  parts.push_back(format_table(diff, names, all));
  return with_summary(std::move(parts), diff, names, all);
}

std::string diff_as_json(const TraceDiff& diff, bool all) {
  Json document = {{"schema", "attnlab.diff/1"}, {"of", "data"}, {"status", name_of(diff.verdict())}};
  document["lesson"] = sides(or_null(diff.lesson_a), or_null(diff.lesson_b));
  document["options"] = options_json(diff.options);
  document["claims_of_b_hold"] = diff.claims_of_b_hold;
  document["first"] = first_json(diff);
  document["tensors"] = Json::array();
  for (const auto& tensor : diff.parts)
    if (all || tensor.difference() != "none") document["tensors"].push_back(tensor_json(tensor));
  document["words"] = Json::array();
  for (const auto& [id, member, a, b, is_within_tolerance] : diff.words)
    document["words"].push_back({{"id", or_null(id)},
                                 {"member", or_null(member)},
                                 {"a", or_null(a)},
                                 {"b", or_null(b)},
                                 {"within_tolerance", is_within_tolerance}});
  return dump(document);
}

std::string diff_as_json(const TextDiff& diff, bool all) {
  Json document = {{"schema", "attnlab.diff/1"}, {"of", "text"}, {"status", name_of(diff.verdict())}};
  document["claims_of_b_hold"] = diff.claims_of_b_hold;
  document["first"] = first_json(diff);
  document["sections"] = Json::array();
  for (const auto& section : diff.parts)
    if (all || section.difference() != "none") document["sections"].push_back(section_json(section));
  return dump(document);
}

}  // namespace attn
