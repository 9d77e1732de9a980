#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "trace/element_type.hpp"
#include "trace/entry.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"
#include "trace/json/strict.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

template <class T>
void append_number(std::string& text, T number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  text.append(buffer, end);
}

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

ConfigValue option_from(const ordered_json& value, std::string_view place) {
  if (value.is_null()) return std::monostate{};
  if (value.is_boolean()) return value.get<bool>();
  if (is_int64(value)) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (is_list_of_texts(value)) return value.get<Strings>();
  if (is_list_of<ordered_json>(value, is_int64<ordered_json>)) return value.get<std::vector<std::int64_t>>();
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

void append_float(std::string& text, double value, Dtype dtype) {
  if (std::isnan(value)) {
    text += R"("NaN")";
  } else if (std::isinf(value)) {
    text += value < 0 ? R"("-Infinity")" : R"("Infinity")";
  } else if (value == 0 && std::signbit(value)) {
    text += "-0.0";  // many readers take -0 for an integer and lose the sign
  } else {
    text += shortest(value, dtype);
  }
}

void append_value(std::string& text, std::monostate) {
  text += "null";
}

void append_value(std::string& text, bool value) {
  text += value ? "true" : "false";
}

void append_value(std::string& text, std::int64_t value) {
  append_number(text, value);
}

void append_value(std::string& text, std::size_t value) {
  append_number(text, value);
}

void append_value(std::string& text, double value) {
  append_float(text, value, Dtype::float64);
}

void append_value(std::string& text, const Index& at) {
  append_value(text, Shape(at.begin(), at.end()));
}

void append_value(std::string& text, const std::string& value) {
  text += json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_value(std::string& text, const AxisLabels& labels) {
  if (labels.empty())
    append_value(text, std::monostate{});
  else if (labels.per_sample())
    append_value(text, labels.lists);
  else
    append_value(text, labels.lists[0]);
}

void append_name(std::string& text, std::string_view name) {
  if (text.back() != '{') text += ',';
  text.append("\"").append(name).append("\":");
}

std::string config_as_json(const Header& header) {
  std::string text = "{";
  for (const auto& [name, value] : header.config)
    std::visit([&, &key = name](const auto& set) { append_member(text, key, set); }, value);
  return text + '}';
}

std::string description_as_json(const Event& event) {
  std::string text = "{";
  append_member(text, "kind", std::string(name_of(event.kind)));
  append_member(text, "axes", event.axes);
  append_member(text, "labels", event.labels);
  return text + '}';
}

template <class Json>
Json parse_json(std::string_view text, std::string_view place) {
  StrictJson<Json> reader(place);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

template json parse_json<json>(std::string_view, std::string_view);
template ordered_json parse_json<ordered_json>(std::string_view, std::string_view);

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

namespace {

using nlohmann::ordered_json;

/// Whether lists are nested as the shape says. An empty list may stand for all axes after it.
bool has_shape(const ordered_json& data, const Shape& shape, std::size_t axis = 0) {
  if (axis == shape.size()) return !data.is_array();
  return data.is_array() && data.size() == shape[axis] &&
         std::all_of(data.begin(), data.end(),
                     [&](const auto& item) { return has_shape(item, shape, axis + 1); });
}

/// A number, of which the reader of a trace keeps some as the text that they are.
double number_from(const ordered_json& element, Dtype dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (element.is_number()) return round_to(dtype, element.get<double>());
  if (element == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (element == "Infinity") return infinity;
  if (element == "-Infinity") return -infinity;
  const std::string text(element.get_binary().begin(), element.get_binary().end());
  if (dtype == Dtype::float32) return static_cast<double>(std::strtof(text.c_str(), nullptr));
  return round_to(dtype, std::strtod(text.c_str(), nullptr));
}

bool is_element(const ordered_json& element, Dtype dtype) {
  if (dtype == Dtype::boolean) return element.is_boolean();
  if (dtype == Dtype::int64) return is_int64(element);
  if (element.is_number() || element.is_binary()) return std::isfinite(number_from(element, dtype));
  return element == "NaN" || element == "Infinity" || element == "-Infinity";
}

/// Takes the elements in their order; they have to be of that type.
template <class T>
void copy_elements(const ordered_json& data, Dtype dtype, std::string_view place, T*& to) {
  if (data.is_array()) {
    for (const auto& item : data) copy_elements(item, dtype, place, to);
    return;
  }
  if (!is_element(data, dtype))
    refuse(place, fmt::format("its data has {}", in_message(data.dump())),
           fmt::format("elements of {}, and nothing beyond it", name_of(dtype)));
  if constexpr (std::is_same_v<T, double>)
    *to++ = number_from(data, dtype);
  else
    *to++ = data.get<T>();
}

/// The first element that is not of that type; null where all are.
const ordered_json* first_beyond(const ordered_json& data, Dtype dtype) {
  if (!data.is_array()) return is_element(data, dtype) ? nullptr : &data;
  for (const auto& item : data)
    if (const auto* found = first_beyond(item, dtype)) return found;
  return nullptr;
}

/// The lengths of the first list, of the first list in it, and so on.
Shape shape_of(const ordered_json& data) {
  Shape shape;
  for (const auto* list = &data; list->is_array(); list = &list->front()) {
    shape.push_back(list->size());
    if (list->empty()) break;
  }
  return shape;
}

}  // namespace

AnyTensor tensor_from(const ordered_json& data, Dtype dtype, const Shape& shape, std::string_view place) {
  if (!has_shape(data, shape))
    refuse(place, fmt::format("its data are not nested as its shape {} says", to_string(shape)),
           "lists within lists, one level for each axis");
  AnyTensor tensor(dtype, shape);
  const auto fill = [&](auto* to) { copy_elements(data, dtype, place, to); };
  if (dtype == Dtype::int64)
    fill(tensor.elements<std::int64_t>());
  else if (dtype == Dtype::boolean)
    fill(tensor.elements<bool>());
  else
    fill(tensor.elements<double>());
  return tensor;
}

AnyTensor tensor_from(const ordered_json& data, std::string_view place) {
  const auto shape = shape_of(data);
  if (!has_shape(data, shape))
    refuse(place, "its lists differ in length or depth", "rows of the same length, as in [[1, 0], [0, 1]]");
  for (const auto dtype : {Dtype::boolean, Dtype::int64, Dtype::float64})
    if (first_beyond(data, dtype) == nullptr) return tensor_from(data, dtype, shape, place);
  refuse(place, fmt::format("it has {}", in_message(first_beyond(data, Dtype::float64)->dump())),
         "lists of numbers, or lists of true and false");
}

AnyTensor parse_tensor(std::string_view text, std::string_view place) {
  return tensor_from(parse_json<ordered_json>(text, place), place);
}

namespace {

void append_element(std::string& text, const TensorView& tensor, std::size_t offset) {
  switch (tensor.dtype) {
    case Dtype::int64:
      return append_value(text, static_cast<const std::int64_t*>(tensor.data)[offset]);
    case Dtype::boolean:
      return append_value(text, static_cast<const bool*>(tensor.data)[offset]);
    default:
      return append_float(text, static_cast<const double*>(tensor.data)[offset], tensor.dtype);
  }
}

/// The elements as nested row-major lists; `offset` moves on to the first one that is not written yet.
void append_nested(std::string& text, const TensorView& tensor, std::size_t axis, std::size_t& offset) {
  if (axis == tensor.shape.size()) return append_element(text, tensor, offset++);
  text += '[';
  for (std::size_t i = 0; i < tensor.shape[axis]; ++i) {
    if (i > 0) text += ',';
    append_nested(text, tensor, axis + 1, offset);
  }
  text += ']';
}

void append_tensor(std::string& text, const Event& event) {
  append_member(text, "shape", event.tensor->shape);
  append_member(text, "axes", event.axes);
  append_member(text, "labels", event.labels);
  append_member(text, "dtype", std::string(name_of(event.tensor->dtype)));
  if (event.tensor->data == nullptr) return;
  append_name(text, "data");
  std::size_t offset = 0;
  append_nested(text, *event.tensor, 0, offset);
}

void append_operands(std::string& text, const Worked& worked) {
  append_name(text, "operands");
  text += '[';
  bool is_first = true;
  worked.for_each_entry([&](const Operand& operand, double) {
    text += std::exchange(is_first, false) ? "[" : ",[";
    append_value(text, operand.tensor);
    text += ',';
    append_value(text, operand.index);
    text += ']';
  });
  text += ']';
}

/// One entry of a step, worked out in full precision, unless it takes more than 4096 entries to say it.
void append_worked(std::string& text, const Event& event) {
  const auto at = entry_to_work_out(event);
  if (!at) return;
  const auto worked = event.worked(*at);
  constexpr std::size_t most_entries = 4096;
  std::size_t count = 0;
  worked.for_each_entry([&](const Operand&, double) { ++count; });
  if (!worked.is_finite() || count > most_entries) return;
  append_name(text, "worked");
  text += '{';
  append_member(text, "index", *at);
  append_member(text, "expression", worked.text(number_in_full, std::numeric_limits<std::size_t>::max()));
  append_member(text, "value", worked.value());
  append_operands(text, worked);
  text += '}';
}

/// The schema has finite numbers only: a limit that overflowed is the largest one, and what could not be
/// measured is as far beyond the limit as a number can be.
Measurement made_finite(Measurement measurement) {
  constexpr double largest_bound = 1e308, farthest = std::numeric_limits<double>::max();
  auto& [claim, value, limit] = measurement;
  if (!(limit.bound <= largest_bound)) limit.bound = largest_bound;
  if (!std::isfinite(value)) value = limit.comparison == Limit::Comparison::at_least ? -farthest : farthest;
  return measurement;
}

void append_measurement(std::string& text, const Measurement& measured) {
  const auto measurement = made_finite(measured);
  append_member(text, "claim", measurement.claim);
  append_member(text, "value", measurement.value);
  append_member(text, "limit", to_string(measurement.limit));
  append_member(text, "holds", measurement.holds());
}

}  // namespace

JsonWriter::JsonWriter(const Header& header) {
  document_ = "{";
  append_member(document_, "schema", std::string(trace_schema));
  append_member(document_, "lesson", header.lesson);
  append_member(document_, "title", header.title);
  document_ += ",\n\"config\":" + config_as_json(header) + ",\n\"events\":[";
}

void JsonWriter::receive(const Event& event) {
  document_ += std::exchange(has_events_, true) ? ",\n{" : "\n{";
  append_member(document_, "kind", std::string(name_of(event.kind)));
  append_member(document_, "id", event.id);
  append_member(document_, "title", event.title);
  append_member(document_, "formula", event.formula);
  append_member(document_, "note", event.note);
  append_member(document_, "level", std::string(event.is_on_page() ? "core" : "detail"));
  if (!event.notice.empty()) append_member(document_, "notice", event.notice);
  if (event.kind == Kind::step) append_member(document_, "inputs", event.inputs);
  if (event.tensor) append_tensor(document_, event);
  append_worked(document_, event);
  if (event.measurement) append_measurement(document_, *event.measurement);
  document_ += '}';
}

std::string JsonWriter::finish() {
  document_ += "\n]}\n";
  return std::exchange(document_, {});
}

}  // namespace attn
