#include "corpora/surface.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace corpora {

namespace {

/// By source and target, and sure before possible.
bool precedes(const Link& a, const Link& b) {
  if (a.source != b.source) return a.source < b.source;
  if (a.target != b.target) return a.target < b.target;
  return a.is_sure && !b.is_sure;
}

bool links_the_same(const Link& a, const Link& b) {
  return a.source == b.source && a.target == b.target;
}

}  // namespace

const std::string& form_before(const Word& word, const Word* next) {
  const bool has_other_form = next != nullptr && next->begins_with_vowel && !word.before_vowel.empty();
  return has_other_form ? word.before_vowel : word.text;
}

bool is_joined(const std::string& form) {
  constexpr std::string_view typographic_apostrophe = "’";
  return form.ends_with('\'') || form.ends_with(typographic_apostrophe);
}

void put_together(const TargetWords& target, const Contractions& contractions, SentencePair& pair) {
  const auto& words = target.words;
  std::vector<std::size_t> places;
  places.reserve(words.size());
  pair.target.clear();
  pair.target.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& form = form_before(*words[i], i + 1 < words.size() ? words[i + 1] : nullptr);
    const auto contraction =
        pair.target.empty() ? contractions.end() : contractions.find({pair.target.back(), form});
    if (contraction != contractions.end())
      pair.target.back() = contraction->second;
    else
      pair.target.push_back(form);
    places.push_back(pair.target.size() - 1);
  }
  pair.links = target.links;
  for (auto& link : pair.links) link.target = places[link.target];
  std::sort(pair.links.begin(), pair.links.end(), precedes);
  pair.links.erase(std::unique(pair.links.begin(), pair.links.end(), links_the_same), pair.links.end());
}

}  // namespace corpora
