#pragma once

#include <map>
#include <string>
#include <vector>

#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/suppositions.hpp"

namespace attn {

/// NaN is near NaN alone.
bool is_near(double a, double b, double tolerance);

/// 0 between NaN and NaN, infinite where only one number is finite.
double difference(double a, double b);

/// Bit for bit, with NaN equal to NaN.
bool are_equal(const std::vector<double>& a, const std::vector<double>& b);

/// Compares somebody's tensors with what is expected of the steps, number by number. Where they leave the
/// rows of padded queries 0, those rows do not count, in that step and in those that follow from it.
class Comparison {
 public:
  /// `dump` must outlive it.
  Comparison(const Dump& dump, const Rerun& rerun);

  /// How far each number may be from what is expected, by the step's id.
  void allow(Tolerances tolerance);
  const Tolerances& tolerance() const { return tolerance_; }

  /// Finds out whether they leave the rows of padded queries 0 in one of the steps.
  void look_for_zero_padding(const std::vector<Prediction>& steps);
  bool leaves_padding_zero() const { return leaves_padding_zero_; }

  /// Whether a tensor has that shape and these numbers.
  bool matches(const Prediction& step, const AnyTensor& theirs, const Shape& shape,
               const std::vector<double>& expected, const std::vector<double>& tolerance) const;

  bool is_right(const Prediction& step, const AnyTensor& theirs) const;

  /// The same with any large negative numbers in the place of −∞.
  bool is_right_but_for_fill(const Prediction& step, const AnyTensor& theirs) const;

  /// Whether it is the right number at that offset. A student who corrects a slip without going back goes on
  /// from the right numbers, and not from those that are written.
  bool is_right(const Prediction& step, std::size_t offset, double theirs, double tolerance) const;

  /// Whether the tensor is what the mistakes that are supposed give.
  bool is_expected(const Prediction& step, const AnyTensor& theirs) const;

  /// What is expected of a step under a mistake in it, with any fill.
  static std::vector<double> expected_beside(const AnyTensor& theirs, const Prediction& step);

  /// Of a step that matches these numbers: whether only because the rows of padded queries do not count.
  static bool differs_in_padding(const std::vector<double>& numbers, const AnyTensor& theirs,
                                 const std::vector<double>& tolerance);

  /// Whether mistakes give what is expected without them: two that undo each other explain nothing.
  bool changes_nothing(const Prediction& without, const Prediction& with) const;

  /// Whether each number is the right one, rounded once.
  bool is_nearest(const Prediction& step, const AnyTensor& theirs) const;

  /// How many places of a tensor written by hand are empty.
  std::size_t blanks_in(const std::string& id) const;

  /// Notes in the verdict how many numbers differ, where, and by how much. A large negative number is no
  /// difference from −∞ where anything else differs.
  void measure(const Prediction& step, const AnyTensor& theirs, StepVerdict& verdict) const;

  /// The largest difference from what the mistakes that were found give.
  double unexplained(const Prediction& step, const AnyTensor& theirs) const;

 private:
  bool is_padding(const Prediction& step, std::size_t offset) const;
  bool has_zero_padding(const Prediction& step, const AnyTensor& theirs) const;
  double as_stored(double number) const;
  bool is_blank(const std::string& id, std::size_t offset) const;

  const Dump& dump_;
  Tolerances tolerance_;
  bool leaves_padding_zero_ = false;
  std::map<std::string, std::vector<double>> without_slips_;  ///< steps computed from the inputs, by id
};

}  // namespace attn
