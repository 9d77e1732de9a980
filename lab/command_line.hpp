#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/error.hpp"
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

/// Whether an argument asks for help.
inline bool is_help(std::string_view argument) {
  return argument == "--help" || argument == "-h";
}

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

template <class Field>
struct ValueOf {
  using type = Field;
};
template <class Value>
struct ValueOf<std::optional<Value>> {
  using type = Value;
};

/// Adds options under one heading.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* heading) : app_(app), heading_(heading) {}

  void add(std::string_view flag, std::string_view value, std::string_view help,
           std::function<void(const std::string&)> assign_text, Values values = Values::one) const;
  void add(std::string_view flag, std::string_view value, std::string_view help,
           std::optional<std::string>& field) const;
  void add(std::string_view flag, std::string_view value, std::string_view help, std::string& field) const;
  void add_flag(std::string_view flag, std::string_view help, bool& field) const;

  /// Its value is one of these words.
  template <class Field>
  void add_choice(std::string_view flag, std::string_view help, Field& field,
                  const std::vector<std::pair<std::string, typename ValueOf<Field>::type>>& choices) const {
    std::vector<std::string> names;
    for (const auto& [name, choice] : choices) names.push_back(name);
    add(flag, fmt::format("{}", fmt::join(names, "|")), help,
        [flag, &field, choices](const std::string& text) { field = parse_choice(flag, text, choices); });
  }

 private:
  CLI::App& app_;
  const char* heading_;
};

/// Adds the options of the lesson; parsing fills `options`, which starts as the lesson's defaults.
void add_lesson_options(CLI::App& app, const lessons::Lesson& lesson, lessons::Options& options);

/// A whole number from `smallest` to `largest`.
int parse_whole(std::string_view flag, const std::string& text, int smallest, int largest);

/// A finite number, 0 or more.
double parse_tolerance(std::string_view flag, const std::string& text);

/// "attn=weights" in its parts: a name, and the id that it counts as.
std::pair<std::string, std::string> parse_rename(const std::string& text);

/// How the text of an option becomes its field: lists grow, by one text and by the numbers between commas.
void assign(const lessons::OptionInfo& info, double& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::uint32_t& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::size_t& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::string& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::vector<std::string>& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::vector<std::size_t>& field, const std::string& text);
template <class Value>
void assign(const lessons::OptionInfo& info, std::optional<Value>& field, const std::string& text) {
  assign(info, field.emplace(), text);
}

/// How a field reads in the help; empty for what is unset, and for flags.
template <class Field>
std::string text_of(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>)
    return "";
  else if constexpr (std::is_same_v<Field, std::string>)
    return field;
  else if constexpr (std::is_same_v<Field, double>)
    return fmt::format("{:g}", field);
  else if constexpr (std::is_integral_v<Field>)
    return fmt::format("{}", field);
  else if constexpr (std::is_same_v<Field, std::vector<std::size_t>>)
    return fmt::format("{}", fmt::join(field, ","));
  else if constexpr (std::is_same_v<Field, std::vector<std::string>>)
    return field.empty() ? "" : fmt::format("\"{}\"", fmt::join(field, "\", \""));
  else
    return field ? text_of(*field) : "";
}

/// The format that the ending of --output stands for, of those given by their endings; the first where there
/// is no ending, or no output.
template <class Format>
Format format_of_ending(const std::string& output,
                        const std::vector<std::pair<std::string, Format>>& formats) {
  const auto ending = std::filesystem::path(output).extension().string();
  if (ending.empty()) return formats.front().second;
  std::string valid;
  for (const auto& [known, format] : formats) {
    if (known == ending) return format;
    valid += known + ", ";
  }
  throw attn::Error("--output " + output + " ends in " + ending + ", which names no format; valid: " + valid +
                    "or another ending with --format");
}

/// "a,b,c" in its parts.
std::vector<std::string> split(std::string_view text, char separator);

/// Adds --seed N|FIRST-LAST in the place of the lesson's --seed: FIRST is the seed of `options`, LAST goes to
/// `last`, which stays empty for one seed.
void add_seeds_option(CLI::App& app, const std::string& group, const std::string& help,
                      lessons::Options& options, std::optional<std::uint32_t>& last);

/// Calls it with each seed, upwards.
void for_each_seed(std::uint32_t first, const std::optional<std::uint32_t>& last,
                   const std::function<void(std::uint32_t)>& call);

/// "sheet.txt" where there is one seed; of several "sheet-08.txt", in as many digits as the last has.
std::string path_of_seed(const std::string& path, std::uint32_t seed,
                         const std::optional<std::uint32_t>& last);

}  // namespace lab
