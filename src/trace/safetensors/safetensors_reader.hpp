#pragma once

#include <memory>

#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// Opens a .safetensors file (https://github.com/huggingface/safetensors): the length of a JSON header, the
/// header, then the elements of all tensors without a gap. Only the header is read. Throws Error as
/// `open_trace` does.
std::unique_ptr<StoredTrace> open_safetensors(File file);

}  // namespace attn
