#include "trace/diff/alignment.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace attn {

namespace {

struct Match {
  std::size_t a, b;
};

/// The items that are in both lists, in the order of `a`.
std::vector<Match> matches_of(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  struct Places {
    std::vector<std::size_t> in_b;
    std::size_t matched = 0;
  };
  std::unordered_map<std::string_view, Places> places;
  for (std::size_t i = 0; i < b.size(); ++i) places[b[i]].in_b.push_back(i);
  std::vector<Match> matches;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const auto found = places.find(a[i]); found != places.end())
      if (auto& [in_b, matched] = found->second; matched < in_b.size())
        matches.push_back({i, in_b[matched++]});
  return matches;
}

/// As many of the matches as stand in the same order in both lists.
std::vector<Match> longest_in_order(const std::vector<Match>& matches) {
  std::vector<std::size_t> ends;                                   // of the best sequence of each length
  std::vector<std::optional<std::size_t>> before(matches.size());  // a match in its sequence
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const auto end = std::lower_bound(ends.begin(), ends.end(), matches[i].b,
                                      [&](std::size_t k, std::size_t b) { return matches[k].b < b; });
    if (end != ends.begin()) before[i] = *std::prev(end);
    if (end == ends.end()) {
      ends.push_back(i);
    } else {
      *end = i;
    }
  }
  std::vector<Match> sequence;
  for (auto i = ends.empty() ? std::nullopt : std::optional(ends.back()); i; i = before[*i])
    sequence.push_back(matches[*i]);
  std::reverse(sequence.begin(), sequence.end());
  return sequence;
}

/// Goes on to the given ends of both lists.
void append_unequal(std::vector<Pair>& pairs, Match& next, Match end, Unequal unequal) {
  while (unequal == Unequal::paired && next.a < end.a && next.b < end.b)
    pairs.push_back({next.a++, next.b++});
  while (next.a < end.a) pairs.push_back({next.a++, std::nullopt});
  while (next.b < end.b) pairs.push_back({std::nullopt, next.b++});
}

}  // namespace

std::vector<Pair> align(const std::vector<std::string>& a, const std::vector<std::string>& b,
                        Unequal unequal) {
  std::vector<Pair> pairs;
  Match next{0, 0};
  for (const auto& match : longest_in_order(matches_of(a, b))) {
    append_unequal(pairs, next, match, unequal);
    pairs.push_back({next.a++, next.b++});
  }
  append_unequal(pairs, next, {a.size(), b.size()}, unequal);
  return pairs;
}

}  // namespace attn
