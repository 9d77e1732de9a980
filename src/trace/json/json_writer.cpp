#include <cmath>
#include <limits>
#include <utility>

#include "trace/entry.hpp"
#include "trace/json/json.hpp"
#include "trace/json/values.hpp"

namespace attn {

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
