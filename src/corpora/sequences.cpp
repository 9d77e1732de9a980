#include "corpora/sequences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/utf8.hpp"

namespace corpora {

std::vector<std::string> symbol_labels(std::size_t count) {
  constexpr std::size_t letters = 26;
  std::vector<std::string> labels;
  for (std::size_t symbol = 0; symbol < count; ++symbol) {
    labels.emplace_back(1, static_cast<char>('a' + symbol % letters));
    if (symbol >= letters) labels.back() += std::to_string(symbol / letters);
  }
  return labels;
}

std::vector<std::size_t> draw_reverse(attn::Random& random, std::size_t length, std::size_t symbol_count) {
  if (length == 0) throw attn::Error("a sequence of length 0 cannot be reversed; valid: 1 or more");
  if (symbol_count == 0) throw attn::Error("a sequence of 0 symbols cannot be drawn; valid: 1 or more");
  std::vector<std::size_t> symbols;
  for (std::size_t i = 0; i < length; ++i) symbols.push_back(draw_index(random, symbol_count));
  return symbols;
}

namespace {

/// Where `count` pairs begin in `length` tokens that do not overlap, every choice being equally likely: where
/// they are if each takes up one place, then moved by the pairs before.
std::vector<std::size_t> draw_pair_starts(attn::Random& random, std::size_t length, std::size_t count) {
  auto starts = draw_order(random, length - count);
  starts.resize(count);
  std::sort(starts.begin(), starts.end());
  for (std::size_t pair = 0; pair < count; ++pair) starts[pair] += pair;
  return starts;
}

using std::chrono::sys_days;

constexpr int first_year = 1900, last_year = 2099;
constexpr std::size_t abbreviation = 3;

constexpr std::array<std::string_view, 12> month_names{"January",   "February", "March",    "April",
                                                       "May",       "June",     "July",     "August",
                                                       "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> weekday_names{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                        "Thursday", "Friday", "Saturday"};

std::string_view ordinal_ending(unsigned day) {
  if (day / 10 == 1) return "th";
  constexpr std::array<std::string_view, 4> endings{"th", "st", "nd", "rd"};
  return day % 10 < endings.size() ? endings[day % 10] : "th";
}

sys_days january(int year) {
  return std::chrono::year(year) / std::chrono::January / 1;
}

}  // namespace

InductionSequence draw_induction(attn::Random& random, std::size_t length, std::size_t token_count) {
  constexpr std::size_t tokens_for_a_pair = 6;
  const std::size_t half = length / 2, pairs = length / tokens_for_a_pair, fewest = length - 2 * pairs;
  if (length < tokens_for_a_pair)
    throw attn::Error(fmt::format("in {} tokens no pair comes twice; valid: a length of {} or more", length,
                                  tokens_for_a_pair));
  if (token_count < fewest)
    throw attn::Error(fmt::format("{} different tokens are too few for a sequence of {}; valid: {} or more",
                                  token_count, length, fewest));
  const auto tokens = draw_order(random, token_count);
  const auto starts = draw_pair_starts(random, half, pairs);
  InductionSequence sequence;
  const auto append = [&](std::size_t token, std::optional<std::size_t> right_key = std::nullopt) {
    sequence.tokens.push_back(token);
    sequence.right_keys.push_back(right_key);
  };
  auto next_token = tokens.begin();
  while (sequence.tokens.size() < half) append(*next_token++);
  const auto new_tokens = length - half - 2 * pairs;
  for (const auto part : draw_order(random, pairs + new_tokens)) {
    if (part < pairs) {
      append(sequence.tokens[starts[part]], starts[part] + 1);
      append(sequence.tokens[starts[part] + 1]);
    } else {
      append(*next_token++);
    }
  }
  return sequence;
}

const std::vector<std::string_view>& date_forms() {
  static const std::vector<std::string_view> forms{
      "%e %B %Y",      "%B %e, %Y",       "%e %b %Y", "%b %e, %Y",     "%a %e %b %Y", "%A, %e %B %Y",
      "%A, %B %e, %Y", "the %o of %B %Y", "%o %B %Y", "%B the %o, %Y", "%d-%b-%Y",    "%Y, %B %e",
      "%e.%n.%Y",      "%d.%m.%Y",        "%Y/%n/%e", "%Y/%m/%d"};
  return forms;
}

DateExample date_example(std::chrono::year_month_day date, std::string_view form) {
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month()), day = static_cast<unsigned>(date.day());
  const auto month_name = month_names[month - 1];
  const auto weekday = weekday_names[std::chrono::weekday(sys_days(date)).c_encoding()];
  DateExample example = {"", fmt::format("{:04}-{:02}-{:02}", year, month, day), {}};
  auto& source = example.source;
  const auto add_field = [&](std::size_t first, std::size_t last, std::string_view text) {
    for (auto place = first; place <= last; ++place)
      example.fields[place] = {source.size(), source.size() + text.size()};
    source += text;
  };
  const auto add_year = [&](std::string_view text) { add_field(0, 3, text); };
  const auto add_month = [&](std::string_view text) { add_field(5, 6, text); };
  const auto add_day = [&](std::string_view text) { add_field(8, 9, text); };
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '%') {
      source += form[i];
      continue;
    }
    const char conversion = form[++i];
    if (conversion == 'Y') add_year(fmt::format("{:04}", year));
    if (conversion == 'm') add_month(fmt::format("{:02}", month));
    if (conversion == 'n') add_month(fmt::format("{}", month));
    if (conversion == 'B') add_month(month_name);
    if (conversion == 'b') add_month(month_name.substr(0, abbreviation));
    if (conversion == 'd') add_day(fmt::format("{:02}", day));
    if (conversion == 'e' || conversion == 'o') add_day(fmt::format("{}", day));
    if (conversion == 'o') source += ordinal_ending(day);
    if (conversion == 'A') source += weekday;
    if (conversion == 'a') source += weekday.substr(0, abbreviation);
  }
  return example;
}

DateExample in_lower_case(DateExample example) {
  example.source = attn::lower_case(example.source);
  return example;
}

DateExample draw_date(attn::Random& random) {
  const auto first = january(first_year).time_since_epoch(), end = january(last_year + 1).time_since_epoch();
  const sys_days day(std::chrono::days(random.integer(first.count(), end.count())));
  const auto form = draw_from(random, date_forms());
  auto example = date_example(day, form);
  return draw_once_in(random, 2) ? in_lower_case(std::move(example)) : example;
}

std::string date_source_characters() {
  std::set<char> characters;
  // Every day of one year in every form: no year has other characters.
  for (auto day = january(first_year); day < january(first_year + 1); day += std::chrono::days(1))
    for (const auto form : date_forms()) {
      const auto example = date_example(day, form);
      for (const auto& text : {example.source, in_lower_case(example).source})
        characters.insert(text.begin(), text.end());
    }
  return {characters.begin(), characters.end()};
}

std::string date_target_characters() {
  return "-0123456789";
}

}  // namespace corpora
