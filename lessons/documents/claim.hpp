#pragma once

#include <string>

#include "lessons/documents/meanings.hpp"

namespace lessons {

/// The two sides of `left = right`, of `left ≈ right`, of `left ≤ right` and `left ≥ right`, and of `left ≠
/// right by least`.
struct Sides {
  document::Source left, right;
  bool is_exact = false;
  double bound = 0.0;  ///< 1 where the right side is an upper bound of the left one, −1 where a lower one
  document::Source least{};  ///< how much some entry differs at least
};

/// Throws document::Error for what is no claim.
Sides sides_of(const document::Block& item);

/// Tells the claim `left = right`, `left ≈ right` or `left ≠ right by least` of a document, said so, with the
/// names of this scope: by how much the sides differ, and how much they may or must, from the sizes of the
/// terms. The last is claimed where rounding is smaller than half of that number. `left ≤ number` says how
/// large the largest entry is, and may be, `left ≥ number` the same of the smallest. Throws document::Error
/// for what is no claim.
void tell_claim_of(Meanings& meanings, const document::Block& item, const Scope& scope,
                   const std::string& words);

}  // namespace lessons
