#include "corpora/draw_distinct.hpp"

#include <algorithm>
#include <utility>

namespace corpora {

namespace {

/// After so many repetitions in a row a length is taken to have no further sentence.
constexpr std::size_t most_repetitions = 1000;

constexpr std::size_t most_reserved = 1'000'000;

struct OpenLength {
  std::size_t words;
  std::size_t repetitions = 0;  ///< in a row
};

std::vector<OpenLength> open_lengths(const Grammar& grammar, std::size_t shortest, std::size_t longest) {
  std::vector<OpenLength> open;
  for (const auto length : grammar.lengths())
    if (length >= shortest && length <= longest) open.push_back({length});
  return open;
}

}  // namespace

std::vector<SentencePair> draw_distinct(const Grammar& grammar, attn::Random& random, std::size_t count,
                                        std::size_t shortest, std::size_t longest,
                                        const std::unordered_set<std::string>& excluded) {
  auto open = open_lengths(grammar, shortest, longest);
  std::vector<SentencePair> pairs;
  std::unordered_set<std::string> drawn;
  pairs.reserve(std::min(count, most_reserved));
  drawn.reserve(std::min(count, most_reserved));
  while (pairs.size() < count && !open.empty()) {
    const auto index = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(open.size())));
    auto pair = grammar.draw(random, open[index].words);
    auto text = source_text(pair);
    if (excluded.count(text) == 0 && drawn.insert(std::move(text)).second) {
      open[index].repetitions = 0;
      pairs.push_back(std::move(pair));
    } else if (++open[index].repetitions == most_repetitions) {
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  return pairs;
}

}  // namespace corpora
