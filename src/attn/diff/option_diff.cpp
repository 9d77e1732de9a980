#include "attn/diff/option_diff.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "attn/render/json_values.hpp"

namespace attn {

namespace {

constexpr std::array<std::string_view, 7> indecisive = {"input",  "embeddings", "dtype", "steps",
                                                        "shapes", "precision",  "full"};

ConfigValue find(const Config& config, const std::string& name) {
  for (const auto& [option, value] : config)
    if (option == name) return value;
  return {};
}

}  // namespace

bool OptionDiff::is_decisive() const {
  return std::find(indecisive.begin(), indecisive.end(), name) == indecisive.end();
}

std::string to_string(const ConfigValue& value) {
  std::string text;
  std::visit([&](const auto& set) { append_value(text, set); }, value);
  return text;
}

std::vector<OptionDiff> compare_options(const Config& a, const Config& b) {
  std::vector<OptionDiff> options;
  for (const auto& [name, value] : a) options.push_back({name, value, find(b, name)});
  for (const auto& [name, value] : b)
    if (std::none_of(options.begin(), options.end(), [&](const auto& option) { return option.name == name; }))
      options.push_back({name, {}, value});
  std::erase_if(options, [](const auto& option) { return to_string(option.a) == to_string(option.b); });
  return options;
}

}  // namespace attn
