#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diff/trace_diff.hpp"

namespace attn {

/// What stands beside what in two lists: a position in each, or in one alone.
struct Pair {
  std::optional<std::size_t> a{};
  std::optional<std::size_t> b{};
};

/// What becomes of the items between two that are equal: they stand apart, or the first beside the first, the
/// second beside the second, for as long as both lists have some.
enum class Unequal { apart, paired };

/// Two lists beside each other such that equal items stand together, as many as possible without changing an
/// order. Of equal items within a list the n-th belongs to the n-th of the other, which makes this a longest
/// increasing subsequence: O(n log n) time, O(n) memory (Fredman 1975).
std::vector<Pair> align(const std::vector<std::string>& a, const std::vector<std::string>& b,
                        Unequal unequal);

/// Where two printed traces differ: a number, a word, or a whole line that one of them lacks.
struct TextPlace {
  std::size_t line_a = 0;  ///< from 1 on; 0 where A lacks the line
  std::size_t line_b = 0;
  std::string text_a{};  ///< the lines
  std::string text_b{};
  std::string word_a{};  ///< the words in them; empty where only the other one has the word or the line
  std::string word_b{};
};

/// How the lines under one heading of a printed trace differ from those of the other: an input or a step, a
/// note, the claims.
struct TextSectionDiff : NumberDiff {
  std::string name{};      ///< the id of an input or step, the heading of all others
  bool is_step = false;    ///< whether it is an input or step
  bool is_header = false;  ///< the lesson's title and its options
  std::size_t line_a = 0;  ///< of the heading, from 1 on; 0 where A lacks the section
  std::size_t line_b = 0;
  std::size_t numbers = 0;              ///< pairs of numbers; 0 where both print the same
  std::size_t words = 0;                ///< words that differ, or that only one has
  std::optional<TextPlace> first{};     ///< of the words and the numbers beyond the tolerance
  std::optional<TextPlace> farthest{};  ///< the first number with the largest absolute error

  bool is_in_both() const { return line_a > 0 && line_b > 0; }
  Verdict verdict() const;
};

/// How two printed traces differ.
struct TextDiff {
  std::vector<TextSectionDiff> sections{};  ///< in the order of reading both side by side
  bool claims_of_b_hold = true;             ///< where B is a run

  /// The worst of all. Claims that do not hold are a difference.
  Verdict verdict() const;

  /// The first section that differs, a header only where nothing else does; null where none does.
  const TextSectionDiff* first() const;
};

/// Compares two printed traces word for word, and number by number with the tolerance of the settings, which
/// is none by default: a text is the same on every machine. Blanks, blank lines and colours do not count. A
/// step that only one has leaves the others, whose numbers it shifts, as they are; apart from that order
/// counts. With `only` in the settings the inputs and steps of those ids are compared, and the options; with
/// `only_common` what both have; with `ignores_config` the headers are left out. Throws Error where A has
/// none of those ids, and for `renames`: formulas name the ids, too.
TextDiff compare_texts(std::string_view a, std::string_view b, const DiffSettings& settings = {});

/// Whether the header of a printed trace says that it has some of the steps alone.
bool is_of_some_steps(std::string_view text);

}  // namespace attn
