#pragma once

#include <string>
#include <vector>

namespace attn::html {

/// What stands in each column of a terminal; a wide character takes two, of which the second is empty.
using Columns = std::vector<std::string>;

Columns columns_of(const std::string& line);

}  // namespace attn::html
