#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

/// The JSON of values: texts appended to one that is growing, and what is read back from them.
/// Tensors as JSON has them: nested row-major lists. All throw Error, with `place`, for anything else.
namespace attn {

/// A trace as one JSON document of the schema attnlab.trace/1 (data/trace.schema.json): numbers in shortest
/// round-trip form for their dtype, the non-finite ones as the strings "-Infinity", "Infinity", "NaN".
/// Every event has a line of its own.
class JsonWriter : public Sink {
 public:
  explicit JsonWriter(const Header& header);
  void receive(const Event& event) override;

  /// The document, with a newline at its end. Leaves the writer empty.
  std::string finish();

 private:
  std::string document_;
  bool has_events_ = false;
};

/// A tensor in nested lists, "[[1, 0], [0, 1]]", read as strictly: of bool, of int64 where all elements are
/// whole, or of float64. Throws Error, with `place`, for anything else.
AnyTensor parse_tensor(std::string_view text, std::string_view place);

/// Opens such a document, or one of nothing but tensors by id, {"X": [[1, 0], [0, 1]]}, and perhaps the
/// options that they were made with, {"config": {"heads": 2}}, read strictly: each name once in an object, no
/// more than 40 levels, and bounded lists but for those of a trace's elements. All of it is read here;
/// elements take 8 bytes each, and 16 until their tensor is complete. Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_json(File file);

/// The name and version of the traces that this program writes: see data/trace.schema.json.
constexpr std::string_view trace_schema = "attnlab.trace/1";

void append_value(std::string& text, std::monostate);
void append_value(std::string& text, bool value);
void append_value(std::string& text, std::int64_t value);
void append_value(std::string& text, std::size_t value);

/// The shortest text that reads back as the same number of that type; what is not finite as the strings
/// "-Infinity", "Infinity", "NaN".
void append_float(std::string& text, double value, Dtype dtype);
void append_value(std::string& text, double value);
void append_value(std::string& text, const Index& at);

/// Bytes that are no UTF-8 become U+FFFD, so that the document always is.
void append_value(std::string& text, const std::string& value);

template <class T>
void append_value(std::string& text, const std::vector<T>& values) {
  text += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    append_value(text, values[i]);
  }
  text += ']';
}

/// Null, the labels of an axis, or one list of labels for each sample.
void append_value(std::string& text, const AxisLabels& labels);

/// `"name":`, after a comma unless it is the first member.
void append_name(std::string& text, std::string_view name);

template <class T>
void append_member(std::string& text, std::string_view name, const T& value) {
  append_name(text, name);
  append_value(text, value);
}

/// A JSON text (RFC 8259, in UTF-8), read strictly: no name twice in an object, no more than 40 levels of
/// nesting, and bounded lists. `Json` is nlohmann::json or, where the order of names matters and there are no
/// more than 1000, nlohmann::ordered_json. Throws Error, with `place`, for anything else.
template <class Json>
Json parse_json(std::string_view text, std::string_view place);

/// The options of a header as one object.
std::string config_as_json(const Header& header);

/// What an archive says of a tensor beside its elements: its kind, axes and labels.
std::string description_as_json(const Event& event);

/// What a file says of a trace and its tensors beside their elements. These throw Error, with `place`, for
/// what contradicts data/trace.schema.json. First the lesson and the title.
void read_lesson(const nlohmann::json& description, Header& header, std::string_view place);

/// Options by name, from a JSON object. A number without a fraction comes back as int64, an empty list as a
/// list of texts.
void read_config(const nlohmann::ordered_json& options, Header& header, std::string_view place);

/// Kind, axes and labels, each where it is there.
void read_description(const nlohmann::json& description, StoredTensor& tensor, std::string_view place);

/// The elements of a tensor whose type and shape are known.
AnyTensor tensor_from(const nlohmann::ordered_json& data, Dtype dtype, const Shape& shape,
                      std::string_view place);

/// The same where nothing but the lists tells the shape, and the elements tell the type: bool, int64 where
/// all are whole, or float64.
AnyTensor tensor_from(const nlohmann::ordered_json& data, std::string_view place);

}  // namespace attn
