#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/command_help.hpp"
#include "lessons/lesson.hpp"

namespace lab {

/// What `attnlab WORDS… --help` says.
CommandHelp help_of(const std::vector<std::string>& words);

/// The help of a command that is about a lesson (`check`, `probe`, `break`), without the lesson's own
/// options.
CommandHelp help_of_command_on_lessons(std::string_view command);
bool is_on_lessons(std::string_view command);

/// The lessons that `check`, `probe` and `break` know.
std::vector<const lessons::Lesson*> lessons_with_probe();

/// "the first wrong step of …": the first line of a description without the command's name.
std::string title_of(const CommandHelp& help);

/// The rest of the description.
std::string body_of(const CommandHelp& help);

}  // namespace lab
