#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "trace/any_tensor.hpp"
#include "trace/event.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

/// Values as JSON, and what is read back from it. All that reads throws Error, with `place`, for anything
/// else than it names.
namespace attn {

/// The name and version of the traces that this program writes: see data/trace.schema.json.
constexpr std::string_view trace_schema = "attnlab.trace/1";

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

/// Opens such a document, or one of nothing but tensors by id, {"X": [[1, 0], [0, 1]]}, and perhaps the
/// options that they were made with, {"config": {"heads": 2}}, read strictly: each name once in an object, no
/// more than 40 levels, and bounded lists but for those of a trace's elements. Elements take 8 bytes each,
/// and 24 until their tensor is complete. Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_json(const File& file);

/// A value on one line. Bytes that are no UTF-8 become U+FFFD, so that the text always is.
std::string json_text(const nlohmann::ordered_json& value);

/// The value of an option. A number has the shortest text that reads back as the same one.
std::string option_as_json(const ConfigValue& value);

/// Adds `"name":value` to the members of an object so far, after a comma where there are some.
void append_member(std::string& members, std::string_view name, std::string_view value);

/// Whether it is a list of whole numbers, none below 0.
bool is_shape(const nlohmann::json& value);

/// The options of a header as the members of an object.
std::string config_as_json(const Header& header);

/// What an archive says of a tensor beside its elements: its kind, axes and labels.
std::string description_as_json(const Event& event);

/// A JSON text (RFC 8259, in UTF-8), read strictly: no name twice in an object, no more than 40 levels of
/// nesting, and bounded lists. `Json` is nlohmann::json or, where the order of names matters and there are no
/// more than 1000, nlohmann::ordered_json.
template <class Json>
Json parse_json(std::string_view text, std::string_view place);

/// A tensor in nested lists, "[[1, 0], [0, 1]]", read as strictly: of bool, of int64 where all elements are
/// whole, or of float64.
AnyTensor parse_tensor(std::string_view text, std::string_view place);

/// What a file says of a trace and its tensors beside their elements, of data/trace.schema.json. First the
/// lesson and the title.
void read_lesson(const nlohmann::json& description, Header& header, std::string_view place);

/// Options by name, from a JSON object. A number without a fraction comes back as int64, an empty list as a
/// list of texts.
void read_config(const nlohmann::ordered_json& options, Header& header, std::string_view place);

/// Kind, axes and labels, each where it is there.
void read_description(const nlohmann::json& description, StoredTensor& tensor, std::string_view place);

}  // namespace attn
