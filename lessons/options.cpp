#include "lessons/options.hpp"

#include <algorithm>

namespace lessons {

namespace {

attn::ConfigValue config_value(bool flag) {
  return flag;
}
attn::ConfigValue config_value(double number) {
  return number;
}
attn::ConfigValue config_value(std::uint32_t number) {
  return std::int64_t{number};
}
attn::ConfigValue config_value(const std::string& text) {
  return text;
}
attn::ConfigValue config_value(const std::vector<std::string>& texts) {
  return texts;
}

attn::ConfigValue config_value(const std::vector<std::size_t>& numbers) {
  return std::vector<std::int64_t>(numbers.begin(), numbers.end());
}

attn::ConfigValue config_value(const std::optional<std::size_t>& number) {
  if (!number) return std::monostate{};
  return static_cast<std::int64_t>(*number);
}

attn::ConfigValue config_value(const std::optional<double>& number) {
  if (!number) return std::monostate{};
  return *number;
}

attn::ConfigValue config_value(const std::optional<std::string>& text) {
  if (!text) return std::monostate{};
  return *text;
}

}  // namespace

std::size_t smallest_count(const OptionInfo& info) {
  return info.key == "window" ? 0 : 1;
}

std::vector<std::pair<std::string, attn::ConfigValue>> config_of(const Options& options,
                                                                 const std::vector<std::string_view>& keys) {
  std::vector<std::pair<std::string, attn::ConfigValue>> config;
  visit_options(options, [&](const OptionInfo& info, const auto& field) {
    if (std::find(keys.begin(), keys.end(), info.key) == keys.end()) return;
    std::string name(info.flag);
    std::replace(name.begin(), name.end(), '-', '_');
    config.emplace_back(name, config_value(field));
  });
  return config;
}

}  // namespace lessons
