#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What stands beside what in two lists: a position in each, or in one alone.
struct Pair {
  std::optional<std::size_t> a{};
  std::optional<std::size_t> b{};
};

/// What becomes of the items between two that are equal: they stand apart, or the first beside the first, the
/// second beside the second, for as long as both lists have some.
enum class Unequal { apart, paired };

/// Two lists beside each other such that equal items stand together, as many as possible without changing an
/// order. Of equal items within a list the n-th belongs to the n-th of the other, which makes this a longest
/// increasing subsequence: O(n log n) time, O(n) memory (Fredman 1975).
std::vector<Pair> align(const std::vector<std::string>& a, const std::vector<std::string>& b,
                        Unequal unequal);

}  // namespace attn
