#include "lessons/workbench/set_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/inputs.hpp"
#include "trace/csv.hpp"
#include "trace/file.hpp"
#include "trace/json/json.hpp"

namespace lessons {

namespace {

constexpr std::string_view valid_setting = "ID=[[1,0],[0,1]], ID=identity or ID=@FILE.csv";

struct Setting {
  std::string id;
  std::string value;
  std::string place;  ///< "--set X=[[1,0],[0,1]]", as messages name it
};

/// An id may have "=" in it, and so may the name of a file, but no "@" is in an id.
Setting parse_setting(const std::string& text) {
  const auto place = "--set " + attn::shorten(text.empty() ? "\"\"" : text, 60);
  const auto before_file = text.find("=@");
  const auto equals = before_file == std::string::npos ? text.rfind('=') : before_file;
  if (equals == std::string::npos) attn::refuse(place, "it has no =", valid_setting);
  const auto id = text.substr(0, equals);
  if (!attn::is_valid_id(id))
    attn::refuse(place, fmt::format("{} is the id of no input", attn::in_message(id)), valid_setting);
  return {id, text.substr(equals + 1), place};
}

bool names_file(std::string_view value) {
  return value.size() > 1 && value.front() == '@';
}

/// Whether a value begins as JSON of a tensor does.
bool is_json(std::string_view value) {
  constexpr std::string_view beginnings = "[-0123456789tf\"";
  const auto first = value.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && beginnings.find(value[first]) != std::string_view::npos;
}

/// The matrix in a file, or its only row for an input with a single axis.
attn::AnyTensor read_rows(const Lesson& lesson, const Options& options, const Setting& setting) {
  auto matrix = attn::read_csv(setting.value.substr(1));
  const auto input = find_input(lesson, options, setting.id);
  const bool is_vector = input && extents_of(lesson, *input, options).size() == 1;
  if (!is_vector || matrix.shape()[0] != 1) return matrix;
  return attn::AnyTensor(attn::TensorView{matrix.dtype(), {matrix.shape()[1]}, matrix.view().data});
}

/// A mask with 1 for what it had 0 for.
attn::AnyTensor turned(const attn::AnyTensor& mask) {
  attn::AnyTensor other(attn::Dtype::float64, mask.shape());
  for (std::size_t i = 0; i < attn::element_count(mask.shape()); ++i)
    other.elements<double>()[i] = 1.0 - mask.view().at(i);
  return other;
}

SetInput read_setting(const Lesson& lesson, const Options& options, const Setting& setting) {
  if (setting.value == "identity") return {setting.id, std::nullopt};
  const bool is_file = names_file(setting.value);
  if (!is_file && !is_json(setting.value))
    attn::refuse(setting.place, "its value is no tensor", valid_setting);
  auto tensor =
      is_file ? read_rows(lesson, options, setting) : attn::parse_tensor(setting.value, setting.place);
  const bool is_turned =
      attn::last_of_path(setting.id) == "mask" && options.mask_true == attn::MaskTrue::hidden;
  return {setting.id, is_turned ? turned(tensor) : std::move(tensor)};
}

bool has_input(const attn::StoredTrace* file, const std::string& id) {
  const auto* tensor = file == nullptr ? nullptr : file->find(id);
  return tensor != nullptr && tensor->kind.value_or(attn::Kind::input) == attn::Kind::input;
}

}  // namespace

std::vector<SetInput> read_set_inputs(const Lesson& lesson, const Options& options,
                                      const attn::StoredTrace* file) {
  std::vector<SetInput> inputs;
  for (const auto& text : options.set) {
    const auto setting = parse_setting(text);
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.id == setting.id; }))
      attn::refuse(setting.place, fmt::format("{} is set twice", setting.id), "each input once");
    const bool is_in_file = has_input(file, setting.id);
    if (is_in_file && options.typed.count("set") > 0)
      attn::refuse(setting.place, fmt::format("{} is in --input, too", setting.id), "one of the two");
    if (!is_in_file) inputs.push_back(read_setting(lesson, options, setting));
  }
  return inputs;
}

}  // namespace lessons
