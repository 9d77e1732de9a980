#include "trace/diff/text_diff.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"
#include "trace/diff/alignment.hpp"
#include "trace/diff/text_page.hpp"
#include "trace/filter.hpp"
#include "trace/number.hpp"

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
    if (are_same_lines()) return std::move(diff_);
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
  /// Whether both print the same, at no great cost: most sections do.
  bool are_same_lines() const {
    return std::equal(a_.lines.begin(), a_.lines.end(), b_.lines.begin(), b_.lines.end(),
                      [](const auto& a, const auto& b) { return a.text == b.text; });
  }

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
    for (const auto& line : section.lines) {
      auto& key = keys.emplace_back();
      for (auto rest = line.text, word = take_word(rest); !word.empty(); word = take_word(rest))
        key.append(key.empty() ? "" : " ").append(word);
    }
    return keys;
  }

  void compare_lines(std::size_t in_a, std::size_t in_b) {
    auto rest_a = a_.lines[in_a].text, rest_b = b_.lines[in_b].text;
    const bool is_heading = in_a == 0 && in_b == 0;
    if (is_heading && a_.is_numbered_in_order && b_.is_numbered_in_order) {
      take_word(rest_a);
      take_word(rest_b);
    }
    for (;;) {
      const auto word_a = take_word(rest_a), word_b = take_word(rest_b);
      if (word_a.empty() && word_b.empty()) return;
      const auto number_a = number_in(word_a), number_b = number_in(word_b);
      if (number_a && number_b) ++diff_.numbers;
      if (word_a == word_b) continue;
      const auto place = [&] { return place_of(in_a, in_b, word_a, word_b); };
      if (number_a && number_b) {
        add_unequal(*number_a, *number_b, place);
      } else {
        ++diff_.words;
        if (!diff_.first) diff_.first = place();
      }
    }
  }

  /// A line that only one of them has.
  void add_line(std::optional<std::size_t> in_a, std::optional<std::size_t> in_b) {
    const auto& line = in_a ? a_.lines[*in_a] : b_.lines[*in_b];
    for (auto rest = line.text; !take_word(rest).empty();) ++diff_.words;
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
    if (!number_in(word_a) || !number_in(word_b)) return place;
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

std::vector<TextSection> selected_sections(std::string_view text, const std::vector<std::string>& wanted) {
  auto sections = parse_text_page(text);
  if (!wanted.empty())
    std::erase_if(sections, [&](const auto& section) {
      return !section.is_header && (section.id.empty() || !is_selected(section.id, wanted));
    });
  return sections;
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
  const auto from_a = selected_sections(without_decoration(a, storage_a), settings.only);
  const auto from_b = selected_sections(without_decoration(b, storage_b), settings.only);
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
    add_new(diff.options, compare_options(from_a[*in_a].options, from_b[*in_b].options));
    diff.sections.push_back(
        SectionComparison(from_a[*in_a], from_b[*in_b], tolerance_of(settings, {})).run());
  }
  return diff;
}

}  // namespace attn
