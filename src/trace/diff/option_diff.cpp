#include "trace/diff/option_diff.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "trace/json/json_values.hpp"

namespace attn {

namespace {

constexpr std::array<std::string_view, 7> indecisive = {"input",  "embeddings", "dtype", "steps",
                                                        "shapes", "precision",  "full"};

using Values = std::unordered_map<std::string_view, const ConfigValue*>;

Values values_of(const Config& config) {
  Values values;
  for (const auto& [name, value] : config) values.emplace(name, &value);
  return values;
}

ConfigValue find(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? ConfigValue() : *found->second;
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
  const auto in_a = values_of(a), in_b = values_of(b);
  std::vector<OptionDiff> options;
  for (const auto& [name, value] : a) options.push_back({name, value, find(in_b, name)});
  for (const auto& [name, value] : b)
    if (in_a.count(name) == 0) options.push_back({name, {}, value});
  std::erase_if(options, [](const auto& option) { return to_string(option.a) == to_string(option.b); });
  return options;
}

}  // namespace attn
