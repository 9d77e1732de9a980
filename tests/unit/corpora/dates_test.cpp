#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdio>
#include <ctime>
#include <set>

#include "attn/random/random.hpp"
#include "corpora/sequences.hpp"

using attn::Generator;
using corpora::CharacterRange;
using corpora::DateExample;
using std::chrono::year_month_day;

namespace {

year_month_day date(int year, unsigned month, unsigned day) {
  return {std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
}

std::string lower_case(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

/// The runs of a text that are digits, or that are letters, in lower case.
std::vector<std::string> runs(const std::string& text, int (*belongs)(int)) {
  std::vector<std::string> found{""};
  for (const char c : lower_case(text)) {
    if (belongs(c))
      found.back() += c;
    else if (!found.back().empty())
      found.emplace_back();
  }
  if (found.back().empty()) found.pop_back();
  return found;
}

/// 1 to 12 for the name of a month or its first three letters, 0 for other words.
std::size_t month_called(const std::string& word) {
  static const std::vector<std::string> names{"january",   "february", "march",    "april",
                                              "may",       "june",     "july",     "august",
                                              "september", "october",  "november", "december"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (word == names[i] || word == names[i].substr(0, 3)) return i + 1;
  return 0;
}

std::string iso(unsigned long year, unsigned long month, unsigned long day) {
  char text[40];
  std::snprintf(text, sizeof text, "%04lu-%02lu-%02lu", year, month, day);
  return text;
}

/// A source as a reader understands it who knows only that dots come with the day first.
std::string read_date(const std::string& source) {
  auto numbers = runs(source, std::isdigit);
  if (numbers.front().size() != 4) std::reverse(numbers.begin(), numbers.end());
  if (numbers.size() == 3) return iso(std::stoul(numbers[0]), std::stoul(numbers[1]), std::stoul(numbers[2]));
  std::size_t month = 0;
  for (const auto& word : runs(source, std::isalpha)) month = std::max(month, month_called(word));
  return iso(std::stoul(numbers.at(0)), month, std::stoul(numbers.at(1)));
}

std::string part(const DateExample& example, std::size_t position) {
  const auto field = example.fields.at(position).value();
  return example.source.substr(field.begin, field.end - field.begin);
}

std::tm calendar_day(std::time_t days_since_1970) {
  const auto seconds = days_since_1970 * 24 * 60 * 60;
  std::tm time{};
  gmtime_r(&seconds, &time);
  return time;
}

std::string formatted(const std::tm& time, const char* form) {
  char text[80];
  return {text, std::strftime(text, sizeof text, form, &time)};
}

}  // namespace

TEST_CASE("every day of two centuries is written as strftime writes it, weekday included") {
  constexpr std::time_t first = -25567, last = 47481;  // 1900-01-01 and 2099-12-31
  REQUIRE(formatted(calendar_day(first), "%F") == "1900-01-01");
  REQUIRE(formatted(calendar_day(last), "%F") == "2099-12-31");
  constexpr const char* form = "%A %a, %d %m-%Y";
  constexpr const char* form_with_names = "%b %Y %d, %a";
  for (auto day = first; day <= last; ++day) {
    const auto time = calendar_day(day);
    const auto example = corpora::date_example(std::chrono::sys_days(std::chrono::days(day)), form);
    REQUIRE(example.source == formatted(time, form));
    REQUIRE(example.target == formatted(time, "%F"));
    REQUIRE(corpora::date_example(std::chrono::sys_days(std::chrono::days(day)), form_with_names).source ==
            formatted(time, form_with_names));
  }
}

TEST_CASE("a drawn date is understood by a reader, its form unknown") {
  Generator random(1);
  for (int draw = 0; draw < 20000; ++draw) {
    const auto example = corpora::draw_date(random);
    INFO(example.source);
    REQUIRE(read_date(example.source) == example.target);
  }
}

TEST_CASE("the fields of a date are the parts of its source that decide its target") {
  Generator random(2);
  for (int draw = 0; draw < 20000; ++draw) {
    const auto example = corpora::draw_date(random);
    INFO(example.source);
    REQUIRE(example.target.size() == example.fields.size());
    for (std::size_t i = 0; i < example.target.size(); ++i)
      REQUIRE(example.fields[i].has_value() == (example.target[i] != '-'));
    for (const std::size_t i : {0u, 1u, 2u, 3u}) REQUIRE(part(example, i) == example.target.substr(0, 4));
    for (const std::size_t i : {5u, 6u}) {
      const auto month = lower_case(part(example, i));
      const auto number = std::isdigit(month.front()) ? std::stoul(month) : month_called(month);
      REQUIRE(number == std::stoul(example.target.substr(5, 2)));
    }
    for (const std::size_t i : {8u, 9u}) {
      const auto day = part(example, i);
      REQUIRE(std::all_of(day.begin(), day.end(), [](char c) { return std::isdigit(c); }));
      REQUIRE(std::stoul(day) == std::stoul(example.target.substr(8)));
    }
  }
}

TEST_CASE("a date in words has its fields at these positions") {
  const auto example = corpora::date_example(date(1987, 3, 12), "the %o of %B %Y");
  CHECK(example.source == "the 12th of March 1987");
  CHECK(example.target == "1987-03-12");
  CHECK(example.fields[0] == CharacterRange{18, 22});
  CHECK(example.fields[5] == CharacterRange{12, 17});
  CHECK(example.fields[9] == CharacterRange{4, 6});
  CHECK(corpora::in_lower_case(example).source == "the 12th of march 1987");
  CHECK(corpora::in_lower_case(example).fields == example.fields);
}

TEST_CASE("the day of a month ends as it is said") {
  std::string days;
  for (unsigned day = 1; day <= 31; ++day) {
    const auto source = corpora::date_example(date(2000, 1, day), "%o %n %Y").source;
    days += source.substr(0, source.find(' ') + 1);
  }
  CHECK(
      days ==
      "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th 21st 22nd "
      "23rd 24th 25th 26th 27th 28th 29th 30th 31st ");
}

TEST_CASE("every form of a date is understood on every day of a leap year") {
  REQUIRE(corpora::date_forms().size() >= 10);
  for (const auto form : corpora::date_forms())
    for (auto day = std::chrono::sys_days(date(2048, 1, 1)); day <= std::chrono::sys_days(date(2048, 12, 31));
         day += std::chrono::days(1)) {
      const auto example = corpora::date_example(day, form);
      INFO(example.source);
      REQUIRE(read_date(example.source) == example.target);
      REQUIRE(read_date(corpora::in_lower_case(example).source) == example.target);
    }
}

TEST_CASE("the characters of dates are those that are drawn") {
  Generator random(3);
  std::set<char> in_sources, in_targets;
  for (int draw = 0; draw < 50000; ++draw) {
    const auto example = corpora::draw_date(random);
    in_sources.insert(example.source.begin(), example.source.end());
    in_targets.insert(example.target.begin(), example.target.end());
  }
  CHECK(corpora::date_source_characters() == std::string(in_sources.begin(), in_sources.end()));
  CHECK(corpora::date_target_characters() == std::string(in_targets.begin(), in_targets.end()));
}

TEST_CASE("dates are drawn from the first day to the last, and half of those with names in lower case") {
  Generator random(4);
  std::set<std::string> years;
  int with_names = 0, in_lower_case = 0;
  for (int draw = 0; draw < 20000; ++draw) {
    const auto example = corpora::draw_date(random);
    years.insert(example.target.substr(0, 4));
    if (runs(example.source, std::isalpha).empty()) continue;
    ++with_names;
    in_lower_case += lower_case(example.source) == example.source;
  }
  CHECK(years.size() == 200);
  CHECK(*years.begin() == "1900");
  CHECK(*years.rbegin() == "2099");
  CHECK(in_lower_case / static_cast<double>(with_names) == Approx(0.5).margin(0.02));
}

TEST_CASE("a seed gives the same dates everywhere") {
  Generator random(42);
  CHECK(corpora::draw_date(random).source == "7.11.1917");
  CHECK(corpora::draw_date(random).source == "Sunday, October 11, 1987");
  CHECK(corpora::draw_date(random).source == "1917, march 11");
}
