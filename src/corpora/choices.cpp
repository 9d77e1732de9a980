#include <algorithm>

#include "corpora/derivation.hpp"

namespace corpora {

std::size_t RandomChoices::alternative(const State& state, std::size_t, std::size_t length) {
  return draw_index(state.cumulative[length]);
}

std::size_t RandomChoices::own_length(const Alternative& alternative, std::size_t item, std::size_t,
                                      std::size_t length) {
  if (item + 1 == alternative.states.size()) return length;
  const auto& state = grammar_.states[alternative.states[item]];
  if (state.is_table) return 1;
  const auto& rest = alternative.rest[item + 1];
  double left = random_.random_sample() * alternative.rest[item][length];
  std::size_t possible = 1;
  for (std::size_t own = 1; own < length; ++own) {
    const double weight = state.weights[own] * rest[length - own];
    if (weight == 0.0) continue;
    possible = own;
    left -= weight;
    if (left < 0.0) break;
  }
  return possible;
}

std::size_t RandomChoices::entry(const State& state, std::size_t) {
  return draw_index(state.entry_weights);
}

std::size_t RandomChoices::draw_index(const std::vector<double>& cumulative) {
  if (cumulative.size() == 1) return 0;
  const double drawn = random_.random_sample() * cumulative.back();
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), drawn);
  return static_cast<std::size_t>(std::min(found, cumulative.end() - 1) - cumulative.begin());
}

GivenWords::GivenWords(const CompiledGrammar& grammar, const std::vector<std::string>& words)
    : grammar_(grammar),
      words_(words),
      known_(grammar.states.size() * words.size() * (words.size() + 1), -1) {}

std::size_t GivenWords::alternative(const State& state, std::size_t first, std::size_t length) {
  std::size_t index = 0;
  while (!items_fit(state.alternatives[index], 0, first, length)) ++index;
  return index;
}

std::size_t GivenWords::own_length(const Alternative& alternative, std::size_t item, std::size_t first,
                                   std::size_t length) {
  if (item + 1 == alternative.states.size()) return length;
  std::size_t own = 1;
  while (!fits(alternative.states[item], first, own) ||
         !items_fit(alternative, item + 1, first + own, length - own))
    ++own;
  return own;
}

std::size_t GivenWords::entry(const State& state, std::size_t first) {
  const auto found = std::find_if(state.entries.begin(), state.entries.end(), [&](const LexicalEntry& entry) {
    return entry.source->text == words_[first] || entry.source->before_vowel == words_[first];
  });
  return static_cast<std::size_t>(found - state.entries.begin());
}

bool GivenWords::fits(std::size_t state_index, std::size_t first, std::size_t length) {
  const auto& state = grammar_.states[state_index];
  if (state.is_table) return length == 1 && entry(state, first) < state.entries.size();
  const auto place = (state_index * words_.size() + first) * (words_.size() + 1) + length;
  if (known_[place] < 0)
    known_[place] =
        std::any_of(state.alternatives.begin(), state.alternatives.end(),
                    [&](const Alternative& alternative) { return items_fit(alternative, 0, first, length); });
  return known_[place] == 1;
}

bool GivenWords::items_fit(const Alternative& alternative, std::size_t item, std::size_t first,
                           std::size_t length) {
  const auto items_left = alternative.states.size() - item;
  if (length < items_left) return false;
  if (items_left == 1) return fits(alternative.states[item], first, length);
  for (std::size_t own = 1; own + items_left - 1 <= length; ++own)
    if (fits(alternative.states[item], first, own) &&
        items_fit(alternative, item + 1, first + own, length - own))
      return true;
  return false;
}

}  // namespace corpora
