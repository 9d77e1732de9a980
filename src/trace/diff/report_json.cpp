#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <variant>

#include "trace/diff/report.hpp"
#include "trace/entry.hpp"

namespace attn {

namespace {

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
  return std::visit(
      [](auto typed) -> Json {
        if constexpr (std::is_same_v<decltype(typed), double>) {
          return number(typed);
        } else {
          return typed;
        }
      },
      value);
}

/// Null where nothing that is unequal is beside a number to which it is relative.
Json relative(double error, std::size_t unequal) {
  return error == 0.0 && unequal > 0 ? Json() : number(error);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json line_or_null(std::size_t line) {
  return line == 0 ? Json() : Json(line);
}

std::string_view name_of(Verdict verdict) {
  const std::string_view names[] = {"equal", "within tolerance", "different"};
  return names[static_cast<int>(verdict)];
}

Json options_json(const std::vector<OptionDiff>& options) {
  auto list = Json::array();
  for (const auto& option : options) {
    Json entry = {{"name", option.name}};
    entry.update(sides(Json::parse(to_string(option.a)), Json::parse(to_string(option.b))));
    list.push_back(std::move(entry));
  }
  return list;
}

std::string_view difference_of(const TensorDiff& diff) {
  if (!diff.is_in_both()) return diff.a != nullptr ? "only in a" : "only in b";
  if (!diff.has_same_shape()) return "shapes";
  if (!diff.has_same_kind_of_elements()) return "element types";
  if (diff.elements->beyond > 0) return "numbers";
  if (!diff.labels.empty()) return "labels";
  return diff.elements->unequal > 0 ? "within tolerance" : "none";
}

template <class Member>
Json of_both(const TensorDiff& diff, Member member) {
  return sides(diff.a != nullptr ? Json((*diff.a).*member) : Json(),
               diff.b != nullptr ? Json((*diff.b).*member) : Json());
}

Json tensor_json(const TensorDiff& diff) {
  Json entry = {{"id", diff.id}, {"difference", difference_of(diff)}};
  entry["shape"] = of_both(diff, &StoredTensor::shape);
  entry["axes"] = of_both(diff, &StoredTensor::axes);
  entry["dtype"] = of_both(diff, &StoredTensor::stored_dtype);
  if (!diff.elements) return entry;
  entry["tolerance"] = {{"absolute", diff.tolerance.absolute}, {"relative", diff.tolerance.relative}};
  entry["elements"] = element_count(diff.a->shape);
  entry["unequal"] = diff.elements->unequal;
  entry["differ"] = diff.elements->beyond;
  entry["max_absolute"] = number(diff.elements->max_absolute);
  entry["max_relative"] = relative(diff.elements->max_relative, diff.elements->unequal);
  for (const auto& [axis, position, a, b] : diff.labels)
    entry["labels"].push_back({{"axis", axis}, {"position", position}, {"a", a}, {"b", b}});
  return entry;
}

Json first_json(const TraceDiff& diff) {
  const auto* first = diff.first();
  if (first == nullptr) return nullptr;
  Json entry = {{"id", first->id}, {"difference", difference_of(*first)}};
  if (difference_of(*first) != "numbers") return entry;
  entry["index"] = index_at(first->elements->first, first->a->shape);
  entry["place"] = name_of_place(*first, first->elements->first);
  entry.update(sides(number(first->elements->first_a), number(first->elements->first_b)));
  return entry;
}

std::string_view difference_of(const TextSectionDiff& diff) {
  if (!diff.is_in_both()) return diff.line_a > 0 ? "only in a" : "only in b";
  if (diff.words > 0) return "words";
  if (diff.beyond > 0) return "numbers";
  return diff.unequal > 0 ? "within tolerance" : "none";
}

Json start_of(const TextSectionDiff& diff) {
  return {{diff.is_step ? "id" : "heading", diff.name}, {"difference", difference_of(diff)}};
}

Json section_json(const TextSectionDiff& diff) {
  auto entry = start_of(diff);
  entry["line"] = sides(line_or_null(diff.line_a), line_or_null(diff.line_b));
  if (!diff.is_in_both()) return entry;
  entry["numbers"] = diff.numbers;
  entry["unequal"] = diff.unequal;
  entry["differ"] = diff.beyond;
  entry["words"] = diff.words;
  entry["max_absolute"] = number(diff.max_absolute);
  entry["max_relative"] = relative(diff.max_relative, diff.unequal);
  return entry;
}

Json first_json(const TextDiff& diff) {
  const auto* first = diff.first();
  if (first == nullptr) return nullptr;
  auto entry = start_of(*first);
  const auto place = first->first.value_or(TextPlace{.line_a = first->line_a, .line_b = first->line_b});
  entry["line"] = sides(line_or_null(place.line_a), line_or_null(place.line_b));
  if (!first->first) return entry;
  entry["text"] = sides(text_or_null(place.text_a), text_or_null(place.text_b));
  entry["word"] = sides(text_or_null(place.word_a), text_or_null(place.word_b));
  return entry;
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string diff_as_json(const TraceDiff& diff, bool all) {
  Json document = {{"schema", "attnlab.diff/1"}, {"of", "data"}, {"status", name_of(diff.verdict())}};
  document["lesson"] = sides(text_or_null(diff.lesson_a), text_or_null(diff.lesson_b));
  document["options"] = options_json(diff.options);
  document["claims_of_b_hold"] = diff.claims_of_b_hold;
  document["first"] = first_json(diff);
  document["tensors"] = Json::array();
  for (const auto& tensor : diff.tensors)
    if (all || tensor.verdict() != Verdict::equal) document["tensors"].push_back(tensor_json(tensor));
  document["words"] = Json::array();
  for (const auto& [id, member, a, b, is_within_tolerance] : diff.words)
    document["words"].push_back({{"id", text_or_null(id)},
                                 {"member", text_or_null(member)},
                                 {"a", text_or_null(a)},
                                 {"b", text_or_null(b)},
                                 {"within_tolerance", is_within_tolerance}});
  return dump(document);
}

std::string diff_as_json(const TextDiff& diff, bool all) {
  Json document = {{"schema", "attnlab.diff/1"}, {"of", "text"}, {"status", name_of(diff.verdict())}};
  document["claims_of_b_hold"] = diff.claims_of_b_hold;
  document["first"] = first_json(diff);
  document["sections"] = Json::array();
  for (const auto& section : diff.sections)
    if (all || section.verdict() != Verdict::equal) document["sections"].push_back(section_json(section));
  return dump(document);
}

}  // namespace attn
