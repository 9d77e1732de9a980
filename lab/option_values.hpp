#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "lessons/workbench/options.hpp"

/// How the text of an option becomes its field, and how a field reads in the help. One pair of functions for
/// each type of field; all throw attn::Error, with the option, the text and what would be valid.
namespace lab {

/// A whole number from `smallest` to `largest`.
int parse_whole(std::string_view flag, const std::string& text, int smallest, int largest);

/// A finite number, 0 or more.
double parse_tolerance(std::string_view flag, const std::string& text);

/// "attn=weights" in its parts: a name, and the id that it counts as.
std::pair<std::string, std::string> parse_rename(const std::string& text);

void assign(const lessons::OptionInfo& info, double& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::optional<double>& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::uint32_t& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::optional<std::size_t>& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::string& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::optional<std::string>& field, const std::string& text);

/// Lists grow: by one text, and by the numbers between commas.
void assign(const lessons::OptionInfo& info, std::vector<std::string>& field, const std::string& text);
void assign(const lessons::OptionInfo& info, std::vector<std::size_t>& field, const std::string& text);

/// Empty for what is unset.
std::string text_of(bool flag);
std::string text_of(double number);
std::string text_of(std::uint32_t number);
std::string text_of(const std::optional<double>& number);
std::string text_of(const std::optional<std::size_t>& number);
std::string text_of(const std::string& text);
std::string text_of(const std::optional<std::string>& text);
std::string text_of(const std::vector<std::size_t>& numbers);
std::string text_of(const std::vector<std::string>& texts);

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

}  // namespace lab
