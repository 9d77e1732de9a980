#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trace/event.hpp"

/// The JSON texts of values, appended to a text that is growing.
namespace attn {

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

/// `"name":value`, after a comma unless it is the first member.
template <class T>
void append_member(std::string& text, std::string_view name, const T& value) {
  if (text.back() != '{') text += ',';
  text.append("\"").append(name).append("\":");
  append_value(text, value);
}

/// The options of a header as one object.
std::string config_as_json(const Header& header);

/// What an archive says of a tensor beside its elements: its kind, axes and labels.
std::string description_as_json(const Event& event);

}  // namespace attn
