#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/random/random.hpp"

/// The examples of small tasks, and what draws them.
namespace corpora {

/// Uniform on 0, …, count − 1. Throws attn::Error for a count of 0.
inline std::size_t draw_index(attn::Random& random, std::size_t count) {
  return static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(count)));
}

/// Uniform on low, …, high, both included. Throws attn::Error where high is less.
inline std::size_t draw_between(attn::Random& random, std::size_t low, std::size_t high) {
  return static_cast<std::size_t>(
      random.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high) + 1));
}

/// True once in `times` draws on average.
inline bool draw_once_in(attn::Random& random, std::size_t times) {
  return draw_index(random, times) == 0;
}

/// One of the items, of which there is at least one.
template <class Item>
const Item& draw_from(attn::Random& random, const std::vector<Item>& items) {
  return items[draw_index(random, items.size())];
}

/// 0, …, count − 1 in a random order.
inline std::vector<std::size_t> draw_order(attn::Random& random, std::size_t count) {
  const auto order = random.permutation(static_cast<std::int64_t>(count));
  return {order.begin(), order.end()};
}

/// Names for the symbols 0, …, count − 1 of a task: a, b, …, z, a1, b1, …, z1, a2, ….
std::vector<std::string> symbol_labels(std::size_t count);

/// A sequence to be said backwards: `length` symbols, each uniform on 0, …, symbol_count − 1. Throws
/// attn::Error for a length or a symbol count of 0.
std::vector<std::size_t> draw_reverse(attn::Random& random, std::size_t length,
                                      std::size_t symbol_count = 26);

/// A sequence of random tokens in which some pairs come twice, so that after A … A B … A the next one is B.
///
/// The tokens of the first half are all different. In the second half some of its pairs of neighbours come
/// again, in a random order and between tokens that are new. Nothing but the first occurrence of a pair tells
/// its second token: which token follows which, and how far away, is drawn anew for each sequence; and a
/// third of the first half does not come again, so that the last pair is not simply what is left.
struct InductionSequence {
  std::vector<std::size_t> tokens;  ///< from 0; symbol_labels names them

  /// For each position, where to find its next token if that is determined: just after the only earlier
  /// occurrence of the token here. None where this is not the first token of a pair that comes again.
  std::vector<std::optional<std::size_t>> right_keys;
};

/// One pair comes again for every six tokens of the length. Throws attn::Error for a length below 6 and for
/// fewer tokens than come in such a sequence, about two thirds of it.
InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count = 26);

/// Positions begin, …, end − 1 of a text.
struct CharacterRange {
  std::size_t begin, end;

  bool operator==(const CharacterRange&) const = default;
};

/// A date as people write it, and in ISO 8601.
struct DateExample {
  std::string source;  ///< "Thursday, 12 March 1987"
  std::string target;  ///< "1987-03-12"

  /// For each character of the target, the part of the source that decides it: the year, the month or the
  /// digits of the day. None for hyphens.
  std::array<std::optional<CharacterRange>, 10> fields;
};

/// The forms of the sources, in the conversions of strftime: %Y 1987, %m 03, %B March, %b Mar, %d 12, %A
/// Thursday, %a Thu; and %n for a month without a leading zero, %e for a day without one and %o for 12th. A
/// date with dots has the day first, one with slashes the year.
const std::vector<std::string_view>& date_forms();

/// A date in one of date_forms(), or in a form like them.
DateExample date_example(std::chrono::year_month_day date, std::string_view form);

/// The same in lower case.
DateExample in_lower_case(DateExample example);

/// Any day of the years 1900 to 2099 in any of date_forms(), half of them in lower case.
DateExample draw_date(attn::Random& random);

/// The characters of all sources that draw_date draws, and of all targets, sorted.
std::string date_source_characters();
std::string date_target_characters();

}  // namespace corpora
