#pragma once

#include <memory>

#include "trace/file.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// Opens an .npz archive: of its members no more than the headers is read. Throws Error as `open_trace` does;
/// also for members of other names than ID.npy, and for one that unpacks to more than deflate could pack, or
/// all together to more than 64 MiB and 100 times the file.
std::unique_ptr<StoredTrace> open_npz(File file);

}  // namespace attn
