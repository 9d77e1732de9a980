#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "lessons/documents/outline.hpp"

namespace lessons {

/// The last section that speaks of a name, in a formula, a claim or a text, by its number. Names are as they
/// stand there and with the prefix of their part: what is no tensor does no harm.
std::map<std::string, std::size_t> last_mentions(const std::vector<Section>& sections);

}  // namespace lessons
