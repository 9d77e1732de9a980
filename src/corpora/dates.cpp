#include "corpora/dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attn/error.hpp"
#include "corpora/draw.hpp"

namespace corpora {

namespace {

using std::chrono::year_month_day;

constexpr int first_year = 1900, last_year = 2099;
constexpr std::size_t abbreviation = 3;

constexpr std::array<std::string_view, 12> month_names{"January",   "February", "March",    "April",
                                                       "May",       "June",     "July",     "August",
                                                       "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> weekday_names{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                        "Thursday", "Friday", "Saturday"};

int year_of(year_month_day date) {
  return static_cast<int>(date.year());
}
unsigned month_of(year_month_day date) {
  return static_cast<unsigned>(date.month());
}
unsigned day_of(year_month_day date) {
  return static_cast<unsigned>(date.day());
}

std::string_view month_name(year_month_day date) {
  return month_names[month_of(date) - 1];
}

std::string_view weekday_name(year_month_day date) {
  return weekday_names[std::chrono::weekday(std::chrono::sys_days(date)).c_encoding()];
}

std::string_view ordinal_ending(unsigned day) {
  if (day / 10 == 1) return "th";
  constexpr std::array<std::string_view, 4> endings{"th", "st", "nd", "rd"};
  return day % 10 < endings.size() ? endings[day % 10] : "th";
}

/// Writes the source of a date and keeps where its fields are.
class DateWriter {
 public:
  explicit DateWriter(year_month_day date) : date_(date) {}

  void write(std::string_view text) { source_ += text; }

  /// What a conversion of date_forms() stands for.
  void convert(char conversion) {
    switch (conversion) {
      case 'Y':
        return write_field(year_, fmt::format("{:04}", year_of(date_)));
      case 'm':
        return write_field(month_, fmt::format("{:02}", month_of(date_)));
      case 'n':
        return write_field(month_, fmt::format("{}", month_of(date_)));
      case 'B':
        return write_field(month_, month_name(date_));
      case 'b':
        return write_field(month_, month_name(date_).substr(0, abbreviation));
      case 'd':
        return write_field(day_, fmt::format("{:02}", day_of(date_)));
      case 'e':
        return write_field(day_, fmt::format("{}", day_of(date_)));
      case 'o':
        return write_ordinal();
      case 'A':
        return write(weekday_name(date_));
      case 'a':
        return write(weekday_name(date_).substr(0, abbreviation));
      default:
        fail(fmt::format("has the conversion {:?}", fmt::format("%{}", conversion)));
    }
  }

  DateExample finish() const {
    if (!year_ || !month_ || !day_) fail("does not have a year, a month and a day");
    return {source_,
            fmt::format("{:04}-{:02}-{:02}", year_of(date_), month_of(date_), day_of(date_)),
            {year_, year_, year_, year_, std::nullopt, month_, month_, std::nullopt, day_, day_}};
  }

 private:
  using Field = std::optional<CharacterRange>;

  void write_field(Field& field, std::string_view text) {
    if (field) fail("has a year, a month or a day twice");
    field = CharacterRange{source_.size(), source_.size() + text.size()};
    write(text);
  }

  void write_ordinal() {
    convert('e');
    write(ordinal_ending(day_of(date_)));
  }

  [[noreturn]] static void fail(std::string_view problem) {
    throw attn::Error(fmt::format(
        "the form of a date {}; valid: one of %Y, one of %m %n %B %b, one of %d %e %o, and %A or %a",
        problem));
  }

  year_month_day date_;
  std::string source_;
  Field year_, month_, day_;
};

void require_in_range(year_month_day date) {
  if (!date.ok() || year_of(date) < first_year || year_of(date) > last_year)
    throw attn::Error(
        fmt::format("year {}, month {}, day {} is no date of the task; valid: any day of the "
                    "years {} to {}",
                    year_of(date), month_of(date), day_of(date), first_year, last_year));
}

std::chrono::days days_until(year_month_day date) {
  return std::chrono::sys_days(date).time_since_epoch();
}

std::chrono::days days_until_january(int year) {
  return days_until(std::chrono::year(year) / std::chrono::January / 1);
}

year_month_day draw_day(attn::Random& random) {
  const auto first = days_until_january(first_year), end = days_until_january(last_year + 1);
  return std::chrono::sys_days(std::chrono::days(random.integer(first.count(), end.count())));
}

/// Every day of one year in every form. No year has other characters or longer names.
std::vector<std::string> sources_of_one_year() {
  std::vector<std::string> sources;
  for (auto day = days_until_january(first_year); day < days_until_january(first_year + 1); ++day)
    for (const auto form : date_forms())
      sources.push_back(date_example(std::chrono::sys_days(day), form).source);
  return sources;
}

char lower_case_of(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

const std::vector<std::string_view>& date_forms() {
  static const std::vector<std::string_view> forms{
      "%e %B %Y",      "%B %e, %Y",       "%e %b %Y", "%b %e, %Y",     "%a %e %b %Y", "%A, %e %B %Y",
      "%A, %B %e, %Y", "the %o of %B %Y", "%o %B %Y", "%B the %o, %Y", "%d-%b-%Y",    "%Y, %B %e",
      "%e.%n.%Y",      "%d.%m.%Y",        "%Y/%n/%e", "%Y/%m/%d"};
  return forms;
}

DateExample date_example(year_month_day date, std::string_view form) {
  require_in_range(date);
  DateWriter writer(date);
  bool is_conversion = false;
  for (const char& c : form) {
    if (is_conversion)
      writer.convert(c);
    else if (c != '%')
      writer.write({&c, 1});
    is_conversion = !is_conversion && c == '%';
  }
  if (is_conversion) writer.convert('%');
  return writer.finish();
}

DateExample in_lower_case(DateExample example) {
  std::transform(example.source.begin(), example.source.end(), example.source.begin(), lower_case_of);
  return example;
}

DateExample draw_date(attn::Random& random) {
  const auto date = draw_day(random);
  const auto form = draw_from(random, date_forms());
  auto example = date_example(date, form);
  return draw_once_in(random, 2) ? in_lower_case(std::move(example)) : example;
}

std::string date_source_characters() {
  std::set<char> characters;
  for (const auto& source : sources_of_one_year())
    for (const char c : source) characters.insert({c, lower_case_of(c)});
  return {characters.begin(), characters.end()};
}

std::string date_target_characters() {
  return "-0123456789";
}

std::size_t longest_date_source() {
  std::size_t longest = 0;
  for (const auto& source : sources_of_one_year()) longest = std::max(longest, source.size());
  return longest;
}

}  // namespace corpora
