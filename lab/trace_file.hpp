#pragma once

#include <memory>
#include <string>
#include <variant>

#include "attn/io/stored_trace.hpp"

namespace lab {

/// A trace as a file holds it: what was printed, or data.
using TraceFile = std::variant<std::string, std::unique_ptr<attn::StoredTrace>>;

/// Opens a trace of either kind; its first bytes decide which. Printed traces, and JSON, may come from a
/// pipe. Throws attn::Error for a file that cannot be read or is neither.
TraceFile open_trace_file(const std::string& path);

}  // namespace lab
