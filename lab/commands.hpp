#pragma once

#include "lab/arguments.hpp"

namespace lab {

/// Carries out what was asked for. Returns the exit status: 0 where all that was claimed holds, 1 otherwise.
/// Throws attn::Error for bad input; nothing has been written then.
int carry_out(const Command& command);

}  // namespace lab
