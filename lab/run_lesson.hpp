#pragma once

#include <string>

#include "lab/arguments.hpp"

namespace lab {

/// What a run printed, in the format that was asked for.
struct Page {
  std::string text;
  bool all_claims_hold = true;
};

/// Throws attn::Error for bad input.
Page run_lesson(const RunLesson& run);

}  // namespace lab
