#pragma once

#include <string>
#include <vector>

namespace lab {

/// The candidate that takes the fewest insertions, deletions and replacements of a byte (Levenshtein 1966) to
/// turn `word` into; the first on ties. There is at least one candidate.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace lab
