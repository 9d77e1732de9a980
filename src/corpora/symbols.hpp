#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace corpora {

/// Names for the symbols 0, …, count − 1 of a task: a, b, …, z, a1, b1, …, z1, a2, ….
std::vector<std::string> symbol_labels(std::size_t count);

}  // namespace corpora
