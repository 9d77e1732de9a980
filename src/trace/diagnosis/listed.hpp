#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// "a, b and c", with "and" the conjunction.
std::string listed(const std::vector<std::string>& words, std::string_view conjunction);

/// Whether the word is there.
bool contains(const std::vector<std::string>& words, const std::string& word);

}  // namespace attn
