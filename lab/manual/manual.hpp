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

/// The commands and lessons that have a page of their own.
std::vector<std::string> manual_topics();

std::string manual_page(const PrintManual& manual);

}  // namespace lab
