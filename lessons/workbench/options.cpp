#include "lessons/workbench/options.hpp"

#include <fmt/format.h>

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
    if constexpr (is_list<Field>)  // an empty list has no type, and may be null
      if (is_null || (numbers != nullptr && numbers->empty())) return field.clear(), true;
    const auto* same = std::get_if<Field>(&value);
    if (same != nullptr) field = *same;
    return same != nullptr;
  }
}

}  // namespace

std::string name_of_option(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string key_of_option(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
}

std::optional<double> option_in_formulas(const Options& options, std::string_view name) {
  const auto equals = std::min(name.find('='), name.size());
  const bool is_compared = equals < name.size();
  const auto key = key_of_option(name.substr(0, equals));
  const auto value = std::string(name.substr(equals + is_compared));
  std::optional<double> number;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (info.key != key) return;
    if constexpr (std::is_same_v<Field, std::optional<std::size_t>>) {  // of an axis, or the window
      if (is_compared ? value == "given" : smallest_count(info) == 0) number = field.has_value();
    } else if constexpr (std::is_same_v<Field, std::optional<std::string>>) {
      number = is_compared ? field == value : field.has_value();
    } else if constexpr (std::is_same_v<Field, std::string>) {
      if (is_compared) number = field == value;
    } else if (!is_compared) {
      if constexpr (std::is_arithmetic_v<Field>) number = static_cast<double>(field);
      if constexpr (std::is_same_v<Field, std::optional<double>>) number = field.value_or(0.0);
      if constexpr (is_list<Field>) number = !field.empty();
    }
  });
  return number;
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

attn::Config config_of(const Options& options, const std::vector<std::string_view>& keys) {
  attn::Config config;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    if (attn::contains(keys, info.key)) config.emplace_back(name_of_option(info.flag), config_value(field));
  });
  return config;
}

void restore(Options& options, const std::vector<std::string_view>& keys,
             const std::set<std::string_view>& kept, const attn::Config& config) {
  const auto restore_one = [&](const OptionInfo& info, auto& field) {
    if (kept.count(info.key) > 0) return;
    const auto name = name_of_option(info.flag);
    for (const auto& [its_name, value] : config)
      if (its_name == name && !set(field, value))
        throw attn::Error(fmt::format("the config in --input has a {} that --{} cannot have; valid: {}", name,
                                      info.flag, info.value.empty() ? "true or false" : info.value));
  };
  visit_options(options, [&](const OptionInfo& info, auto& field) {
    if (attn::contains(keys, info.key)) restore_one(info, field);
  });
  restore_one({.key = "set", .flag = "set", .value = "ID=VALUE", .help = ""}, options.set);
}

}  // namespace lessons
