#include "trace/diagnosis/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "trace/diagnosis/arithmetic.hpp"
#include "trace/entry.hpp"
#include "trace/number.hpp"

namespace attn {

namespace {

/// These numbers, with somebody's large negative ones in the place of −∞ where a mask may hide: a mistake
/// in what is hidden is the same mistake with any fill.
std::vector<double> with_fill_of(const AnyTensor& theirs, const Prediction& step,
                                 std::vector<double> numbers) {
  const auto& listed = step.mistakes;
  const bool may_hide = std::find(listed.begin(), listed.end(), "large-negative-fill") != listed.end();
  for (std::size_t i = 0; may_hide && i < numbers.size(); ++i)
    if (std::isinf(numbers[i]) && numbers[i] < 0.0 && theirs.view().at(i) <= usual_large_negative)
      numbers[i] = theirs.view().at(i);
  return numbers;
}

}  // namespace

bool is_near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

double difference(double a, double b) {
  if (is_near(a, b, 0.0)) return 0.0;
  const double size = std::abs(a - b);
  return std::isnan(size) ? std::numeric_limits<double>::infinity() : size;
}

bool are_equal(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return is_near(x, y, 0.0); });
}

Comparison::Comparison(const Dump& dump, const Rerun& rerun) : dump_(dump) {
  if (!dump.slacks.empty())
    for (auto& step : Replay(rerun).predict()) without_slips_[step.id] = std::move(step.expected);
}

void Comparison::allow(Tolerances tolerance) {
  tolerance_ = std::move(tolerance);
}

void Comparison::look_for_zero_padding(const std::vector<Prediction>& steps) {
  leaves_padding_zero_ = std::any_of(steps.begin(), steps.end(), [&](const Prediction& step) {
    const auto theirs = dump_.tensors.find(step.id);
    return theirs != dump_.tensors.end() && theirs->second.shape() == step.shape &&
           has_zero_padding(step, theirs->second);
  });
}

bool Comparison::matches(const Prediction& step, const AnyTensor& theirs, const Shape& shape,
                         const std::vector<double>& expected, const std::vector<double>& tolerance) const {
  if (theirs.shape() != shape || tolerance.size() != expected.size()) return false;
  const auto view = theirs.view();
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!is_near(view.at(i), expected[i], tolerance[i]) && !(leaves_padding_zero_ && is_padding(step, i)))
      return false;
  return true;
}

bool Comparison::is_right(const Prediction& step, const AnyTensor& theirs) const {
  const auto& tolerance = tolerance_.at(step.id);
  if (matches(step, theirs, step.shape, step.reference, tolerance)) return true;
  if (dump_.slacks.empty() || theirs.shape() != step.shape || tolerance.size() != step.reference.size())
    return false;
  for (std::size_t i = 0; i < step.reference.size(); ++i)
    if (!is_right(step, i, theirs.view().at(i), tolerance[i])) return false;
  return true;
}

bool Comparison::is_right_but_for_fill(const Prediction& step, const AnyTensor& theirs) const {
  return theirs.shape() == step.shape &&
         matches(step, theirs, step.shape, with_fill_of(theirs, step, step.reference),
                 tolerance_.at(step.id));
}

bool Comparison::is_right(const Prediction& step, std::size_t offset, double theirs, double tolerance) const {
  if (is_near(theirs, step.reference[offset], tolerance)) return true;
  if (dump_.slacks.empty()) return false;
  const auto slacks = dump_.slacks.find(step.id);
  if (slacks == dump_.slacks.end()) return false;
  const double right = without_slips_.at(step.id)[offset];
  return is_near(theirs, right, slacks->second[offset] + rounding_by_hand * (1.0 + std::abs(right)));
}

bool Comparison::is_expected(const Prediction& step, const AnyTensor& theirs) const {
  return theirs.shape() == step.expected_shape &&
         matches(step, theirs, step.expected_shape, expected_beside(theirs, step), tolerance_.at(step.id));
}

/// Whether the number at that offset is in the row of a padded query.
bool Comparison::is_padding(const Prediction& step, std::size_t offset) const {
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
bool Comparison::has_zero_padding(const Prediction& step, const AnyTensor& theirs) const {
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

bool Comparison::differs_in_padding(const std::vector<double>& numbers, const AnyTensor& theirs,
                                    const std::vector<double>& tolerance) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!is_near(theirs.view().at(i), numbers[i], tolerance[i])) return true;
  return false;
}

std::vector<double> Comparison::expected_beside(const AnyTensor& theirs, const Prediction& step) {
  return step.expected == step.reference ? step.expected : with_fill_of(theirs, step, step.expected);
}

bool Comparison::changes_nothing(const Prediction& without, const Prediction& with) const {
  if (with.expected_shape != without.expected_shape) return false;
  const auto& tolerance = tolerance_.at(without.id);
  for (std::size_t i = 0; i < with.expected.size(); ++i)
    if (!is_near(with.expected[i], without.expected[i], tolerance[i])) return false;
  return true;
}

bool Comparison::is_nearest(const Prediction& step, const AnyTensor& theirs) const {
  if (dump_.arithmetic == Dtype::float64 && !dump_.decimals) return true;
  for (std::size_t i = 0; i < step.reference.size(); ++i)
    if (!is_near(theirs.view().at(i), as_stored(step.reference[i]), 0.0)) return false;
  return true;
}

double Comparison::as_stored(double number) const {
  if (!dump_.decimals) return round_to(dump_.arithmetic, number);
  return rounded_to_decimals(number, *dump_.decimals);
}

bool Comparison::is_blank(const std::string& id, std::size_t offset) const {
  const auto slacks = dump_.slacks.find(id);
  return slacks != dump_.slacks.end() && std::isinf(slacks->second[offset]);
}

std::size_t Comparison::blanks_in(const std::string& id) const {
  const auto slacks = dump_.slacks.find(id);
  if (slacks == dump_.slacks.end()) return 0;
  return static_cast<std::size_t>(std::count_if(slacks->second.begin(), slacks->second.end(),
                                                [](double slack) { return std::isinf(slack); }));
}

void Comparison::measure(const Prediction& step, const AnyTensor& theirs, StepVerdict& verdict) const {
  const auto& tolerance = tolerance_.at(step.id);
  verdict.differs_at.resize(step.shape.size());
  const auto right =
      is_right_but_for_fill(step, theirs) ? step.reference : with_fill_of(theirs, step, step.reference);
  for (std::size_t i = 0; i < step.reference.size(); ++i) {
    if (is_blank(step.id, i)) continue;
    const double their = theirs.view().at(i);
    verdict.largest_difference = std::max(verdict.largest_difference, difference(their, right[i]));
    const bool is_same =
        is_near(their, right[i], 0.0) || is_right(step, i, their, i < tolerance.size() ? tolerance[i] : 0.0);
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

double Comparison::unexplained(const Prediction& step, const AnyTensor& theirs) const {
  double largest = 0.0;
  if (step.expected.size() != step.reference.size()) return largest;
  for (std::size_t i = 0; i < step.expected.size(); ++i)
    if (!is_blank(step.id, i)) largest = std::max(largest, difference(theirs.view().at(i), step.expected[i]));
  return largest;
}

}  // namespace attn
