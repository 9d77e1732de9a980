#include "trace/json/json_values.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "trace/number.hpp"

namespace attn {

namespace {

template <class T>
void append_number(std::string& text, T number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  text.append(buffer, end);
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

void append_value(std::string& text, const std::string& value) {
  using nlohmann::json;
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

}  // namespace attn
