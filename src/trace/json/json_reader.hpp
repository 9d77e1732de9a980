#pragma once

#include <memory>

#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// Opens a JSON trace of the schema attnlab.trace/1 (data/trace.schema.json). The elements are passed over
/// and not read. Throws Error as `open_trace` does; also for a trace of shapes without numbers.
std::unique_ptr<StoredTrace> open_json(File file);

}  // namespace attn
