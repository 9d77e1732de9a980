#include "trace/json/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "trace/element_type.hpp"
#include "trace/id.hpp"
#include "trace/json/description.hpp"
#include "trace/json/json_elements.hpp"
#include "trace/json/json_text.hpp"
#include "trace/json/json_values.hpp"
#include "trace/json/strict_json.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::string_view valid_document = "a trace as --format json writes it";

/// Calls `see(name)` with the text before each value of an object, quotes included; `see` takes the value.
template <class See>
void for_each_member(JsonText& text, See see) {
  text.expect('{');
  if (text.take('}')) return;
  do {
    if (text.peek() != '"') text.fail("a name");
    const auto name = text.take_value();
    text.expect(':');
    see(name);
  } while (text.take(','));
  text.expect('}');
}

ElementType type_from(const json& name, std::string_view place) {
  for (const auto type : {ElementType::float64, ElementType::float32, ElementType::float16,
                          ElementType::bfloat16, ElementType::int64, ElementType::boolean})
    if (name == name_of(type)) return type;
  refuse(place, fmt::format("its dtype is {}", in_message(name.dump())),
         "float64, float32, float16, bfloat16, int64 or bool");
}

Shape shape_from(const json& value, std::string_view place) {
  const bool is_shape =
      value.is_array() && std::all_of(value.begin(), value.end(), std::mem_fn(&json::is_number_unsigned));
  if (!is_shape) refuse(place, fmt::format("its shape is {}", in_message(value.dump())), "a list of lengths");
  return value.get<Shape>();
}

/// All but what describes the tensor.
StoredWords words_from(const json& event) {
  constexpr std::array<std::string_view, 6> of_tensor = {"id", "shape", "axes", "labels", "dtype", "data"};
  StoredWords words{.id = event["id"]};
  for (const auto& [name, value] : event.items())
    if (std::find(of_tensor.begin(), of_tensor.end(), name) == of_tensor.end())
      words.members.emplace_back(name, value.is_string() ? value.get<std::string>() : value.dump());
  return words;
}

class JsonReader : public StoredTrace {
 public:
  explicit JsonReader(File file) : file_(std::move(file)) {
    JsonText text(file_, 0, file_.size(), file_.path());
    read_document(text);
    if (text.peek() != '\0' || text.position() != file_.size()) text.fail("the end of the file");
  }

  AnyTensor read(std::size_t index) const override {
    const auto& tensor = tensors_.at(index);
    const auto [begin, end] = data_.at(index);
    const auto place = place_of(tensor.id);
    if (element_count(tensor.shape) > (end - begin + 1) / 2)  // a digit and a comma each
      refuse(place,
             fmt::format("its {} bytes of data are too few for its shape {}", end - begin,
                         to_string(tensor.shape)),
             valid_document);
    JsonText text(file_, begin, end, place);
    return read_elements(text, tensor.dtype, tensor.shape);
  }

 private:
  /// Where a value stands in the file.
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };

  std::string place_of(const std::string& id) const { return fmt::format("{}: {}", file_.path(), id); }

  /// The document without its events is kept as text, parsed in one go.
  void read_document(JsonText& text) {
    std::string outline;
    bool has_events = false;
    for_each_member(text, [&](const std::string& name) {
      outline += (outline.empty() ? "{" : ",") + name + ':';
      if (name == R"("events")" && !std::exchange(has_events, true)) {
        read_events(text);
        outline += "true";
      } else {
        outline += text.take_value();
      }
    });
    outline += outline.empty() ? "{}" : "}";
    const auto document = parse_json<json>(outline, file_.path());
    if (document.value("schema", json()) != trace_schema)
      refuse(file_.path(), fmt::format("its schema is not {}", trace_schema), valid_document);
    if (!has_events || !document.contains("config"))
      refuse(file_.path(), "it has no config or no events", valid_document);
    read_lesson(document, header_, file_.path());
    const auto ordered = parse_json<nlohmann::ordered_json>(outline, file_.path());
    read_config(ordered["config"], header_, file_.path());
  }

  void read_events(JsonText& text) {
    text.expect('[');
    if (text.take(']')) return;
    do read_event(text);
    while (text.take(','));
    text.expect(']');
  }

  /// All of an event but its data is kept as text, parsed in one go.
  void read_event(JsonText& text) {
    std::string outline;
    Range data;
    for_each_member(text, [&](const std::string& name) {
      outline += (outline.empty() ? "{" : ",") + name + ':';
      if (name != R"("data")") {
        outline += text.take_value();
        return;
      }
      data.begin = text.position();
      text.skip_value();
      data.end = text.position();
      outline += "true";
    });
    outline += outline.empty() ? "{}" : "}";
    add_event(parse_json<json>(outline, fmt::format("{}: event {}", file_.path(), ++event_count_)), data);
  }

  void add_event(const json& event, Range data) {
    auto place = fmt::format("{}: event {}", file_.path(), event_count_);
    const auto id = event.value("id", json()), kind = event.value("kind", json());
    if (!id.is_string() || !is_valid_id(id.get_ref<const std::string&>()))
      refuse(place, fmt::format("its id is {}", in_message(id.dump())), "letters, digits and _ . / = -");
    place = place_of(id);
    if (!ids_.insert(id).second) refuse(place, "it is there twice", "each id once");
    words_.push_back(words_from(event));
    constexpr std::array without_tensor = {Kind::note, Kind::claim, Kind::mistake};
    if (std::any_of(without_tensor.begin(), without_tensor.end(),
                    [&](Kind other) { return kind == name_of(other); }))
      return;
    if (!event.contains("data"))
      refuse(place, "it has no data, as in a trace made with --shapes", "a trace with numbers");
    add_tensor(event, data, place);
  }

  void add_tensor(const json& event, Range data, const std::string& place) {
    const Layout layout{.type = type_from(event.value("dtype", json()), place),
                        .shape = shape_from(event.value("shape", json()), place)};
    stored_size(layout, place);
    tensors_.push_back({.id = event["id"],
                        .dtype = dtype_for(layout.type),
                        .stored_dtype = std::string(name_of(layout.type)),
                        .shape = layout.shape});
    read_description(event, tensors_.back(), place);
    data_.push_back(data);
  }

  File file_;
  std::vector<Range> data_;  ///< of each tensor
  std::unordered_set<std::string> ids_;
  std::size_t event_count_ = 0;
};

}  // namespace

std::unique_ptr<StoredTrace> open_json(File file) {
  return std::make_unique<JsonReader>(std::move(file));
}

}  // namespace attn
