#include "trace/json/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/file.hpp"
#include "trace/json/json_values.hpp"

namespace attn {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Strings = std::vector<std::string>;

template <class Json>
bool is_list_of(const Json& list, bool (*is_item)(const Json&)) {
  return list.is_array() && std::all_of(list.begin(), list.end(), is_item);
}

template <class Json>
bool is_text(const Json& value) {
  return value.is_string();
}

template <class Json>
bool is_list_of_texts(const Json& value) {
  return is_list_of<Json>(value, is_text<Json>);
}

template <class Json>
bool is_whole(const Json& value) {
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.template get<std::uint64_t>() > largest);
}

ConfigValue option_from(const ordered_json& value, std::string_view place) {
  if (value.is_null()) return std::monostate{};
  if (value.is_boolean()) return value.get<bool>();
  if (is_whole(value)) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (is_list_of_texts(value)) return value.get<Strings>();
  if (is_list_of<ordered_json>(value, is_whole)) return value.get<std::vector<std::int64_t>>();
  if (is_list_of<ordered_json>(value, is_list_of_texts)) return value.get<std::vector<Strings>>();
  refuse(place, fmt::format("its config has the value {}", in_message(value.dump())),
         "null, true, false, a number, a text, or a list");
}

std::string text_from(const json& object, const char* name, std::string_view place) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string())
    refuse(place, fmt::format("it has no text \"{}\"", name), trace_schema);
  return found->get<std::string>();
}

Kind kind_from(const json& value, std::string_view place) {
  if (value == name_of(Kind::input)) return Kind::input;
  if (value == name_of(Kind::step)) return Kind::step;
  refuse(place, fmt::format("its kind is {}", in_message(value.dump())), "\"input\" or \"step\"");
}

Strings axes_from(const json& value, const Shape& shape, std::string_view place) {
  if (!is_list_of_texts(value) || value.size() != shape.size())
    refuse(place,
           fmt::format("its axes {} do not fit its shape {}", in_message(value.dump()), to_string(shape)),
           "a name for each axis");
  return value.get<Strings>();
}

AxisLabels labels_of_axis(const json& value) {
  if (value.is_null()) return {};
  if (is_list_of_texts(value)) return {{value.get<Strings>()}};
  return {value.get<std::vector<Strings>>()};
}

/// As many labels as the axis is long, in one list or in one for each sample.
bool fits(const json& value, const StoredTensor& tensor, std::size_t axis) {
  const auto is_as_long = [&](const json& list) { return list.size() == tensor.shape[axis]; };
  if (value.is_null()) return true;
  if (is_list_of_texts(value)) return is_as_long(value);
  const bool has_batch = !tensor.axes.empty() && tensor.axes[0] == "batch";
  return is_list_of<json>(value, is_list_of_texts) && has_batch && value.size() == tensor.shape[0] &&
         std::all_of(value.begin(), value.end(), is_as_long);
}

std::vector<AxisLabels> labels_from(const json& value, const StoredTensor& tensor, std::string_view place) {
  constexpr std::string_view valid = "null, a label for each index, or such a list for each sample";
  if (!value.is_array() || value.size() != tensor.axes.size())
    refuse(place, fmt::format("its labels are not for its {} axes", tensor.axes.size()), valid);
  std::vector<AxisLabels> labels;
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    if (!fits(value[axis], tensor, axis))
      refuse(place,
             fmt::format("the labels of axis {} ({}) do not fit its shape {}", axis,
                         in_message(tensor.axes[axis]), to_string(tensor.shape)),
             valid);
    labels.push_back(labels_of_axis(value[axis]));
  }
  return labels;
}

}  // namespace

void read_lesson(const json& description, Header& header, std::string_view place) {
  header.lesson = text_from(description, "lesson", place);
  header.title = text_from(description, "title", place);
}

void read_config(const ordered_json& options, Header& header, std::string_view place) {
  if (!options.is_object()) refuse(place, "its config is no JSON object", "options by name");
  for (const auto& [name, value] : options.items())
    header.config.emplace_back(name, option_from(value, place));
}

void read_description(const json& description, StoredTensor& tensor, std::string_view place) {
  if (!description.is_object()) refuse(place, "its description is no JSON object", "kind, axes and labels");
  if (description.contains("kind")) tensor.kind = kind_from(description["kind"], place);
  if (description.contains("axes")) tensor.axes = axes_from(description["axes"], tensor.shape, place);
  if (description.contains("labels")) tensor.labels = labels_from(description["labels"], tensor, place);
  if (tensor.labels.empty()) tensor.labels.resize(tensor.axes.size());
}

}  // namespace attn
