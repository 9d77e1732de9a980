#pragma once

#include <string>
#include <vector>

namespace lab {

/// "bash", "zsh", "fish".
const std::vector<std::string>& shells();

/// A script that lets a shell ask the program what may be typed after `attnlab`.
std::string completions(const std::string& shell);

/// What may stand in the place of the last of the words after `attnlab`, which may be empty or only begun: a
/// line for each, with a tab and what it is behind it where that is known. FILE and DIR stand for any file or
/// folder.
std::string choices_for(const std::vector<std::string>& words);

}  // namespace lab
