#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/arguments.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// What the commands share in reading their arguments and in printing their help. All throw attn::Error.
namespace lab {

/// Whether an option may be given once, with a value, or any number of times, with texts that may be empty.
enum class Values { one, list };

/// The heading above the options that decide what a lesson computes.
inline constexpr const char* what_is_computed = "What is computed";

/// The text in lines as wide as the help, or as what is right of the options' names there.
std::string help_paragraph(std::string_view text);
std::string help_of_option(std::string_view text);

/// How the value of an option is called beside its flag: its alternatives, unless they are too many for that.
std::string_view value_name(std::string_view value);

/// "Examples:" and a line for each, given without the program's name.
std::string help_examples(const std::vector<std::string_view>& examples);

/// Lays the help out; arguments that belong to no option are left for `refuse_extra`.
void prepare(CLI::App& app, const std::string& footer);

/// Adds an option whose every value is given to `assign_text` as it was typed. A long `value`
/// ("dot|scaled_dot|…") is called NAME beside the flag. --output is -o, too.
CLI::Option* add_text_option(CLI::App& app, std::string_view flag, std::string_view value, Values values,
                             const std::string& help, std::function<void(const std::string&)> assign_text);

/// --no-pager.
CLI::Option* add_paging_option(CLI::App& app, Paging& paging);

/// Gives the arguments to the options of `app`. Returns the help where that is asked for.
std::optional<PrintText> read_arguments(CLI::App& app, std::string_view command, int argc, char** argv);

/// "--sentence", "--seed", …
std::vector<std::string> option_names(const CLI::App& app);

/// Refuses the first argument that belongs to no option, where there is one.
void refuse_extras(const CLI::App& app, std::string_view command);

/// What a name that is no lesson's may have been meant to be, among those that would be valid: "did you mean
/// multihead? valid: …" of mha.
std::string valid_instead_of_lesson(std::string_view name, const std::vector<std::string>& valid);

[[noreturn]] void refuse_option(const CLI::App& app, std::string_view command, const std::string& name);
[[noreturn]] void refuse_choice(std::string_view flag, std::string_view text,
                                const std::vector<std::string>& valid);

template <class Choice>
Choice parse_choice(std::string_view flag, const std::string& text,
                    const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (name == text) return choice;
    names.push_back(name);
  }
  refuse_choice(flag, text, names);
}

}  // namespace lab
