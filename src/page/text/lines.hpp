#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attn {

/// As many pieces on a line as fit; a piece is broken only where it is wider than a line.
std::vector<std::string> pack(const std::vector<std::string>& pieces, const std::string& separator,
                              std::size_t width);

/// "= a + b / c" as "= a", "+ b", "/ c": a line of an expression begins with an operator.
std::vector<std::string> before_operators(const std::string& expression);

}  // namespace attn
