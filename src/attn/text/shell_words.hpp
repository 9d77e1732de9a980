#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The words of a command as a shell takes it apart: cut at blanks, but for those in single or double quotes
/// and those behind a backslash.
std::vector<std::string> shell_words(std::string_view command);

}  // namespace attn
