#include "trace/diagnosis/replays.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/diagnosis/decimals.hpp"
#include "trace/diagnosis/layout.hpp"

namespace attn {

namespace {

/// Of float64: no mistake is as small as a few hundred units, but the rounding of another right way may be
/// that large.
constexpr double smallest_unit = 0x1p-45;

constexpr std::size_t most_numbers = std::size_t{1} << 24;  // to remember

/// Ends a run whose later steps do not count.
struct SeenStep {};

void change_all(const Tapped& tapped) {
  for (std::size_t i = 0; i < element_count(tapped.shape); ++i) {
    if (is_floating(tapped.dtype)) {
      auto& number = static_cast<double*>(tapped.elements)[i];
      number = 1.5 * number + 0.25 * std::cos(static_cast<double>(i));
    } else if (tapped.dtype == Dtype::boolean) {
      auto& bit = static_cast<bool*>(tapped.elements)[i];
      bit = i % 2 == 0 || !bit;
    }
  }
}

void rotate(const Tapped& tapped) {
  const auto count = element_count(tapped.shape);
  if (!is_floating(tapped.dtype) || count < 2) return;
  auto* const numbers = static_cast<double*>(tapped.elements);
  std::rotate(numbers, numbers + 1, numbers + count);
}

}  // namespace

Replays::Replays(const Dump& dump, const Rerun& rerun)
    : dump_(dump),
      rerun_(rerun),
      unit_(std::max(unit_of(dump.arithmetic), smallest_unit)),
      replay_(replay_with(rerun)) {}

Replay Replays::replay_with(Rerun rerun) const {
  return Replay(std::move(rerun), dump_.tensors, dump_.slacks);
}

std::vector<Prediction> Replays::of(const Hypothesis& mistakes) const {
  if (const auto known = kept_.find(mistakes); known != kept_.end()) return known->second;
  auto steps = replay_.predict(mistakes);
  for (const auto& one : steps) numbers_kept_ += one.reference.size() + one.expected.size();
  if (numbers_kept_ <= most_numbers) kept_.emplace(mistakes, steps);
  return steps;
}

Prediction Replays::step(std::size_t index, const Hypothesis& mistakes) const {
  if (const auto known = kept_.find(mistakes); known != kept_.end()) return known->second[index];
  return of(mistakes)[index];
}

Prediction Replays::step_alone(std::size_t index, const std::string& id, const Hypothesis& mistakes) const {
  const auto until_step = [&](const Watch& watch) {
    try {
      rerun_([&](const Tapped& tapped) {
        watch(tapped);
        if (tapped.id == id && !tapped.row) throw SeenStep();
      });
    } catch (const SeenStep&) {
    }
  };
  return replay_with(until_step).predict(mistakes)[index];
}

void Replays::forget() {
  if (numbers_kept_ <= most_numbers / 2) return;
  kept_.clear();
  tolerances_.clear();
  numbers_kept_ = 0;
}

std::vector<Prediction> Replays::with_another(const std::string& input, const Hypothesis& mistakes) const {
  return with_changed(input, change_all, mistakes);
}

std::vector<Prediction> Replays::with_rotated(const std::string& step, const Hypothesis& mistakes) const {
  return with_changed(step, rotate, mistakes);
}

std::vector<Prediction> Replays::with_changed(const std::string& id, void (*change)(const Tapped&),
                                              const Hypothesis& mistakes) const {
  const auto rerun = [&](const Watch& watch) {
    rerun_([&](const Tapped& tapped) {
      if (tapped.id != id) return watch(tapped);
      const auto now = [&] { return AnyTensor({tapped.dtype, tapped.shape, tapped.elements}); };
      change(tapped);
      const auto changed = now();
      watch(tapped);
      if (!are_identical(changed, now())) change(tapped);  // theirs, or a mistaken one, which took its place
    });
  };
  return replay_with(rerun).predict(mistakes);
}

Tolerances Replays::tolerance(const Hypothesis& mistakes) const {
  if (const auto known = tolerances_.find(mistakes); known != tolerances_.end()) return known->second;
  auto tolerance = replay_.tolerance(mistakes, unit_, of(mistakes));
  if (dump_.decimals) {
    const RoundedNumbers rounded{*dump_.decimals, dump_.tensors, dump_.rounded_inputs};
    for (const auto& [id, more] : tolerance_of_decimals(rounded, rerun_, mistakes))
      for (std::size_t i = 0; i < more.size(); ++i) tolerance[id][i] += more[i];
  }
  for (const auto& [id, numbers] : tolerance) numbers_kept_ += numbers.size();
  if (numbers_kept_ <= most_numbers) tolerances_.emplace(mistakes, tolerance);
  return tolerance;
}

}  // namespace attn
