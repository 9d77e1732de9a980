#include "lessons/documents/repetition.hpp"

#include <fmt/format.h>

#include <cmath>

#include "document/prose.hpp"

namespace lessons {

namespace {

constexpr double most_repetitions = 10'000;

}  // namespace

bool is_repetition(const std::string& argument) {
  return argument.starts_with("for ");
}

std::optional<Repetition> repetition_of(const document::Block& use) {
  for (const auto& argument : use.call.arguments) {
    if (!is_repetition(argument)) continue;
    const std::string from_word = " from ", to_word = " to ";
    const auto from = argument.find(from_word), to = argument.find(to_word, from);
    if (from == argument.npos || to == argument.npos)
      throw document::Error(
          use.place, fmt::format("\"{}\" does not say how often; valid: for hop from 0 to 3", argument));
    const auto begin = from + from_word.size();
    return Repetition{std::string(document::without_blanks(argument.substr(4, from - 4))),
                      document::read_formula(use.place, argument.substr(begin, to - begin)),
                      document::read_formula(use.place, argument.substr(to + to_word.size()))};
  }
  return std::nullopt;
}

std::vector<double> values_of_counter(const Repetition& repetition, double from, double to,
                                      const document::Place& place) {
  if (from != std::floor(from) || to != std::floor(to) || !(to - from < most_repetitions))
    throw document::Error(place, fmt::format("for {} from {:g} to {:g}; valid: whole numbers, at most {:g}",
                                             repetition.counter, from, to, most_repetitions));
  std::vector<double> values;
  for (double value = from; value <= to; ++value) values.push_back(value);
  return values;
}

}  // namespace lessons
