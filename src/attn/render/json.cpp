#include "attn/render/json.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>
#include <utility>

namespace attn {

namespace {

using nlohmann::json;

/// Bytes that are no UTF-8 become U+FFFD, so that the document always is.
std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The shortest text that reads back as the same number of that type.
template <class T>
void append_number(std::string& text, T number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  text.append(buffer, end);
}

template <class T>
void append_value(std::string& text, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      text += R"("NaN")";
    } else if (std::isinf(value)) {
      text += value < 0 ? R"("-Infinity")" : R"("Infinity")";
    } else if (value == 0 && std::signbit(value)) {
      text += "-0.0";  // many readers take -0 for an integer and lose the sign
    } else {
      append_number(text, value);
    }
  } else {
    append_number(text, value);
  }
}

void append_value(std::string& text, std::monostate) {
  text += "null";
}

void append_value(std::string& text, const std::string& value) {
  text += quoted(value);
}

template <class T>
void append_value(std::string& text, const std::vector<T>& values) {
  text += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ',';
    append_value(text, values[i]);
  }
  text += ']';
}

template <class T>
void append_member(std::string& text, std::string_view name, const T& value) {
  if (text.back() != '{') text += ',';
  text.append("\"").append(name).append("\":");
  append_value(text, value);
}

/// The elements as nested row-major lists; `element` moves on to the first one that is not written yet.
template <class T>
void append_nested(std::string& text, const Shape& shape, std::size_t axis, const T*& element) {
  if (axis == shape.size()) {
    append_value(text, *element++);
    return;
  }
  text += '[';
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += ',';
    append_nested(text, shape, axis + 1, element);
  }
  text += ']';
}

template <class T>
void append_elements(std::string& text, const TensorView& tensor) {
  const T* element = static_cast<const T*>(tensor.data);
  append_nested(text, tensor.shape, 0, element);
}

void append_data(std::string& text, const TensorView& tensor) {
  switch (tensor.dtype) {
    case Dtype::float64:
      return append_elements<double>(text, tensor);
    case Dtype::float32:
      return append_elements<float>(text, tensor);
    case Dtype::int64:
      return append_elements<std::int64_t>(text, tensor);
    case Dtype::boolean:
      return append_elements<bool>(text, tensor);
  }
}

/// For each axis null, its labels, or one list of labels for each sample.
void append_labels(std::string& text, const std::vector<AxisLabels>& labels) {
  text += ",\"labels\":[";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) text += ',';
    if (labels[i].empty()) {
      append_value(text, std::monostate{});
    } else if (labels[i].per_sample()) {
      append_value(text, labels[i].lists);
    } else {
      append_value(text, labels[i].lists[0]);
    }
  }
  text += ']';
}

void append_tensor(std::string& text, const Event& event) {
  append_member(text, "shape", event.tensor->shape);
  append_member(text, "axes", event.axes);
  append_labels(text, event.labels);
  append_member(text, "dtype", std::string(name_of(event.tensor->dtype)));
  if (event.tensor->data == nullptr) return;
  text += ",\"data\":";
  append_data(text, *event.tensor);
}

void append_measurement(std::string& text, const Measurement& measurement) {
  append_member(text, "claim", measurement.claim);
  append_member(text, "value", measurement.value);
  append_member(text, "limit", to_string(measurement.limit));
  append_member(text, "holds", measurement.holds());
}

}  // namespace

JsonRenderer::JsonRenderer(const Header& header) {
  document_ = "{";
  append_member(document_, "schema", std::string("attnlab.trace/1"));
  append_member(document_, "lesson", header.lesson);
  append_member(document_, "title", header.title);
  document_ += ",\n\"config\":{";
  for (const auto& [name, value] : header.config)
    std::visit([&, &key = name](const auto& set) { append_member(document_, key, set); }, value);
  document_ += "},\n\"events\":[";
}

void JsonRenderer::receive(const Event& event) {
  document_ += std::exchange(has_events_, true) ? ",\n{" : "\n{";
  append_member(document_, "kind", std::string(name_of(event.kind)));
  append_member(document_, "id", event.id);
  append_member(document_, "title", event.title);
  append_member(document_, "formula", event.formula);
  append_member(document_, "note", event.note);
  if (event.kind == Kind::step) append_member(document_, "inputs", event.inputs);
  if (event.tensor) append_tensor(document_, event);
  if (event.measurement) append_measurement(document_, *event.measurement);
  document_ += '}';
}

std::string JsonRenderer::finish() {
  document_ += "\n]}\n";
  return std::exchange(document_, {});
}

}  // namespace attn
