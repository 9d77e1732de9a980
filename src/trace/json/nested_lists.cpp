#include "trace/json/nested_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "trace/element_type.hpp"
#include "trace/json/json.hpp"
#include "trace/json/strict.hpp"
#include "trace/json/values.hpp"

namespace attn {

namespace {

using nlohmann::ordered_json;

/// Whether lists are nested as the shape says. An empty list may stand for all axes after it.
bool has_shape(const ordered_json& data, const Shape& shape, std::size_t axis = 0) {
  if (axis == shape.size()) return !data.is_array();
  return data.is_array() && data.size() == shape[axis] &&
         std::all_of(data.begin(), data.end(),
                     [&](const auto& item) { return has_shape(item, shape, axis + 1); });
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

/// Takes the elements in their order; they have to be of that type.
template <class T>
void copy_elements(const ordered_json& data, Dtype dtype, std::string_view place, T*& to) {
  if (data.is_array()) {
    for (const auto& item : data) copy_elements(item, dtype, place, to);
    return;
  }
  if (!is_element(data, dtype))
    refuse(place, fmt::format("its data has {}", in_message(data.dump())),
           fmt::format("elements of {}, and nothing beyond it", name_of(dtype)));
  if constexpr (std::is_same_v<T, double>)
    *to++ = number_from(data, dtype);
  else
    *to++ = data.get<T>();
}

/// The first element that is not of that type; null where all are.
const ordered_json* first_beyond(const ordered_json& data, Dtype dtype) {
  if (!data.is_array()) return is_element(data, dtype) ? nullptr : &data;
  for (const auto& item : data)
    if (const auto* found = first_beyond(item, dtype)) return found;
  return nullptr;
}

/// The lengths of the first list, of the first list in it, and so on.
Shape shape_of(const ordered_json& data) {
  Shape shape;
  for (const auto* list = &data; list->is_array(); list = &list->front()) {
    shape.push_back(list->size());
    if (list->empty()) break;
  }
  return shape;
}

}  // namespace

AnyTensor tensor_from(const ordered_json& data, Dtype dtype, const Shape& shape, std::string_view place) {
  if (!has_shape(data, shape))
    refuse(place, fmt::format("its data are not nested as its shape {} says", to_string(shape)),
           "lists within lists, one level for each axis");
  AnyTensor tensor(dtype, shape);
  const auto fill = [&](auto* to) { copy_elements(data, dtype, place, to); };
  if (dtype == Dtype::int64)
    fill(tensor.elements<std::int64_t>());
  else if (dtype == Dtype::boolean)
    fill(tensor.elements<bool>());
  else
    fill(tensor.elements<double>());
  return tensor;
}

AnyTensor tensor_from(const ordered_json& data, std::string_view place) {
  const auto shape = shape_of(data);
  if (!has_shape(data, shape))
    refuse(place, "its lists differ in length or depth", "rows of the same length, as in [[1, 0], [0, 1]]");
  for (const auto dtype : {Dtype::boolean, Dtype::int64, Dtype::float64})
    if (first_beyond(data, dtype) == nullptr) return tensor_from(data, dtype, shape, place);
  refuse(place, fmt::format("it has {}", in_message(first_beyond(data, Dtype::float64)->dump())),
         "lists of numbers, or lists of true and false");
}

AnyTensor parse_tensor(std::string_view text, std::string_view place) {
  return tensor_from(parse_json<ordered_json>(text, place), place);
}

}  // namespace attn
