#include "lessons/workbench/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "attn/error.hpp"

namespace lessons {

namespace {

template <class Field>
constexpr bool is_whole = std::is_integral_v<Field> && !std::is_same_v<Field, bool>;

template <class Field>
attn::ConfigValue config_value(const Field& field) {
  if constexpr (is_optional<Field>)
    return field ? config_value(*field) : attn::ConfigValue{};
  else if constexpr (std::is_same_v<Field, std::vector<std::size_t>>)
    return std::vector<std::int64_t>(field.begin(), field.end());
  else if constexpr (is_whole<Field>)
    return static_cast<std::int64_t>(field);
  else
    return field;
}

std::string config_name(const OptionInfo& info) {
  std::string name(info.flag);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// Whether `value` is one that this field could have; if so the field is set to it.
template <class Field>
bool set(Field& field, const attn::ConfigValue& value) {
  const bool is_null = std::holds_alternative<std::monostate>(value);
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value);
  if constexpr (is_optional<Field>) {
    if (!is_null) return set(field.emplace(), value);
    field.reset();
    return true;
  } else if constexpr (is_whole<Field>) {
    if (whole == nullptr || !std::in_range<Field>(*whole)) return false;
    field = static_cast<Field>(*whole);
    return true;
  } else if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) {
    if (numbers == nullptr) return false;
    field.assign(numbers->begin(), numbers->end());
    return std::all_of(numbers->begin(), numbers->end(), [](std::int64_t number) { return number >= 0; });
  } else {
    if constexpr (std::is_same_v<Field, double>)
      if (whole != nullptr) return field = static_cast<double>(*whole), true;
    if constexpr (std::is_same_v<Field,
                                 std::vector<std::string>>)  // an empty list has no type, and may be null
      if (is_null || (numbers != nullptr && numbers->empty())) return field.clear(), true;
    const auto* same = std::get_if<Field>(&value);
    if (same != nullptr) field = *same;
    return same != nullptr;
  }
}

/// Whether `name` is that of an option in formulas.
bool is_named(const OptionInfo& info, std::string_view name) {
  return std::equal(info.key.begin(), info.key.end(), name.begin(), name.end(),
                    [](char c, char of_name) { return (c == '-' ? '_' : c) == of_name; });
}

template <class Field>
double number_in_formulas(const Field& field) {
  if constexpr (std::is_arithmetic_v<Field>) return static_cast<double>(field);
  if constexpr (std::is_same_v<Field, std::optional<double>>) return field.value_or(0.0);
  if constexpr (is_optional<Field>) return field.has_value();
  if constexpr (is_list<Field>) return !field.empty();
  return 0.0;
}

}  // namespace

const std::vector<OptionInfo>& numbers_of_formulas() {
  static const std::vector<OptionInfo> rows = {{"softcap", "softcap", "C", "bend scores to within ±C"}};
  return rows;
}

std::string given_numbers_of_formulas(const Options& options) {
  std::string given;
  for (const auto& info : numbers_of_formulas())
    if (const auto number = number_of_formulas(options, info.flag))
      given += fmt::format("{}--{} {}", given.empty() ? "" : " ", info.flag, *number);
  return given;
}

std::optional<double> option_in_formulas(const Options& options, std::string_view name) {
  const auto equals = std::min(name.find('='), name.size());
  std::optional<double> number;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    constexpr bool is_choice = std::is_same_v<Field, std::string>;
    constexpr bool is_count = std::is_same_v<Field, std::optional<std::size_t>>;
    if constexpr (is_count)
      if (is_named(info, name.substr(0, equals)) && name.substr(equals) == "=given")
        number = field.has_value();
    if (is_count && smallest_count(info) > 0) return;  // the length of an axis
    constexpr bool may_be_text = std::is_same_v<Field, std::optional<std::string>>;
    const bool is_compared = equals < name.size();
    if ((is_choice != is_compared && !may_be_text) || !is_named(info, name.substr(0, equals))) return;
    if constexpr (is_choice)
      number = field == name.substr(equals + 1);
    else if constexpr (may_be_text)
      number = is_compared ? field == std::string(name.substr(equals + 1)) : field.has_value();
    else
      number = number_in_formulas(field);
  });
  return number;
}

std::string option_in_words(const Options& options, std::string_view key) {
  std::optional<std::string> words;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (info.key != key) return;
    words = "";
    if constexpr (std::is_same_v<Field, std::optional<std::string>>) words = field.value_or("");
    if constexpr (std::is_same_v<Field, std::string>) words = field;
    if constexpr (std::is_same_v<Field, std::vector<std::size_t>>)
      words = fmt::format("{}", fmt::join(field, ", "));
  });
  if (!words) throw attn::Error(fmt::format("option {} is unknown", key));
  return *words;
}

std::vector<std::size_t> counts_of_option(const Options& options, std::string_view key) {
  std::vector<std::size_t> counts;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (info.key != key) return;
    if constexpr (std::is_same_v<Field, std::vector<std::size_t>>) counts = field;
    if constexpr (std::is_same_v<Field, std::optional<std::size_t>>)
      if (field) counts.push_back(*field);
  });
  return counts;
}

std::size_t smallest_count(const OptionInfo& info) {
  return info.key == "window" ? 0 : 1;
}

std::vector<std::pair<std::string, attn::ConfigValue>> config_of(const Options& options,
                                                                 const std::vector<std::string_view>& keys) {
  std::vector<std::pair<std::string, attn::ConfigValue>> config;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    if (std::find(keys.begin(), keys.end(), info.key) == keys.end()) return;
    config.emplace_back(config_name(info), config_value(field));
  });
  return config;
}

void restore(Options& options, const std::vector<std::string_view>& keys,
             const std::set<std::string_view>& kept,
             const std::vector<std::pair<std::string, attn::ConfigValue>>& config) {
  const auto restore_one = [&](const OptionInfo& info, auto& field) {
    if (kept.count(info.key) > 0) return;
    const auto name = config_name(info);
    for (const auto& [its_name, value] : config)
      if (its_name == name && !set(field, value))
        throw attn::Error(fmt::format("the config in --input has a {} that --{} cannot have; valid: {}", name,
                                      info.flag, info.value.empty() ? "true or false" : info.value));
  };
  visit_options(options, [&](const OptionInfo& info, auto& field) {
    if (std::find(keys.begin(), keys.end(), info.key) != keys.end()) restore_one(info, field);
  });
  restore_one({.key = "set", .flag = "set", .value = "ID=VALUE", .help = ""}, options.set);
}

}  // namespace lessons
