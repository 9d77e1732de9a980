#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"

namespace lessons {

/// What is wrong with the names in a document's formulas, conditions, claims and values, whatever its
/// conditions leave out: each that is neither a tensor, nor an axis, nor an option, with its place.
std::vector<std::string> unknown_names_in(const document::Document& document);

}  // namespace lessons
