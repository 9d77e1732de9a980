#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/random/random.hpp"

namespace corpora {

/// Positions begin, …, end − 1 of a text.
struct CharacterRange {
  std::size_t begin;
  std::size_t end;

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
