#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "attn/error.hpp"
#include "attn/text/trim.hpp"
#include "attn/text/width.hpp"
#include "trace/diff/diff.hpp"
#include "trace/filter.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

constexpr std::size_t page_indent = 2;

using Words = std::vector<std::string>;

struct Line {
  std::size_t number = 0;  // from 1 on
  std::string_view text{};
  Words words{};
};

/// The lines under a heading that are not blank.
struct Section {
  std::string name{};
  bool is_step = false, is_header = false;
  bool is_counted = false;  // the heading begins with the number that the step has by counting
  std::vector<Line> lines{};
};

Words words_of(std::string_view line) {
  const auto words = words_in(line);
  return {words.begin(), words.end()};
}

std::string beginning_of(std::string_view text) {
  constexpr std::size_t longest = 1000;
  return shorten(text, longest);
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

/// "temperature=1/weights:": an id with an equals sign has a colon before its formula.
bool is_id_with_colon(const std::string& word) {
  return word.ends_with(':') && word.find('=') != word.npos;
}

std::string id_in(const std::string& word) {
  return word.substr(0, word.size() - (is_id_with_colon(word) ? 1 : 0));
}

/// The id of a heading `3  weights = softmax(scaled)`, which begins with a number.
std::string numbered_id(const Line& line) {
  const auto& words = line.words;
  const bool is_numbered = words.size() > 1 &&
                           words[0].find_first_not_of("0123456789") == std::string::npos &&
                           line.text.starts_with(words[0] + "  " + words[1]);
  return is_numbered ? id_in(words[1]) : "";
}

/// The first id of a line `  K = X W_K [6×8], mask [6×6]`, which names steps that an earlier lesson taught.
std::string short_id(const Line& line) {
  const auto& words = line.words;
  if (words.size() < 2 || !line.text.starts_with("  " + words[0] + " " + words[1])) return "";
  const bool is_defined = words[1] == "=" || words[1].starts_with('[') || is_id_with_colon(words[0]);
  return is_defined ? id_in(words[0]) : "";
}

/// Whether a lesson's title comes first, with a rule or with options below it.
bool is_header(const std::vector<Line>& lines) {
  const std::size_t title = lines.front().words.front() == "$" ? 1 : 0;
  if (lines.size() < title + 2) return false;
  const auto& [number, text, words] = lines[title + 1];
  const bool has_options = indent_of(text) == page_indent && words.front().find('=') != std::string::npos;
  return words.front().starts_with("──") ||
         (has_options && indent_of(lines[title].text) == 0 && lines[title].text.find(": ") != text.npos);
}

/// Everything below a heading is indented, and has no blank line before it or is more than a short step.
std::vector<Section> sections_of(std::string_view page) {
  std::vector<Section> sections;
  bool is_after_blank = true;
  std::size_t number = 0;
  for (const auto text : pieces_of(page, "\n")) {
    Line line{++number, text, words_of(text)};
    const bool is_blank = line.words.empty();
    const bool may_start = indent_of(line.text) < page_indent || !short_id(line).empty();
    if (!is_blank && (sections.empty() || (is_after_blank && may_start))) sections.emplace_back();
    if (!is_blank) sections.back().lines.push_back(std::move(line));
    is_after_blank = is_blank;
  }
  std::size_t steps = 0;
  for (auto& section : sections) {
    auto& heading = section.lines.front();
    const auto numbered = numbered_id(heading), id = numbered.empty() ? short_id(heading) : numbered;
    section.is_step = !id.empty();
    section.name = section.is_step ? id : beginning_of(heading.text);
    section.is_header = is_header(section.lines);
    if (section.is_header) steps = 0;
    section.is_counted = !numbered.empty() && heading.words[0] == std::to_string(++steps);
  }
  return sections;
}

/// A number in a word: `0.5`, `exp(−0.0892)`, `0.6650.`.
struct PrintedNumber {
  std::string_view before{}, after{};
  double value = 0.0;
};

/// The number of a word that says nothing else but where it stands in an expression or a sentence.
std::optional<PrintedNumber> printed_number(std::string_view word) {
  constexpr std::string_view minus = "−";
  const auto start = word.find_last_of('(') + 1, end = word.find_last_not_of("),.") + 1;
  if (end <= start) return std::nullopt;
  std::string text(word.substr(start, end - start));
  if (text.starts_with(minus)) text.replace(0, minus.size(), "-");
  const auto number = number_in(text);
  return number ? std::optional(PrintedNumber{word.substr(0, start), word.substr(end), *number})
                : std::nullopt;
}

/// What stands beside what: in order where there is as much of it, which is the usual thing.
std::vector<Pair> pairs_of(const Words& a, const Words& b) {
  if (a.size() != b.size()) return align(a, b, Unequal::paired);
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < a.size(); ++i) pairs.push_back({i, i});
  return pairs;
}

/// How one section differs from the same one of the other text.
struct SectionComparison : TextSectionDiff {
  SectionComparison(const Section* a, const Section* b, const Tolerance& allowed) : tolerance(allowed) {
    const auto& one = a != nullptr ? *a : *b;
    name = one.name;
    is_step = one.is_step;
    is_header = one.is_header;
    if (a != nullptr) line_a = a->lines.front().number;
    if (b != nullptr) line_b = b->lines.front().number;
    if (!is_in_both()) return;
    const auto is_same = [](const Line& x, const Line& y) { return x.text == y.text; };
    if (std::equal(a->lines.begin(), a->lines.end(), b->lines.begin(), b->lines.end(), is_same)) return;
    for (const auto& [in_a, in_b] : pairs_of(keys_of(*a), keys_of(*b)))
      compare(in_a ? &a->lines[*in_a] : nullptr, in_b ? &b->lines[*in_b] : nullptr);
  }

 private:
  /// The lines word for word.
  static Words keys_of(const Section& section) {
    return each_of(section.lines,
                   [](const auto& line) { return fmt::format("{}", fmt::join(line.words, " ")); });
  }

  void compare(const Line* a, const Line* b) {
    TextPlace place;
    if (a != nullptr) place.line_a = a->number, place.text_a = beginning_of(a->text);
    if (b != nullptr) place.line_b = b->number, place.text_b = beginning_of(b->text);
    if (a != nullptr && b != nullptr) {
      for (const auto& [in_a, in_b] : pairs_of(a->words, b->words))
        compare(place, in_a ? a->words[*in_a] : "", in_b ? b->words[*in_b] : "");
    } else {
      words += (a != nullptr ? a : b)->words.size();
      if (!first) first = place;
    }
  }

  void compare(TextPlace& place, const std::string& a, const std::string& b) {
    const auto number_a = printed_number(a), number_b = printed_number(b);
    const bool are_numbers =
        number_a && number_b && number_a->before == number_b->before && number_a->after == number_b->after;
    if (are_numbers) ++numbers;
    if (a == b) return;
    place.word_a = beginning_of(a);
    place.word_b = beginning_of(b);
    if (!are_numbers) ++words;
    if (are_numbers && is_allowed(number_a->value, number_b->value, place)) return;
    if (!first) first = place;
  }

  /// Counts two numbers that are not written the same.
  bool is_allowed(double a, double b, const TextPlace& place) {
    if (add_unequal(attn::difference(a, b), b)) farthest = place;
    const bool is_exact = tolerance.absolute == 0.0 && tolerance.relative == 0.0;
    const bool is_accepted = !is_exact && tolerance.accepts(a, b);
    if (!is_accepted) ++beyond;
    return is_accepted;
  }

  Tolerance tolerance;
};

/// Leaves what the settings ask for.
void select(std::vector<Section>& sections, const DiffSettings& settings) {
  std::erase_if(sections, [&](const Section& section) {
    if (section.is_header) return settings.ignores_config;
    return !settings.only.empty() && !(section.is_step && is_selected(section.name, settings.only));
  });
}

/// A page shows some of a run's steps: what neither has cannot be compared.
void require_any(const std::vector<Section>& sections, const std::string& wanted) {
  const auto is_wanted = [&](const Section& one) { return one.is_step && is_selected(one.name, {wanted}); };
  if (!any_of(sections, is_wanted))
    throw Error(
        fmt::format("--steps {}: the expected page does not show it; valid: a page of --all", wanted));
}

/// A name, and the lesson's before it: a tour has several of the same.
Words keys_of(const std::vector<Section>& sections) {
  Words keys;
  std::string lesson;
  for (const auto& section : sections) {
    if (section.is_header) lesson = section.name;
    keys.push_back(lesson + '\n' + section.name);
  }
  return keys;
}

struct Match {
  std::size_t a, b;
  std::optional<std::size_t> before{};  ///< a match in the longest sequence that ends here
};

/// As many items that are in both lists as stand in the same order there.
std::vector<Match> matches_in_order(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::unordered_map<std::string_view, std::vector<std::size_t>> places;  // in b, the first one last
  for (std::size_t i = b.size(); i-- > 0;) places[b[i]].push_back(i);
  std::vector<Match> matches;
  std::vector<std::size_t> ends;  // of the best sequence of each length
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto found = places.find(a[i]);
    if (found == places.end() || found->second.empty()) continue;
    Match match{i, found->second.back()};
    found->second.pop_back();
    const auto end = std::lower_bound(ends.begin(), ends.end(), match.b,
                                      [&](std::size_t k, std::size_t place) { return matches[k].b < place; });
    if (end != ends.begin()) match.before = *std::prev(end);
    if (end == ends.end())
      ends.push_back(matches.size());
    else
      *end = matches.size();
    matches.push_back(match);
  }
  std::vector<Match> sequence;
  for (auto i = ends.empty() ? std::nullopt : std::optional(ends.back()); i; i = matches[*i].before)
    sequence.push_back(matches[*i]);
  std::reverse(sequence.begin(), sequence.end());
  return sequence;
}

}  // namespace

std::string_view TextSectionDiff::difference() const {
  if (!is_in_both()) return line_a > 0 ? "only in a" : "only in b";
  if (words > 0) return "words";
  if (beyond > 0) return "numbers";
  return unequal > 0 ? "within tolerance" : "none";
}

TextDiff compare_texts(std::string_view a, std::string_view b, const DiffSettings& settings) {
  if (!settings.renames.empty())
    throw Error("--rename is for data, not for printed traces; valid: two of JSON, npz and safetensors");
  const auto plain_a = without_colours(a), plain_b = without_colours(b);
  auto from_a = sections_of(plain_a), from_b = sections_of(plain_b);
  for (const auto& wanted : settings.only) require_any(from_a, wanted);
  select(from_a, settings);
  select(from_b, settings);
  TextDiff diff;
  for (const auto& [in_a, in_b] : align(keys_of(from_a), keys_of(from_b), Unequal::apart)) {
    auto *const one = in_a ? &from_a[*in_a] : nullptr, *const other = in_b ? &from_b[*in_b] : nullptr;
    const bool are_both = one != nullptr && other != nullptr;
    if (!are_both && settings.only_common) continue;
    if (are_both && one->is_counted && other->is_counted)
      for (auto* section : {one, other}) section->lines[0].words.erase(section->lines[0].words.begin());
    diff.parts.push_back(SectionComparison(one, other, tolerance_of(settings, {})));
  }
  return diff;
}

bool is_of_some_steps(std::string_view text) {
  const auto plain = without_colours(text);
  for (const auto& section : sections_of(plain))
    for (const auto& line : section.lines)
      for (const auto& word : line.words)
        if (section.is_header && word.starts_with("steps=")) return true;
  return false;
}

std::vector<Pair> align(const std::vector<std::string>& a, const std::vector<std::string>& b,
                        Unequal unequal) {
  auto matches = matches_in_order(a, b);
  matches.push_back({a.size(), b.size()});
  std::vector<Pair> pairs;
  std::size_t in_a = 0, in_b = 0;
  for (const auto& match : matches) {
    while (unequal == Unequal::paired && in_a < match.a && in_b < match.b) pairs.push_back({in_a++, in_b++});
    while (in_a < match.a) pairs.push_back({in_a++, std::nullopt});
    while (in_b < match.b) pairs.push_back({std::nullopt, in_b++});
    if (in_a < a.size() && in_b < b.size()) pairs.push_back({in_a++, in_b++});
  }
  return pairs;
}

}  // namespace attn
