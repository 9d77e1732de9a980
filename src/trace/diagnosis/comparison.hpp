#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/diagnosis/suppositions.hpp"
#include "trace/entry.hpp"
#include "trace/number.hpp"

namespace attn {

/// Compares somebody's tensors with what is expected of the steps, number by number. Where they leave the
/// rows of padded queries 0, those rows do not count, in that step and in those that follow from it.
class Comparison {
 public:
  /// `dump` must outlive it.
  Comparison(const Dump& dump, const Rerun& rerun) : dump_(dump) {
    if (!dump.slacks.empty())
      for (auto& step : Replay(rerun).predict()) without_slips_[step.id] = std::move(step.expected);
  }

  /// How far each number may be from what is expected, by the step's id.
  void allow(Tolerances tolerance) { tolerance_ = std::move(tolerance); }

  const Tolerances& tolerance() const { return tolerance_; }

  /// Finds out whether they leave the rows of padded queries 0 in one of the steps.
  void look_for_zero_padding(const std::vector<Prediction>& steps) {
    leaves_padding_zero_ = std::any_of(steps.begin(), steps.end(), [&](const Prediction& step) {
      const auto theirs = dump_.tensors.find(step.id);
      return theirs != dump_.tensors.end() && theirs->second.shape() == step.shape &&
             has_zero_padding(step, theirs->second);
    });
  }

  bool leaves_padding_zero() const { return leaves_padding_zero_; }

  /// Whether each number of the tensor is near the one that is expected.
  static bool are_near(const TensorView& theirs, const std::vector<double>& expected,
                       const std::vector<double>& tolerance) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!is_near(theirs.at(i), expected[i], tolerance[i])) return false;
    return true;
  }

  /// Whether a tensor has that shape and these numbers.
  bool matches(const Prediction& step, const AnyTensor& theirs, const Shape& shape,
               const std::vector<double>& expected, const std::vector<double>& tolerance) const {
    if (theirs.shape() != shape || tolerance.size() != expected.size()) return false;
    const auto view = theirs.view();
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (!is_near(view.at(i), expected[i], tolerance[i]) && !(leaves_padding_zero_ && is_padding(step, i)))
        return false;
    return true;
  }

  bool is_right(const Prediction& step, const AnyTensor& theirs) const {
    const auto& tolerance = tolerance_.at(step.id);
    if (matches(step, theirs, step.shape, step.reference, tolerance)) return true;
    if (dump_.slacks.empty() || theirs.shape() != step.shape || tolerance.size() != step.reference.size())
      return false;
    for (std::size_t i = 0; i < step.reference.size(); ++i)
      if (!is_right(step, i, theirs.view().at(i), tolerance[i])) return false;
    return true;
  }

  /// The same with any large negative numbers in the place of −∞.
  bool is_right_but_for_fill(const Prediction& step, const AnyTensor& theirs) const {
    return theirs.shape() == step.shape &&
           matches(step, theirs, step.shape, with_fill_of(theirs, step, step.reference),
                   tolerance_.at(step.id));
  }

  /// Whether it is the right number at that offset. A student who corrects a slip without going back goes on
  /// from the right numbers, and not from those that are written.
  bool is_right(const Prediction& step, std::size_t offset, double theirs, double tolerance) const {
    if (is_near(theirs, step.reference[offset], tolerance)) return true;
    if (dump_.slacks.empty()) return false;
    const auto slacks = dump_.slacks.find(step.id);
    if (slacks == dump_.slacks.end()) return false;
    const double right = without_slips_.at(step.id)[offset];
    return is_near(theirs, right, slacks->second[offset] + rounding_by_hand * (1.0 + std::abs(right)));
  }

  /// Whether the tensor is what the mistakes that are supposed give.
  bool is_expected(const Prediction& step, const AnyTensor& theirs) const {
    return theirs.shape() == step.expected_shape &&
           matches(step, theirs, step.expected_shape, expected_beside(theirs, step), tolerance_.at(step.id));
  }

  /// What is expected of a step under a mistake in it, with any fill.
  static std::vector<double> expected_beside(const AnyTensor& theirs, const Prediction& step) {
    return step.expected == step.reference ? step.expected : with_fill_of(theirs, step, step.expected);
  }

  /// Whether mistakes give what is expected without them: two that undo each other explain nothing.
  bool changes_nothing(const Prediction& without, const Prediction& with) const {
    if (with.expected_shape != without.expected_shape) return false;
    const auto& tolerance = tolerance_.at(without.id);
    for (std::size_t i = 0; i < with.expected.size(); ++i)
      if (!is_near(with.expected[i], without.expected[i], tolerance[i])) return false;
    return true;
  }

  /// Whether each number is the right one, rounded once.
  bool is_nearest(const Prediction& step, const AnyTensor& theirs) const {
    if (dump_.arithmetic == Dtype::float64 && !dump_.decimals) return true;
    for (std::size_t i = 0; i < step.reference.size(); ++i)
      if (!is_near(theirs.view().at(i), as_stored(step.reference[i]), 0.0)) return false;
    return true;
  }

  /// How many places of a tensor written by hand are empty.
  std::size_t blanks_in(const std::string& id) const {
    const auto slacks = dump_.slacks.find(id);
    if (slacks == dump_.slacks.end()) return 0;
    return static_cast<std::size_t>(std::count_if(slacks->second.begin(), slacks->second.end(),
                                                  [](double slack) { return std::isinf(slack); }));
  }

  /// Notes in the verdict how many numbers differ, where, and by how much. A large negative number is no
  /// difference from −∞ where anything else differs.
  void measure(const Prediction& step, const AnyTensor& theirs, StepVerdict& verdict) const {
    const auto& tolerance = tolerance_.at(step.id);
    verdict.differs_at.resize(step.shape.size());
    const auto right =
        is_right_but_for_fill(step, theirs) ? step.reference : with_fill_of(theirs, step, step.reference);
    for (std::size_t i = 0; i < step.reference.size(); ++i) {
      if (is_blank(step.id, i)) continue;
      const double their = theirs.view().at(i);
      verdict.largest_difference = std::max(verdict.largest_difference, difference(their, right[i]));
      const bool is_same = is_near(their, right[i], 0.0) ||
                           is_right(step, i, their, i < tolerance.size() ? tolerance[i] : 0.0);
      if (is_same) continue;
      const auto index = index_at(i, step.shape);
      for (std::size_t axis = 0; axis < index.size(); ++axis) verdict.differs_at[axis].insert(index[axis]);
      ++verdict.different;
      if (std::isnan(their)) ++verdict.nans;
      if (verdict.first_difference) continue;
      verdict.first_difference = index;
      verdict.theirs = their;
      verdict.right = step.reference[i];
    }
  }

  /// The largest difference from what the mistakes that were found give.
  double unexplained(const Prediction& step, const AnyTensor& theirs) const {
    double largest = 0.0;
    if (step.expected.size() != step.reference.size()) return largest;
    for (std::size_t i = 0; i < step.expected.size(); ++i)
      if (!is_blank(step.id, i))
        largest = std::max(largest, difference(theirs.view().at(i), step.expected[i]));
    return largest;
  }

 private:
  /// These numbers, with somebody's large negative ones in the place of −∞ where a mask may hide: a mistake
  /// in what is hidden is the same mistake with any fill.
  static std::vector<double> with_fill_of(const AnyTensor& theirs, const Prediction& step,
                                          std::vector<double> numbers) {
    const auto& listed = step.mistakes;
    const bool may_hide = std::find(listed.begin(), listed.end(), "large-negative-fill") != listed.end();
    for (std::size_t i = 0; may_hide && i < numbers.size(); ++i)
      if (std::isinf(numbers[i]) && numbers[i] < 0.0 && theirs.view().at(i) <= usual_large_negative)
        numbers[i] = theirs.view().at(i);
    return numbers;
  }

  /// Whether the number at that offset is in the row of a padded query.
  bool is_padding(const Prediction& step, std::size_t offset) const {
    if (dump_.lengths.empty() || step.shape.size() != step.axes.size() + 1) return false;
    const auto is_query = [](const std::string& axis) {
      return axis == "query" || axis == "token" || axis == "target";
    };
    const auto axis = std::find_if(step.axes.begin(), step.axes.end(), is_query);
    if (axis == step.axes.end()) return false;
    const auto index = index_at(offset, step.shape);
    return index[0] < dump_.lengths.size() &&
           index[static_cast<std::size_t>(axis - step.axes.begin()) + 1] >= dump_.lengths[index[0]];
  }

  /// Whether the rows of padded queries are 0 that are not, or hide every key, from which such rows follow.
  bool has_zero_padding(const Prediction& step, const AnyTensor& theirs) const {
    const auto& tolerance = tolerance_.at(step.id);
    const auto hides_all = [&](std::size_t row) {
      for (std::size_t i = row; i < row + step.shape.back(); ++i)
        if (theirs.view().at(i) != -std::numeric_limits<double>::infinity()) return false;
      return true;
    };
    for (std::size_t i = 0; i < step.reference.size(); ++i)
      if (std::isfinite(step.reference[i]) && is_padding(step, i) &&
          (theirs.view().at(i) == 0.0 ? !is_near(0.0, step.reference[i], tolerance[i])
                                      : hides_all(i - i % step.shape.back())))
        return true;
    return false;
  }

  double as_stored(double number) const {
    if (!dump_.decimals) return round_to(dump_.arithmetic, number);
    return rounded_to_decimals(number, *dump_.decimals);
  }

  bool is_blank(const std::string& id, std::size_t offset) const {
    const auto slacks = dump_.slacks.find(id);
    return slacks != dump_.slacks.end() && std::isinf(slacks->second[offset]);
  }

  const Dump& dump_;
  Tolerances tolerance_;
  bool leaves_padding_zero_ = false;
  std::map<std::string, std::vector<double>> without_slips_;  ///< steps computed from the inputs, by id
};

}  // namespace attn
