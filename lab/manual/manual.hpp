#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/command_help.hpp"

namespace lab {

/// A command, as the general help lists it.
struct CommandLine {
  std::string_view name;
  std::string_view arguments;  ///< that follow the name: "LESSON DUMP"
  std::string_view summary;
};

/// All commands but the lessons.
const std::vector<CommandLine>& command_lines();

/// A page of the manual in roff, to be printed by a terminal's `man`.
struct PrintManual {
  std::string topic;  ///< a command or a lesson; empty for the page about the program
};

/// A script that teaches a shell to complete what is typed after `attnlab`.
struct PrintCompletions {
  std::string shell;
};

/// "bash", "zsh", "fish".
const std::vector<std::string>& shells();

/// The commands and lessons that have a page of their own.
std::vector<std::string> manual_topics();

std::string manual_page(const PrintManual& manual);
std::string completions(const PrintCompletions& completions);

}  // namespace lab
