#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trace/entry.hpp"
#include "trace/json/json.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

using nlohmann::ordered_json;

/// The shortest text that reads back as the same number of that type; what is not finite as the strings
/// "-Infinity", "Infinity", "NaN".
std::string number_as_json(double value, Dtype dtype = Dtype::float64) {
  if (std::isnan(value)) return R"("NaN")";
  if (std::isinf(value)) return value < 0 ? R"("-Infinity")" : R"("Infinity")";
  if (value == 0 && std::signbit(value))
    return "-0.0";  // many readers take -0 for an integer and lose the sign
  return shortest(value, dtype);
}

/// For each axis null, its labels, or one list of labels for each sample.
ordered_json labels_as_json(const std::vector<AxisLabels>& labels) {
  auto all = ordered_json::array();
  for (const auto& one : labels)
    all.push_back(one.empty()        ? ordered_json()
                  : one.per_sample() ? ordered_json(one.lists)
                                     : ordered_json(one.lists[0]));
  return all;
}

/// The members of an object without its braces.
std::string members_of(const ordered_json& object) {
  const auto text = json_text(object);
  return text.substr(1, text.size() - 2);
}

/// The elements as nested row-major lists; `offset` moves on to the first one that is not written yet.
void append_nested(std::string& text, const TensorView& tensor, std::size_t axis, std::size_t& offset) {
  if (axis == tensor.shape.size()) {
    const auto i = offset++;
    if (tensor.dtype == Dtype::int64)
      text += std::to_string(static_cast<const std::int64_t*>(tensor.data)[i]);
    else if (tensor.dtype == Dtype::boolean)
      text += static_cast<const bool*>(tensor.data)[i] ? "true" : "false";
    else
      text += number_as_json(static_cast<const double*>(tensor.data)[i], tensor.dtype);
    return;
  }
  text += '[';
  for (std::size_t i = 0; i < tensor.shape[axis]; ++i) {
    if (i > 0) text += ',';
    append_nested(text, tensor, axis + 1, offset);
  }
  text += ']';
}

void append_tensor(std::string& members, const Event& event) {
  const auto& tensor = *event.tensor;
  members += ',' + members_of({{"shape", tensor.shape},
                               {"axes", event.axes},
                               {"labels", labels_as_json(event.labels)},
                               {"dtype", name_of(tensor.dtype)}});
  if (tensor.data == nullptr) return;
  append_member(members, "data", "");
  std::size_t offset = 0;
  append_nested(members, tensor, 0, offset);
}

/// One entry of a step, worked out in full precision, unless it takes more than 4096 entries to say it.
void append_worked(std::string& members, const Event& event) {
  const auto at = entry_to_work_out(event);
  if (!at) return;
  const auto worked = event.worked(*at);
  constexpr std::size_t most_entries = 4096;
  auto operands = ordered_json::array();
  worked.for_each_entry([&](const Operand& operand, double) {
    if (operands.size() <= most_entries) operands.push_back({operand.tensor, operand.index});
  });
  if (!worked.is_finite() || operands.size() > most_entries) return;
  auto of_entry = members_of(
      {{"index", *at}, {"expression", worked.text(number_in_full, std::numeric_limits<std::size_t>::max())}});
  append_member(of_entry, "value", number_as_json(worked.value()));
  append_member(of_entry, "operands", json_text(operands));
  append_member(members, "worked", '{' + of_entry + '}');
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

void append_measurement(std::string& members, const Measurement& measured) {
  const auto measurement = made_finite(measured);
  append_member(members, "claim", json_text(measurement.claim));
  append_member(members, "value", number_as_json(measurement.value));
  append_member(members, "limit", json_text(to_string(measurement.limit)));
  append_member(members, "holds", measurement.holds() ? "true" : "false");
}

}  // namespace

std::string json_text(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string option_as_json(const ConfigValue& value) {
  return std::visit(
      [](const auto& set) {
        using T = std::decay_t<decltype(set)>;
        if constexpr (std::is_same_v<T, double>)
          return number_as_json(set);
        else if constexpr (std::is_same_v<T, std::monostate>)
          return std::string("null");
        else
          return json_text(ordered_json(set));
      },
      value);
}

void append_member(std::string& members, std::string_view name, std::string_view value) {
  if (!members.empty()) members += ',';
  members.append("\"").append(name).append("\":").append(value);
}

std::string config_as_json(const Header& header) {
  std::string members;
  for (const auto& [name, value] : header.config) append_member(members, name, option_as_json(value));
  return members;
}

std::string description_as_json(const Event& event) {
  return json_text(
      {{"kind", name_of(event.kind)}, {"axes", event.axes}, {"labels", labels_as_json(event.labels)}});
}

JsonWriter::JsonWriter(const Header& header)
    : document_('{' +
                members_of({{"schema", trace_schema}, {"lesson", header.lesson}, {"title", header.title}}) +
                ",\n\"config\":{" + config_as_json(header) + "},\n\"events\":[") {}

void JsonWriter::receive(const Event& event) {
  auto members = members_of({{"kind", name_of(event.kind)},
                             {"id", event.id},
                             {"title", event.title},
                             {"formula", event.formula},
                             {"note", event.note},
                             {"level", event.is_on_page() ? "core" : "detail"}});
  if (!event.notice.empty()) append_member(members, "notice", json_text(event.notice));
  if (event.kind == Kind::step) append_member(members, "inputs", json_text(event.inputs));
  if (event.tensor) append_tensor(members, event);
  append_worked(members, event);
  if (event.measurement) append_measurement(members, *event.measurement);
  document_.append(std::exchange(has_events_, true) ? ",\n{" : "\n{").append(members).append("}");
}

std::string JsonWriter::finish() {
  document_ += "\n]}\n";
  return std::exchange(document_, {});
}

}  // namespace attn
