#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// "a, b and c", with "and" the conjunction.
std::string listed(const std::vector<std::string>& words, std::string_view conjunction);

/// Remarks that each begin with the tensor they are about; where more than three say the same, they are one:
/// "Each of 5 tensors (a, b, c, …) is transposed.", "Each of 4 tensors (q for Q, …) is taken for that of the
/// lesson.", which names all.
std::vector<std::string> in_few_lines(const std::vector<std::string>& remarks);

/// Whether the word is there.
bool contains(const std::vector<std::string>& words, const std::string& word);

}  // namespace attn
