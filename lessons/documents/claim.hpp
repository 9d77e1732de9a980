#pragma once

#include <string>

#include "lessons/documents/meanings.hpp"

namespace lessons {

/// The two sides of `left = right` or `left ≈ right`.
struct Sides {
  document::Source left, right;
  bool is_exact;
};

/// Throws document::Error for what is no claim.
Sides sides_of(const document::Block& item);

/// Tells the claim `left = right` or `left ≈ right` of a document, named and said so: by how much the sides
/// differ, and how much they may, from the sizes of the terms. Throws document::Error for what is no claim.
void tell_claim_of(Meanings& meanings, const document::Block& item, const std::string& words);

}  // namespace lessons
