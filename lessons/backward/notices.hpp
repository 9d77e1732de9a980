#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What to notice in d_scaled and in the gradient of a parameter, with the entry that is farthest from 0 in
/// the first sample and the first head.
std::string notice_of_scaled(const attn::Event& d_scaled);
std::string notice_of_weight(const attn::Event& d_W);

}  // namespace lessons
