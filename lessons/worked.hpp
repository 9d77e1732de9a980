#pragma once

#include <cstddef>
#include <utility>

#include "attn/worked.hpp"

namespace lessons {

/// Entries of tensors in a worked entry beyond which it explains nothing, and takes up memory.
inline constexpr std::size_t most_worked_entries = 4096;

/// How entries come about that are made of so many others, or nothing where these are too many.
inline attn::WorkedOut worked_of(std::size_t entries, attn::WorkedOut worked) {
  return entries <= most_worked_entries ? std::move(worked) : attn::WorkedOut{};
}

}  // namespace lessons
