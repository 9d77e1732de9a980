#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/text/tokens.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"

namespace attn {

enum class Finding {
  right,
  rounding,    ///< differs by rounding only
  form,        ///< the right tensor expressed otherwise, from which the same follows
  convention,  ///< another way that is as right
  shape,       ///< a tensor of a wrong shape
  wrong,
  not_judged  ///< it follows from inputs that nobody gave, or from a tensor of a wrong shape
};

/// "right", "rounding", "form", "convention", "shape", "wrong", "not judged".
std::string_view name_of(Finding finding);

/// What is said of one step of somebody's dump.
struct StepVerdict {
  std::string id{};
  Finding finding = Finding::right;

  /// Of a wrong step: the mistake, or those that cannot be told apart on these inputs. None where no mistake
  /// of the catalogue gives this tensor.
  std::vector<std::string> mistakes{};
  /// Of a wrong step that no mistake of the catalogue gives: a formula that gives it, "scaled = scores /
  /// d_k".
  std::string formula{};
  bool made_together = false;  ///< whether two of them were made at once
  bool in_part = false;        ///< whether they give but some of the numbers, the others being right
  std::vector<std::string> conventions{};  ///< ids, in the catalogue, of what is done in another right way
  std::string form{};                      ///< of another form: what it is, as a sentence

  /// Of a right step: ids of wrong ones before it from which it does not follow, though it should.
  std::vector<std::string> not_from{};

  /// Of a right step: ids of the wrong ones that it follows from.
  std::vector<std::string> given{};

  /// Of a right step that follows from a mistake which another one has: ids of the steps in which it was
  /// made, too, and which the dump lacks.
  std::vector<std::string> same_mistake_in{};

  /// Ids of the steps in which the mistake was made: others than `id` where the dump lacks them.
  std::vector<std::string> made_in{};
  double largest_difference = 0.0;          ///< |theirs − what is right|, from their own tensors before it
  std::optional<Index> first_difference{};  ///< with the batch axis
  double theirs = 0.0, right = 0.0;         ///< there
  std::size_t different = 0, nans = 0;      ///< how many numbers differ, and how many are NaN that are none
  std::vector<std::set<std::size_t>> differs_at{};  ///< by axis: the indices of those that differ
  std::vector<std::string> lacking{};    ///< of a wrong step: steps that it follows from and the dump lacks
  std::vector<std::string> needs{};      ///< of one that is not judged: ids of the absent inputs
  std::vector<std::string> misshapen{};  ///< ids of the nearest steps of a wrong shape that it follows from
  std::size_t blanks = 0;                ///< places of a tensor written by hand that are empty
  double unexplained = 0.0;              ///< |theirs − what the mistake gives|, the largest
  Shape shape{}, right_shape{};
  std::vector<std::string> axes{};  ///< without the batch axis

  bool is_wrong() const { return finding == Finding::wrong || finding == Finding::shape; }
};

struct Diagnosis {
  std::vector<StepVerdict> steps;    ///< that the dump has, in the order of the lesson
  std::vector<std::string> missing;  ///< steps before its last one that the dump lacks
  std::vector<std::string> absent;   ///< ids of absent inputs that steps of the dump need
  std::size_t blanks = 0;            ///< places of a worksheet that are empty
  Hypothesis supposed{};             ///< in the end: what was found, and what the dump is said to follow
  bool is_right() const;             ///< but for rounding and conventions
  bool is_complete() const;          ///< whether nothing is missing or blank
  bool leaves_open() const;          ///< whether a step could not be judged
};

/// Ids of the dump's steps that are not as the lesson or, where they may be, one of the conventions computes
/// them from the dump's tensors before them, whatever fills what a mask hides. With `among` ids, none but
/// these are looked at.
std::set<std::string> differing_steps(const Dump& dump, const Rerun& rerun,
                                      const std::set<std::string>& conventions = {},
                                      const std::set<std::string>& among = {},
                                      bool may_follow_conventions = true);

/// What is wrong in somebody's dump. Each step is computed from their own tensors before it. Where one
/// differs, the mistakes that the step lists are tried, and those of the steps just before it that the dump
/// lacks, one at a time and then two; only a tensor that is reproduced up to rounding names a mistake, and
/// one that contradicts other steps of the dump gives way to one that does not. One mistake in one step, or
/// in all that list it, comes before two. One that was found is tried for the steps that the dump lacks and
/// that list it, too, with it and without, before a later step is wrong. A step that differs behind a wrong
/// one, and is right as it follows from the inputs, is right: the wrong tensor is not the one that was used.
/// A step that follows from inputs which nobody gave is judged only where its numbers, or those of another
/// such step, show that theirs are the ones that were drawn: where they are right, or what a mistake gives. A
/// convention counts as a mistake where the dump's inputs settle it. `conventions` are ids of those that the
/// dump is said to follow.
Diagnosis diagnose(const Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions = {});

/// How much a report gives away.
enum class Hint {
  where,   ///< the step
  family,  ///< and the part of attention that the mistake belongs to
  name,    ///< and its name
  all      ///< and what to do about it, with the evidence
};

/// What a report is about.
struct ReportSettings {
  std::string lesson{};
  std::string dump{};   ///< the name of the file
  std::string probe{};  ///< of the file, or empty
  Hint hint = Hint::all;
  bool reveals = false;                                     ///< the numbers that would be right
  std::map<std::string, std::vector<AxisLabels>> labels{};  ///< by step: of the axes, the batch axis first
  std::map<std::string, std::string> told_apart{};          ///< by step: why it may be several mistakes
};

/// "masks" or "softmax or masks": the parts of attention that the mistakes of a wrong step belong to.
std::string families_of(const StepVerdict& step);

/// The diagnosis as text for people.
std::string report_as_text(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings);

/// The diagnosis as a JSON document of the schema "attnlab.check/1".
std::string report_as_json(const Diagnosis& diagnosis, const Dump& dump, const ReportSettings& settings);

}  // namespace attn
