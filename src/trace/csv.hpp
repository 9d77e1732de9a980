#pragma once

#include <string>

#include "trace/any_tensor.hpp"

namespace attn {

/// The matrix in a file of rows of finite numbers with commas between them, one row a line; what is blank
/// around them and at the end is passed over. Throws Error, with the path and the line, for anything else.
AnyTensor read_csv(const std::string& path);

}  // namespace attn
