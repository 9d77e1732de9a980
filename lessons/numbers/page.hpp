#pragma once

#include <string_view>

namespace lessons {

/// The file attnlab_numbers.py: NumPy code that draws every input of every lesson.
std::string_view numbers_page();

}  // namespace lessons
