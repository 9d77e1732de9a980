#include "lab/book/controls.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/option_values.hpp"

namespace lab {

namespace {

using nlohmann::ordered_json;

/// The words of "strided|fixed|random|FILE" that may be typed as they are.
std::vector<std::string> choices_of(std::string_view value) {
  std::vector<std::string> choices;
  for (const auto& choice : split(std::string(value), '|')) {
    const bool is_place_holder =
        std::any_of(choice.begin(), choice.end(), [](char letter) { return letter >= 'A' && letter <= 'Z'; });
    if (!is_place_holder) choices.push_back(choice);
  }
  return choices;
}

const char* kind_of(const lessons::OptionInfo&, const std::vector<std::string>&) {
  return "sentences";
}
const char* kind_of(const lessons::OptionInfo&, const std::vector<std::size_t>&) {
  return "list";
}
const char* kind_of(const lessons::OptionInfo&, bool) {
  return "switch";
}
const char* kind_of(const lessons::OptionInfo&, double) {
  return "number";
}
const char* kind_of(const lessons::OptionInfo&, const std::optional<double>&) {
  return "number";
}
const char* kind_of(const lessons::OptionInfo&, std::uint32_t) {
  return "seed";
}
const char* kind_of(const lessons::OptionInfo&, const std::optional<std::size_t>&) {
  return "count";
}
const char* kind_of(const lessons::OptionInfo& info, const std::string&) {
  return choices_of(info.value).empty() ? "text" : "choice";
}
const char* kind_of(const lessons::OptionInfo& info, const std::optional<std::string>&) {
  return choices_of(info.value).empty() ? "text" : "choice";
}

ordered_json value_of(const std::vector<std::string>& texts) {
  return texts;
}
ordered_json value_of(bool flag) {
  return flag;
}
template <class Field>
ordered_json value_of(const Field& field) {
  return lab::text_of(field);
}

}  // namespace

std::string controls_of(const lessons::Lesson& lesson) {
  const auto plan = lessons::make_plan(lesson, lesson.defaults);
  auto controls = ordered_json::array();
  lessons::visit_options(plan.options, [&](const lessons::OptionInfo& info, const auto& field) {
    if (!lesson.uses(info.key) || info.value == "FILE") return;
    ordered_json control = {
        {"flag", info.flag}, {"help", info.help}, {"kind", kind_of(info, field)}, {"value", value_of(field)}};
    if (control["kind"] == "choice") control["choices"] = choices_of(info.value);
    if (control["kind"] == "count") control["smallest"] = lessons::smallest_count(info);
    controls.push_back(std::move(control));
  });
  return controls.dump();
}

}  // namespace lab
