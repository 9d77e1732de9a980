#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The smallest number of characters (code points) to insert, delete or replace that turns one text into the
/// other (Levenshtein 1966).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the smallest distance to `word`, whatever their case; the first on ties. There is at
/// least one candidate.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// What `word` may have been meant to be: the first candidate that begins with it, else the first that
/// contains it, else the first that is at least half of it, at its beginning, whatever their case and
/// hyphens, else the one that is nearest, or of which a part between hyphens is.
std::string likely_meant(std::string_view word, const std::vector<std::string>& candidates);

/// "did you mean sdpa? valid: lookup, sdpa", without the question where all candidates are far from `word`.
std::string valid_instead_of(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace attn
