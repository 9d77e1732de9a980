#include "trace/json/json_writer.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "trace/json/json_values.hpp"

namespace attn {

namespace {

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

void append_tensor(std::string& text, const Event& event) {
  append_member(text, "shape", event.tensor->shape);
  append_member(text, "axes", event.axes);
  append_member(text, "labels", event.labels);
  append_member(text, "dtype", std::string(name_of(event.tensor->dtype)));
  if (event.tensor->data == nullptr) return;
  text += ",\"data\":";
  append_data(text, *event.tensor);
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

JsonRenderer::JsonRenderer(const Header& header) {
  document_ = "{";
  append_member(document_, "schema", std::string(trace_schema));
  append_member(document_, "lesson", header.lesson);
  append_member(document_, "title", header.title);
  document_ += ",\n\"config\":" + config_as_json(header) + ",\n\"events\":[";
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
