#pragma once

#include <string>
#include <vector>

namespace lab {

/// An option, or an argument without one, as its line in the help tells it.
struct OptionHelp {
  std::vector<std::string> names;  ///< "-o", "--output"; of an argument "DUMP"
  std::string value;               ///< "FILE", "text|json"; empty where the option takes none
  std::string text;
  std::string group;  ///< the heading that it stands under; empty of an argument
};

/// What the help of a command says, in its parts. The manual and the completions of shells are made of it.
struct CommandHelp {
  std::string description;  ///< "check: the first wrong step of …", then paragraphs
  std::vector<OptionHelp> options;
  std::string examples;  ///< "Examples:" and a line for each
};

}  // namespace lab
