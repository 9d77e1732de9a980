#pragma once

#include <memory>
#include <string>

#include "trace/any_tensor.hpp"
#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// The matrix in a file of rows of numbers with commas between them, one row a line; what is blank around
/// them and at the end is passed over. Words such as inf, -inf and nan are numbers, too. Throws Error, with
/// the path and the line, for anything else.
AnyTensor read_csv(const std::string& path);

/// That matrix as the only tensor of a trace, under the name of the file without its folder and its ending.
/// Throws Error as `open_trace` does.
std::unique_ptr<StoredTrace> open_csv(const File& file);

}  // namespace attn
