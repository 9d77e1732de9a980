#pragma once

#include "lessons/backward/attention.hpp"
#include "lessons/backward/projections.hpp"

namespace lessons {}  // namespace lessons
