#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"
#include "trace/event.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// How far two numbers a and b may be apart and still count as equal, as numpy.isclose has it:
/// |a − b| ≤ absolute + relative · |b|. Equal infinities, and NaN beside NaN, count as equal.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  /// In a tensor, relative to the largest number of the row of b: sums of which terms cancel out are as far
  /// off as the others.
  bool is_of_row = false;

  bool accepts(double a, double b) const;

  /// The same for numbers of which |a − b| is known already, infinite where there is no such number.
  bool allows(double distance, double b) const;
};

/// What rounding explains for an element type, by NumPy's name for it. It is relative to the row. Integers
/// and booleans must be equal.
Tolerance default_tolerance(std::string_view dtype);

/// What rounding explains where the one tensor has the one type and the other the other: the coarser counts.
Tolerance default_tolerance(std::string_view dtype_a, std::string_view dtype_b);

/// One element of a tensor. A floating-point number has the fewest digits that its type allows.
using Number = std::variant<bool, std::int64_t, double>;

/// "0.1", "-inf", "nan", "true".
std::string to_string(const Number& number);

/// How pairs of numbers differ. Errors are |a − b| and |a − b| / |b|; they are infinite where one of the two
/// is no finite number. Where b is 0, as in padding, there is no relative one.
struct NumberDiff {
  std::size_t unequal = 0;  ///< that are not the same number
  std::size_t beyond = 0;   ///< those of them that the tolerance does not accept
  double max_absolute = 0.0;
  double max_relative = 0.0;  ///< 0 where no unequal number has one

  /// Counts a pair that is `distance` apart. Returns whether no other one is as far.
  bool add_unequal(double distance, double b);
};

/// How the elements of two tensors differ.
struct ElementDiff : NumberDiff {
  std::size_t farthest = 0;  ///< offset of the first element with the largest absolute error
  std::size_t first = 0;     ///< offset of the first element beyond the tolerance
  Number first_a{};          ///< and what both have there, in float64 where the element types differ
  Number first_b{};
};

/// Compares two tensors of the same shape, of whatever element types. −0 and 0 are the same number, and so
/// are two NaN. Throws std::invalid_argument where the shapes differ.
ElementDiff compare_elements(const TensorView& a, const TensorView& b, const Tolerance& tolerance);

/// An option that two traces have different values of. What is unset and what is not there are the same.
struct OptionDiff {
  std::string name;
  ConfigValue a{}, b{};

  /// Whether it is a difference in itself. Options that say which tensors are read, of which type they are or
  /// how they are shown are not, since the tensors are compared; nor are, where a tolerance is asked for,
  /// those that say how they are drawn.
  bool is_decisive(bool has_tolerance = false) const;
};

/// Words of an event that two traces have differently: a title, a formula, the limit of a claim.
struct WordsDiff {
  std::string id;      ///< of the event; empty where it is the lesson's
  std::string member;  ///< "title", "note", …; empty where a whole event is in one trace only
  std::string a{}, b{};
  bool is_within_tolerance = false;  ///< what a claim measured, the same but for rounding
};

/// What counts as equal, and what is compared.
struct DiffSettings {
  std::optional<double> absolute{}, relative{};  ///< in place of the default tolerance's
  std::vector<std::string> only{};  ///< ids and groups ("encoder/"); everything where there are none
  bool a_is_expected = false;       ///< B is a run: only decisive options that A has are compared
  bool only_common = false;         ///< leaves out what only one has, and all words
  bool ignores_config = false;      ///< leaves out options and all words

  /// Ids of either trace that count as another, and groups: {"attn", "weights"}, {"att/", "attention/"}. With
  /// any, words are left out.
  Renames renames{};
};

/// `otherwise` with what the settings say in place of it.
Tolerance tolerance_of(const DiffSettings& settings, const Tolerance& otherwise);

enum class Verdict { equal, within_tolerance, different };

/// Of "none", "within tolerance" or any other word for a difference.
Verdict verdict_of(std::string_view difference);

/// What two traces have, part by part.
template <class Part>
struct PartsDiff {
  std::vector<Part> parts{};     ///< in the order of A, then or between them those that are in B only
  bool claims_of_b_hold = true;  ///< where B is a run

  /// The worst of all. Claims that do not hold are a difference.
  Verdict verdict() const {
    auto worst = claims_of_b_hold ? Verdict::equal : Verdict::different;
    for (const auto& part : parts) worst = std::max(worst, verdict_of(part.difference()));
    return worst;
  }

  /// The first part that differs, one that is told first where there is one; null where none differs.
  const Part* first() const {
    const Part* found = nullptr;
    for (const auto& part : parts)
      if (verdict_of(part.difference()) == Verdict::different)
        if (found == nullptr || (part.is_told_first() && !found->is_told_first())) found = &part;
    return found;
  }
};

/// An entry of an axis that the two traces name differently.
struct LabelDiff {
  std::string axis;
  std::size_t position = 0;
  std::string a, b;
};

/// How a tensor differs from the one of the same id.
struct TensorDiff {
  std::string id;
  std::optional<StoredTensor> a{}, b{};  ///< one of them alone where the id is in A only, or in B only
  Tolerance tolerance{};
  std::optional<ElementDiff> elements{};  ///< where the shapes are the same
  std::vector<LabelDiff> labels{};        ///< the first of each axis

  bool is_in_both() const { return a && b; }
  bool is_told_first() const { return is_in_both(); }

  /// Whether the lengths of the axes are the same, and their names where both have names.
  bool has_same_shape() const;

  /// Whether both are floating point, both whole numbers or both booleans. How wide does not count.
  bool has_same_kind_of_elements() const;

  /// "only in a", "only in b", "shapes", "element types", "numbers", "labels", "within tolerance", "none".
  std::string_view difference() const;
};

/// How two traces differ.
struct TraceDiff : PartsDiff<TensorDiff> {
  std::string lesson_a{}, lesson_b{};  ///< empty where the file is no trace of ours
  std::vector<OptionDiff> options{};
  std::vector<WordsDiff> words{};  ///< where both traces have words
  bool has_tolerance = false;      ///< one that was asked for
  bool only_common = false;        ///< what two different lessons may have

  bool has_same_lesson() const;

  /// The same of lessons, options and words, too.
  Verdict verdict() const;
};

/// Compares the inputs and steps of two traces, aligned by id, holding one tensor of each at a time, and
/// their words where both have some and everything is compared. Throws Error where a tensor cannot be read, a
/// name of `renames` is in neither or its new one is there already, or nothing is common.
TraceDiff compare_traces(const StoredTrace& a, const StoredTrace& b, const DiffSettings& settings = {});

/// What stands beside what in two lists: a position in each, or in one alone.
struct Pair {
  std::optional<std::size_t> a{}, b{};
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
  std::size_t line_a = 0, line_b = 0;  ///< from 1 on; 0 for the one that lacks the line
  std::string text_a{}, text_b{};      ///< the lines
  std::string word_a{}, word_b{};      ///< in them; empty where only the other one has the word or the line
};

/// How the lines under one heading of a printed trace differ from those of the other: an input or a step, a
/// note, the claims.
struct TextSectionDiff : NumberDiff {
  std::string name{};                   ///< the id of an input or step, the heading of all others
  bool is_step = false;                 ///< whether it is an input or step
  bool is_header = false;               ///< the lesson's title and its options
  std::size_t line_a = 0, line_b = 0;   ///< of the heading, from 1 on; 0 for the one that lacks the section
  std::size_t numbers = 0;              ///< pairs of numbers; 0 where both print the same
  std::size_t words = 0;                ///< words that differ, or that only one has
  std::optional<TextPlace> first{};     ///< of the words and the numbers beyond the tolerance
  std::optional<TextPlace> farthest{};  ///< the first number with the largest absolute error

  bool is_in_both() const { return line_a > 0 && line_b > 0; }
  bool is_told_first() const { return !is_header; }

  /// "only in a", "only in b", "words", "numbers", "within tolerance", "none".
  std::string_view difference() const;
};

/// How two printed traces differ, in the order of reading both side by side.
using TextDiff = PartsDiff<TextSectionDiff>;

/// Compares two printed traces word for word, and number by number with the tolerance of the settings, which
/// is none by default: a text is the same on every machine. Blanks, blank lines and colours do not count. A
/// step that only one has leaves the others, whose numbers it shifts, as they are; apart from that order
/// counts. With `only` in the settings the inputs and steps of those ids are compared, and the options; with
/// `only_common` what both have; with `ignores_config` the headers are left out. Throws Error where A has
/// none of those ids, and for `renames`: formulas name the ids, too.
TextDiff compare_texts(std::string_view a, std::string_view b, const DiffSettings& settings = {});

/// Whether the header of a printed trace says that it has some of the steps alone.
bool is_of_some_steps(std::string_view text);

/// What the two sides of a comparison are called: "0.5 in A, 0.6 in B".
struct DiffNames {
  std::string a = "A", b = "B";
};

/// A text in lines of 80 columns, all but the first indented by two, control characters shown.
std::string format_paragraph(const std::string& text);

/// The rows of a table, indented by two, the first two columns to the left and the others to the right. Rows
/// with fewer cells than the first one end with a remark, which takes what room it needs.
std::string format_columns(const std::vector<std::vector<std::string>>& rows);

/// What differs, for people: the lesson and the options, the labels, the first tensor that differs and where,
/// a table of those that differ (with `all` also of those that do not), how many they are. One line where
/// everything is equal within the tolerance, and nothing where everything is equal.
std::string format_diff(const TraceDiff& diff, const DiffNames& names, bool all);

/// What may be done about ids that only one trace has, for people; nothing where both have all.
std::string hint_on_absent(const TraceDiff& diff, const DiffNames& names);

/// What differs between two printed traces, for people: the options, the first number, word or line that
/// differs, with its step, its line numbers and both lines, a table of the sections that differ (with `all`
/// also of those that do not), how many they are. One line where everything is equal within the tolerance,
/// and nothing where everything is equal.
std::string format_diff(const TextDiff& diff, const DiffNames& names, bool all);

/// A comparison as one JSON object of the form attnlab.diff/1, which data/README.md describes, on one line.
/// With `all` it lists what agrees too.
std::string diff_as_json(const TraceDiff& diff, bool all);
std::string diff_as_json(const TextDiff& diff, bool all);

}  // namespace attn
