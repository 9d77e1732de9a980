#include "trace/diff/text_diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"
#include "trace/diff/alignment.hpp"
#include "trace/diff/text_page.hpp"
#include "trace/filter.hpp"

namespace attn {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Compares one section with the same one of the other text.
class SectionComparison {
 public:
  SectionComparison(const TextSection& a, const TextSection& b, const Tolerance& tolerance)
      : a_(a), b_(b), tolerance_(tolerance) {
    diff_.lesson = a.lesson;
    diff_.name = a.name;
    diff_.is_step = !a.id.empty();
    diff_.line_a = a.lines.front().number;
    diff_.line_b = b.lines.front().number;
  }

  TextSectionDiff run() {
    const auto is_same = [](const TextLine& a, const TextLine& b) { return a.text == b.text; };
    if (std::equal(a_.lines.begin(), a_.lines.end(), b_.lines.begin(), b_.lines.end(), is_same))
      return std::move(diff_);
    for (const auto& [in_a, in_b] : pairs()) {
      if (in_a && in_b) {
        compare_lines(*in_a, *in_b);
      } else {
        add_line(in_a, in_b);
      }
    }
    return std::move(diff_);
  }

 private:
  /// Lines beside lines: in order where there are as many of them, which is the usual thing.
  std::vector<Pair> pairs() const {
    if (a_.lines.size() != b_.lines.size()) return align(keys_of(a_), keys_of(b_), Unequal::paired);
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < a_.lines.size(); ++i) pairs.push_back({i, i});
    return pairs;
  }

  /// The lines word for word.
  static std::vector<std::string> keys_of(const TextSection& section) {
    std::vector<std::string> keys;
    for (const auto& line : section.lines)
      keys.push_back(fmt::format("{}", fmt::join(words_of(line.text), " ")));
    return keys;
  }

  void compare_lines(std::size_t in_a, std::size_t in_b) {
    const auto words_a = words_of(a_.lines[in_a].text), words_b = words_of(b_.lines[in_b].text);
    const bool is_heading = in_a == 0 && in_b == 0;
    const bool skips_number = is_heading && a_.is_numbered_in_order && b_.is_numbered_in_order;
    for (std::size_t i = skips_number ? 1 : 0; i < std::max(words_a.size(), words_b.size()); ++i)
      compare_words(in_a, in_b, i < words_a.size() ? words_a[i] : "", i < words_b.size() ? words_b[i] : "");
  }

  void compare_words(std::size_t in_a, std::size_t in_b, std::string_view a, std::string_view b) {
    const auto number_a = printed_number(a), number_b = printed_number(b);
    const bool are_numbers =
        number_a && number_b && number_a->before == number_b->before && number_a->after == number_b->after;
    if (are_numbers) ++diff_.numbers;
    if (a == b) return;
    const auto place = [&] { return place_of(in_a, in_b, a, b); };
    if (are_numbers) return add_unequal(number_a->value, number_b->value, place);
    ++diff_.words;
    if (!diff_.first) diff_.first = place();
  }

  /// A line that only one of them has.
  void add_line(std::optional<std::size_t> in_a, std::optional<std::size_t> in_b) {
    const auto& line = in_a ? a_.lines[*in_a] : b_.lines[*in_b];
    diff_.words += words_of(line.text).size();
    if (diff_.first) return;
    diff_.first = TextPlace{};
    (in_a ? diff_.first->line_a : diff_.first->line_b) = line.number;
    (in_a ? diff_.first->text_a : diff_.first->text_b) = beginning_of(line.text);
  }

  template <class Place>
  void add_unequal(double a, double b, Place place) {
    const double difference = std::abs(a - b), size = std::abs(b);
    const double absolute = std::isnan(difference) ? infinity : difference;
    const double relative = absolute == infinity ? infinity : size > 0.0 ? absolute / size : 0.0;
    if (!diff_.farthest || absolute > diff_.max_absolute) diff_.farthest = place();
    diff_.max_absolute = std::max(diff_.max_absolute, absolute);
    diff_.max_relative = std::max(diff_.max_relative, relative);
    ++diff_.unequal;
    const bool is_exact = tolerance_.absolute == 0.0 && tolerance_.relative == 0.0;
    if (!is_exact && tolerance_.accepts(a, b)) return;
    ++diff_.beyond;
    if (!diff_.first) diff_.first = place();
  }

  TextPlace place_of(std::size_t in_a, std::size_t in_b, std::string_view word_a,
                     std::string_view word_b) const {
    const auto& line_a = a_.lines[in_a];
    const auto& line_b = b_.lines[in_b];
    TextPlace place{.line_a = line_a.number,
                    .line_b = line_b.number,
                    .text_a = beginning_of(line_a.text),
                    .text_b = beginning_of(line_b.text),
                    .word_a = beginning_of(word_a),
                    .word_b = beginning_of(word_b)};
    auto labels = table_labels_of(a_, in_a, word_a);
    place.row = std::move(labels.row);
    place.column = std::move(labels.column);
    return place;
  }

  const TextSection& a_;
  const TextSection& b_;
  Tolerance tolerance_;
  TextSectionDiff diff_;
};

bool is_one_of(const TextSection& section, const std::vector<std::string>& wanted) {
  return !section.id.empty() && is_selected(section.id, wanted);
}

/// A page shows some of a run's steps: what neither has cannot be compared.
void require_any(const std::vector<TextSection>& sections, const std::string& wanted) {
  const auto is_wanted = [&](const auto& section) { return is_one_of(section, {wanted}); };
  if (std::none_of(sections.begin(), sections.end(), is_wanted))
    throw Error(
        fmt::format("--steps {}: the expected page does not show it; valid: a page of --all", wanted));
}

void select(std::vector<TextSection>& sections, const std::vector<std::string>& wanted) {
  std::erase_if(sections,
                [&](const auto& section) { return !section.is_header && !is_one_of(section, wanted); });
}

std::vector<std::string> keys_of(const std::vector<TextSection>& sections) {
  std::vector<std::string> keys;
  for (const auto& section : sections) keys.push_back(section.key());
  return keys;
}

TextSectionDiff in_one(const TextSection& section, bool is_in_a) {
  TextSectionDiff diff{.lesson = section.lesson, .name = section.name, .is_step = !section.id.empty()};
  (is_in_a ? diff.line_a : diff.line_b) = section.lines.front().number;
  return diff;
}

/// A tour says the same option in each of its headers.
void add_new(std::vector<OptionDiff>& options, std::vector<OptionDiff> more) {
  for (auto& option : more) {
    const bool is_known = std::any_of(options.begin(), options.end(), [&](const auto& known) {
      return known.name == option.name && known.a == option.a && known.b == option.b;
    });
    if (!is_known) options.push_back(std::move(option));
  }
}

}  // namespace

Verdict TextSectionDiff::verdict() const {
  if (!is_in_both() || words > 0 || beyond > 0) return Verdict::different;
  return unequal > 0 ? Verdict::within_tolerance : Verdict::equal;
}

Verdict TextDiff::verdict() const {
  const bool is_decided = std::any_of(options.begin(), options.end(), [&](const auto& option) {
    return !has_tolerance || option.is_decisive(true);
  });
  if (is_decided || !claims_of_b_hold) return Verdict::different;
  auto verdict = Verdict::equal;
  for (const auto& section : sections) verdict = std::max(verdict, section.verdict());
  return verdict;
}

const TextSectionDiff* TextDiff::first() const {
  const auto found = std::find_if(sections.begin(), sections.end(), [](const auto& section) {
    return section.verdict() == Verdict::different;
  });
  return found == sections.end() ? nullptr : &*found;
}

TextDiff compare_texts(std::string_view a, std::string_view b, const DiffSettings& settings) {
  if (!settings.renames.empty())
    throw Error("--rename is for data, not for printed traces; valid: two of JSON, npz and safetensors");
  std::string storage_a, storage_b;
  auto from_a = parse_text_page(without_decoration(a, storage_a));
  auto from_b = parse_text_page(without_decoration(b, storage_b));
  if (!settings.only.empty()) {
    for (const auto& wanted : settings.only) require_any(from_a, wanted);
    select(from_a, settings.only);
    select(from_b, settings.only);
  }
  const auto pairs = align(keys_of(from_a), keys_of(from_b), Unequal::apart);
  TextDiff diff;
  diff.has_tolerance = settings.absolute || settings.relative;
  diff.sections.reserve(pairs.size());
  for (const auto& [in_a, in_b] : pairs) {
    if (!in_a || !in_b) {
      if (settings.only_common) continue;
      diff.sections.push_back(in_one(in_a ? from_a[*in_a] : from_b[*in_b], in_a.has_value()));
      continue;
    }
    if (!settings.ignores_config)
      add_new(diff.options, compare_options(from_a[*in_a].options, from_b[*in_b].options));
    diff.sections.push_back(
        SectionComparison(from_a[*in_a], from_b[*in_b], tolerance_of(settings, {})).run());
  }
  return diff;
}

}  // namespace attn
