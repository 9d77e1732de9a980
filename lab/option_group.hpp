#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "lab/command_line.hpp"

namespace lab {

/// Adds options that stand under one heading of the help.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* name) : app_(app), name_(name) {}

  void add(std::string_view flag, std::string_view value, std::string_view help,
           std::function<void(const std::string&)> read) const {
    add_text_option(app_, flag, value, Values::one, help_of_option(help), std::move(read))->group(name_);
  }

  /// Of a text as it was typed.
  template <class Text>
  void add_text(std::string_view flag, std::string_view value, std::string_view help, Text& field) const {
    add(flag, value, help, [&field](const std::string& text) { field = text; });
  }

  void add_flag(std::string_view flag, std::string_view help, bool& field) const {
    app_.add_flag_callback(
            fmt::format("--{}", flag), [&field] { field = true; }, help_of_option(help))
        ->group(name_);
  }

 private:
  CLI::App& app_;
  const char* name_;
};

}  // namespace lab
