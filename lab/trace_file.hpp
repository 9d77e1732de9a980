#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "trace/stored_trace.hpp"

namespace lab {

/// A trace as a file holds it: what was printed, or data.
using TraceFile = std::variant<std::string, std::unique_ptr<attn::StoredTrace>>;

/// Opens a trace of either kind; its first bytes decide which. Both may come from a pipe,
/// and "-" is standard input. Throws attn::Error for a file that cannot be read or is neither.
TraceFile open_trace_file(const std::string& path);

/// The first line, from 1 on, in which two files of the same length differ; 0 where there is none. It tells
/// of digits that are too many to make another number.
std::size_t first_different_line(const std::string& path_a, const std::string& path_b);

}  // namespace lab
