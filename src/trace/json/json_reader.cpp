#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"
#include "trace/json/strict.hpp"

namespace attn {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Strings = std::vector<std::string>;

template <class Json, class IsItem>
bool is_list_of(const Json& list, IsItem is_item) {
  return list.is_array() && all_of(list, is_item);
}

template <class Json>
bool is_list_of_texts(const Json& value) {
  return is_list_of(value, std::mem_fn(&Json::is_string));
}

ConfigValue option_from(const ordered_json& value, std::string_view place) {
  if (value.is_null()) return std::monostate{};
  if (value.is_boolean()) return value.get<bool>();
  if (is_int64(value)) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (is_list_of_texts(value)) return value.get<Strings>();
  if (is_list_of(value, is_int64<ordered_json>)) return value.get<std::vector<std::int64_t>>();
  if (is_list_of(value, is_list_of_texts<ordered_json>)) return value.get<std::vector<Strings>>();
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

/// As many labels as the axis is long, in one list or in one for each sample; none of anything else.
std::optional<AxisLabels> labels_of_axis(const json& value, const StoredTensor& tensor, std::size_t axis) {
  const auto is_as_long = [&](const json& list) { return list.size() == tensor.shape[axis]; };
  if (value.is_null()) return AxisLabels{};
  if (is_list_of_texts(value) && is_as_long(value)) return AxisLabels{{value.get<Strings>()}};
  const bool has_batch = !tensor.axes.empty() && tensor.axes[0] == "batch";
  if (is_list_of_texts(value) || !is_list_of(value, is_list_of_texts<json>) || !has_batch ||
      value.size() != tensor.shape[0] || !all_of(value, is_as_long))
    return std::nullopt;
  return AxisLabels{value.get<std::vector<Strings>>()};
}

std::vector<AxisLabels> labels_from(const json& value, const StoredTensor& tensor, std::string_view place) {
  constexpr std::string_view valid = "null, a label for each index, or such a list for each sample";
  if (!value.is_array() || value.size() != tensor.axes.size())
    refuse(place, fmt::format("its labels are not for its {} axes", tensor.axes.size()), valid);
  std::vector<AxisLabels> labels;
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    auto of_axis = labels_of_axis(value[axis], tensor, axis);
    if (!of_axis)
      refuse(place,
             fmt::format("the labels of axis {} ({}) do not fit its shape {}", axis,
                         in_message(tensor.axes[axis]), to_string(tensor.shape)),
             valid);
    labels.push_back(std::move(*of_axis));
  }
  return labels;
}

/// Takes the elements in their order. Returns whether they are nested as the shape says; an empty list may
/// stand for all axes after it.
bool take_elements(const ordered_json& data, const Shape& shape, std::size_t axis,
                   std::vector<const ordered_json*>& elements) {
  if (axis == shape.size()) elements.push_back(&data);
  if (axis == shape.size()) return !data.is_array();
  return data.is_array() && data.size() == shape[axis] &&
         all_of(data, [&](const auto& item) { return take_elements(item, shape, axis + 1, elements); });
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

/// The first element that is not of that type; null where all are.
const ordered_json* first_beyond(const std::vector<const ordered_json*>& elements, Dtype dtype) {
  const auto found = std::find_if(elements.begin(), elements.end(),
                                  [&](const auto* element) { return !is_element(*element, dtype); });
  return found == elements.end() ? nullptr : *found;
}

AnyTensor tensor_of(const std::vector<const ordered_json*>& elements, Dtype dtype, const Shape& shape) {
  AnyTensor tensor(dtype, shape);
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (dtype == Dtype::int64)
      tensor.elements<std::int64_t>()[i] = elements[i]->get<std::int64_t>();
    else if (dtype == Dtype::boolean)
      tensor.elements<bool>()[i] = elements[i]->get<bool>();
    else
      tensor.elements<double>()[i] = number_from(*elements[i], dtype);
  return tensor;
}

/// The elements of a tensor whose type and shape are known.
AnyTensor tensor_from(const ordered_json& data, Dtype dtype, const Shape& shape, std::string_view place) {
  std::vector<const ordered_json*> elements;
  if (!take_elements(data, shape, 0, elements))
    refuse(place, fmt::format("its data are not nested as its shape {} says", to_string(shape)),
           "lists within lists, one level for each axis");
  if (const auto* beyond = first_beyond(elements, dtype))
    refuse(place, fmt::format("its data has {}", in_message(beyond->dump())),
           fmt::format("elements of {}, and nothing beyond it", name_of(dtype)));
  return tensor_of(elements, dtype, shape);
}

/// The same where nothing but the lists tells the shape, and the elements tell the type: bool, int64 where
/// all are whole, or float64.
AnyTensor tensor_from(const ordered_json& data, std::string_view place) {
  Shape shape;
  for (const auto* list = &data; list->is_array(); list = &list->front()) {
    shape.push_back(list->size());
    if (list->empty()) break;
  }
  std::vector<const ordered_json*> elements;
  if (!take_elements(data, shape, 0, elements))
    refuse(place, "its lists differ in length or depth", "rows of the same length, as in [[1, 0], [0, 1]]");
  for (const auto dtype : {Dtype::boolean, Dtype::int64, Dtype::float64})
    if (first_beyond(elements, dtype) == nullptr) return tensor_of(elements, dtype, shape);
  refuse(place, fmt::format("it has {}", in_message(first_beyond(elements, Dtype::float64)->dump())),
         "lists of numbers, or lists of true and false");
}

/// JSON has no numbers that are not finite, yet many programs, Python's json.dump among them, write NaN,
/// Infinity and -Infinity as if it had: outside of texts these get the quotes that they have where this
/// program writes them. `added` are the places of these.
std::string with_quotes(const std::string& text, std::vector<std::size_t>& added) {
  std::string quoted;
  bool is_in_text = false;
  for (std::size_t i = 0; i < text.size();) {
    const char first = text[i];
    if (is_in_text || (first != 'N' && first != 'I' && first != '-')) {
      if (first == '"') is_in_text = !is_in_text;
      if (first == '\\' && is_in_text) quoted += text[i++];
      if (i < text.size()) quoted += text[i++];
      continue;
    }
    const auto end = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(i) + 1, text.end(),
                                  [](unsigned char c) { return std::isalpha(c) == 0; });
    const std::string word(text.begin() + static_cast<std::ptrdiff_t>(i), end);
    const bool is_number = word == "NaN" || word == "Infinity" || word == "-Infinity";
    if (is_number) added.insert(added.end(), {quoted.size(), quoted.size() + word.size() + 1});
    quoted += is_number ? '"' + word + '"' : word;
    i += word.size();
  }
  return quoted;
}

constexpr std::string_view valid_document =
    R"(a trace as --format json writes it, or tensors by id: {"X": [[1, 0], [0, 1]]})";

const ElementType* type_from(const json& name, std::string_view place) {
  const auto* const type = element_type_called(name.is_string() ? name.get<std::string>() : "");
  if (type != nullptr && element_type_of(type->dtype) == type) return type;
  refuse(place, fmt::format("its dtype is {}", in_message(name.dump())),
         "float64, float32, float16, bfloat16, int64 or bool");
}

Shape shape_from(const json& value, std::string_view place) {
  if (!is_shape(value))
    refuse(place, fmt::format("its shape is {}", in_message(value.dump())), "a list of lengths");
  return value.get<Shape>();
}

/// All but what describes the tensor.
StoredWords words_from(const json& event) {
  constexpr std::array<std::string_view, 5> of_tensor = {"id", "shape", "axes", "labels", "dtype"};
  StoredWords words{.id = event["id"]};
  for (const auto& [name, value] : event.items())
    if (!contains(of_tensor, name))
      words.members.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  return words;
}

/// Adds the tensor of each event to a trace as soon as the event is complete, and forgets the event.
class JsonReader : public StrictJson<ordered_json> {
 public:
  explicit JsonReader(const File& file) : StrictJson(file.path()) {
    ordered_json::sax_parse(with_quotes(file.bytes(), added_), this);
    read_document(take());
  }

  std::unique_ptr<StoredTrace> trace() { return std::move(trace_); }

  bool parse_error(std::size_t byte, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    const auto before = std::lower_bound(added_.begin(), added_.end(), byte) - added_.begin();
    return StrictJson::parse_error(byte - static_cast<std::size_t>(before), token, error);
  }

  /// A number that would be another float32 if it were rounded to float64 first is kept as its text.
  bool number_float(double value, const std::string& text) override {
    if (!is_in_data() || static_cast<float>(value) == std::strtof(text.c_str(), nullptr))
      return StrictJson::number_float(value, text);
    return add(ordered_json::binary({text.begin(), text.end()}));
  }

  bool start_object(std::size_t size) override {
    const bool is_event = depth() == depth_of_event - 1 && name_at(1) == "events" && current().is_array();
    StrictJson::start_object(size);
    if (!is_event) return true;
    event_ = &current();
    ++event_count_;
    return true;
  }

  bool end_object() override {
    const bool is_event = event_ == &current();
    if (is_event) add_event(*event_, place());
    StrictJson::end_object();
    if (!is_event) return true;
    event_ = nullptr;
    current().clear();
    return true;
  }

 protected:
  std::string place() const override {
    if (event_ == nullptr) return place_;
    const auto id = event_->find("id");
    const bool has_id =
        id != event_->end() && id->is_string() && is_valid_id(id->get_ref<const std::string&>());
    return has_id ? fmt::format("{}: {}", place_, id->get_ref<const std::string&>())
                  : fmt::format("{}: event {}", place_, event_count_);
  }

  /// Lists of elements are as long as the file can make them.
  bool is_bounded() const override { return !is_in_data(); }

 private:
  static constexpr std::size_t depth_of_event = 3;

  bool is_in_data() const { return event_ != nullptr && name_at(depth_of_event) == "data"; }

  void read_document(const ordered_json& document) {
    if (is_plain(document)) return read_tensors(document);
    if (!document.is_object() || document.value("schema", ordered_json()) != trace_schema)
      refuse(place_, fmt::format("its schema is not {}", trace_schema), valid_document);
    const auto events = document.find("events"), config = document.find("config");
    if (config == document.end() || events == document.end() || !events->is_array())
      refuse(place_, "it has no config or no events", valid_document);
    if (!events->empty())
      refuse(place_, fmt::format("its events have {}", in_message(events->front().dump())), "objects");
    read_lesson(document, trace_->header_, place_);
    read_config(*config, trace_->header_, place_);
  }

  /// Whether it is no trace but tensors by their ids. A trace says its schema.
  bool is_plain(const ordered_json& document) const {
    return document.is_object() && !document.empty() && !document.contains("schema") && ids_.empty();
  }

  void read_tensors(const ordered_json& document) {
    for (const auto& [id, data] : document.items()) {
      if (id == "config" && data.is_object()) {
        read_config(data, trace_->header_, place_);
        continue;
      }
      if (!is_valid_name(id)) refuse(place_, fmt::format("it has the name {}", in_message(id)), valid_name);
      trace_->add({.id = id}, tensor_from(data, fmt::format("{}: {}", place_, id)));
    }
  }

  void add_event(ordered_json& read, const std::string& place) {
    const auto data = read.contains("data") ? std::optional(std::move(read["data"])) : std::nullopt;
    read.erase("data");
    const json event = read;
    const auto id = event.value("id", json()), kind = event.value("kind", json());
    if (!id.is_string() || !is_valid_id(id.get_ref<const std::string&>()))
      refuse(place, fmt::format("its id is {}", in_message(id.dump())), "letters, digits and _ . / = -");
    if (!ids_.insert(id).second) refuse(place, "it is there twice", "each id once");
    trace_->words_.push_back(words_from(event));
    constexpr std::array without_tensor = {Kind::note, Kind::claim, Kind::mistake};
    if (any_of(without_tensor, [&](Kind other) { return kind == name_of(other); })) return;
    if (!data) refuse(place, "it has no data, as in a trace made with --shapes", "a trace with numbers");
    const Layout layout{.type = type_from(event.value("dtype", json()), place),
                        .shape = shape_from(event.value("shape", json()), place)};
    stored_size(layout, place);
    auto tensor = stored_as(id, layout);
    read_description(event, tensor, place);
    trace_->add(std::move(tensor), tensor_from(*data, layout.type->dtype, layout.shape, place));
  }

  struct Contents : StoredTrace {
    using StoredTrace::header_, StoredTrace::words_;
  };

  std::unique_ptr<Contents> trace_ = std::make_unique<Contents>();
  std::unordered_set<std::string> ids_;
  std::vector<std::size_t> added_;  ///< places of quotes that the file does not have
  ordered_json* event_ = nullptr;   ///< that is open
  std::size_t event_count_ = 0;
};

}  // namespace

template <class Json>
Json parse_json(std::string_view text, std::string_view place) {
  StrictJson<Json> reader(place);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

template json parse_json<json>(std::string_view, std::string_view);
template ordered_json parse_json<ordered_json>(std::string_view, std::string_view);

bool is_shape(const json& value) {
  return is_list_of(value, std::mem_fn(&json::is_number_unsigned));
}

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

AnyTensor parse_tensor(std::string_view text, std::string_view place) {
  return tensor_from(parse_json<ordered_json>(text, place), place);
}

std::unique_ptr<StoredTrace> open_json(const File& file) {
  return JsonReader(file).trace();
}

}  // namespace attn
