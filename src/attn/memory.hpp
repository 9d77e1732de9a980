#pragma once

#include <string>

namespace attn {

/// Bytes of memory that a process can still have; all that the machine has where the system does not tell.
double free_memory();

/// "1.5 MiB": three digits.
std::string in_bytes(double bytes);

}  // namespace attn
