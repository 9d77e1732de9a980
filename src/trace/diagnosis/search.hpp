#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/diagnosis.hpp"
#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/entry.hpp"
#include "trace/number.hpp"

namespace attn {

/// Runs the lesson beside a dump under one hypothesis after the other, and remembers what they gave, as far
/// as memory is meant to go.
class Replays {
 public:
  /// Both must outlive it.
  Replays(const Dump& dump, const Rerun& rerun)
      : dump_(dump),
        rerun_(rerun),
        unit_(std::max(unit_of(dump.arithmetic), smallest_unit)),
        replay_(rerun, dump.tensors, dump.slacks) {}

  /// The steps in order.
  std::shared_ptr<const Predictions> of(const Hypothesis& mistakes) const {
    if (const auto* const known = value_in(kept_, mistakes)) return *known;
    std::shared_ptr<const Predictions> steps = std::make_shared<Predictions>(replay_.predict(mistakes));
    for (const auto& one : *steps) numbers_kept_ += one.reference.size() + one.expected.size();
    if (numbers_kept_ <= most_numbers) kept_.emplace(mistakes, steps);
    return steps;
  }

  /// The step at `index` under a hypothesis that is tried for this step alone. Its run ends there.
  Prediction step_alone(std::size_t index, const std::string& id, const Hypothesis& mistakes) const {
    const auto until_step = [&](const Watch& watch) {
      try {
        const auto see = [&](const Tapped& tapped) {
          watch(tapped);
          if (tapped.id == id && !tapped.row) throw SeenStep();
        };
        rerun_(Watch(see, watch.wants()));
      } catch (const SeenStep&) {
      }
    };
    return replay_.with(until_step).predict(mistakes)[index];
  }

  /// Makes room where much is remembered: what was tried before is seldom tried again.
  void forget() {
    if (numbers_kept_ <= most_numbers / 2) return;
    kept_.clear();
    tolerances_.clear();
    numbers_kept_ = 0;
  }

  /// Other numbers in the place of those of an input or a step; whole numbers and infinite ones stay.
  static void change_all(const Tapped& tapped) {
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

  /// The numbers of a step in another order: an index that follows from them stays valid.
  static void rotate(const Tapped& tapped) {
    const auto count = element_count(tapped.shape);
    if (!is_floating(tapped.dtype) || count < 2) return;
    auto* const numbers = static_cast<double*>(tapped.elements);
    std::rotate(numbers, numbers + 1, numbers + count);
  }

  /// The steps with one tensor changed, an input or a step.
  Predictions with_changed(const std::string& id, void (*change)(const Tapped&),
                           const Hypothesis& mistakes) const {
    const auto rerun = [&](const Watch& watch) {
      const auto see = [&](const Tapped& tapped) {
        if (tapped.id != id) return watch(tapped);
        const auto now = [&] { return AnyTensor({tapped.dtype, tapped.shape, tapped.elements}); };
        change(tapped);
        const auto changed = now();
        watch(tapped);
        if (!are_identical(changed, now()))
          change(tapped);  // theirs, or a mistaken one, which took its place
      };
      rerun_(Watch(see, watch.wants()));
    };
    return replay_.with(rerun).predict(mistakes);
  }

  /// What rounding to the dump's numbers, and to its decimals, may change.
  Tolerances tolerance(const Hypothesis& mistakes) const {
    if (const auto* const known = value_in(tolerances_, mistakes)) return *known;
    const auto still = of(mistakes);
    auto tolerance = replay_.tolerance(mistakes, unit_, *still);
    if (dump_.decimals)
      for (const auto& [id, more] : tolerance_of_decimals(dump_, rerun_, mistakes, *still))
        for (std::size_t i = 0; i < more.size(); ++i) tolerance[id][i] += more[i];
    for (const auto& [id, numbers] : tolerance) numbers_kept_ += numbers.size();
    if (numbers_kept_ <= most_numbers) tolerances_.emplace(mistakes, tolerance);
    return tolerance;
  }

  /// The relative precision that `tolerance` supposes.
  double unit() const { return unit_; }

 private:
  /// Of float64: no mistake is as small as a few hundred units, but the rounding of another right way may be
  /// that large.
  static constexpr double smallest_unit = 0x1p-45;

  static constexpr std::size_t most_numbers = std::size_t{1} << 24;  // to remember

  /// Ends a run whose later steps do not count.
  struct SeenStep {};

  const Dump& dump_;
  const Rerun& rerun_;
  double unit_;
  Replay replay_;
  mutable std::map<Hypothesis, std::shared_ptr<const Predictions>> kept_;
  mutable std::map<Hypothesis, Tolerances> tolerances_;
  mutable std::size_t numbers_kept_ = 0;
};

/// Which mistakes and conventions are supposed of the steps of a dump, and which else may be. A mistake is
/// made in every step that lists it or in single ones; a convention is followed everywhere or in whole groups
/// of steps, for its halves undo each other.
class Suppositions {
 public:
  /// Both must outlive it.
  Suppositions(const Dump& dump, Replays& replays) : dump_(dump), replays_(replays) {}

  /// Supposes these for all that follows. In numbers that were written by hand or to few decimals what
  /// follows somebody's tensor would take a single wrong one for a number of its own; a fill is the same in
  /// every hidden place.
  void adopt(Hypothesis mistakes) {
    adopted_ = std::move(mistakes);
    replays_.forget();
    followed_by_.clear();
    steps_ = *replays_.of(adopted_);
    tolerance_ = replays_.tolerance(adopted_);
    constexpr int few_decimals = 4;
    if (!dump_.slacks.empty() || (dump_.decimals && *dump_.decimals <= few_decimals))
      for (auto& step : steps_)
        std::erase_if(step.mistakes, [&](const std::string& id) {
          return step.fitted.count(id) > 0 && id != "large-negative-fill" && id != "mask-fill-too-small";
        });
  }

  const Hypothesis& adopted() const { return adopted_; }
  Hypothesis adopted_and(const Hypothesis& more) const {
    auto mistakes = adopted_;
    mistakes.insert(more.begin(), more.end());
    return mistakes;
  }

  /// In order, under what is supposed, and how far somebody's numbers may be from what is expected.
  const Predictions& steps() const { return steps_; }
  const Tolerances& tolerance() const { return tolerance_; }

  /// What the dump has of a step; null where it lacks it.
  const AnyTensor* theirs(const Prediction& step) const { return value_in(dump_.tensors, step.id); }

  /// Whether the step at `index` may follow from another, which stands behind it in a recurrence: it does not
  /// where the numbers of that one in another order leave it as it is.
  bool depends_on(std::size_t index, std::size_t earlier) const {
    auto [found, is_new] = changed_by_.try_emplace(earlier);
    if (is_new) {
      const auto changed = replays_.with_changed(steps_[earlier].id, Replays::rotate, adopted_);
      const auto is_changed = [&](std::size_t i) {
        return i >= changed.size() || changed[i].reference != steps_[i].reference;
      };
      const bool is_known = is_changed(earlier);
      for (std::size_t i = 0; i < steps_.size(); ++i) found->second.push_back(!is_known || is_changed(i));
    }
    return found->second[index];
  }

  /// The step at `index`, and those from which it follows and which the dump lacks: where a mistake that it
  /// shows may have been made.
  std::vector<std::size_t> places_of_mistakes(std::size_t index) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (i == index || (theirs(steps_[i]) == nullptr && !steps_[i].mistakes.empty() && depends_on(index, i)))
        places.push_back(i);
    return places;
  }

  /// What these steps list and nobody supposes yet.
  std::vector<std::string> candidates(const std::vector<std::size_t>& places) const {
    std::vector<std::string> ids;
    for (const auto place : places)
      for (const auto& id : steps_[place].mistakes)
        if (adopted_.count(id) == 0 && !contains(ids, id)) ids.push_back(id);
    return ids;
  }

  /// The same, made in some of these steps, or followed in some groups of steps, and not in the others, where
  /// that may be what is wrong with the one at `index`.
  std::vector<Hypothesis> in_some_of(std::size_t index, const std::vector<std::size_t>& places,
                                     bool are_conventions = false) const {
    std::map<std::string, std::vector<Supposed>> by_mistake;
    std::set<std::string> here;
    for (const auto place : places) {
      const auto& step = steps_[place];
      here.insert({step.id, in_group_of(step.id, "").where});
      for (const auto& id : step.mistakes)
        if (adopted_.count(id) > 0 || (are_conventions && !is_convention(id)))
          continue;
        else if (is_made_by_the_step(id, step))
          by_mistake[id].emplace_back(id, step.id);
        else if (is_convention(id))
          by_mistake[id] = groups_that_list(id);
    }
    const auto is_here = [&](const Supposed& one) { return here.count(one.where) > 0; };
    std::vector<Hypothesis> all;
    for (auto& [id, everywhere] : by_mistake) {
      if (everywhere.size() < 2) continue;
      drop_what_changes_nothing(everywhere);
      for (auto& some : some_of(everywhere))
        if (some.size() < everywhere.size() && any_of(some, is_here)) all.push_back(std::move(some));
    }
    if (places.size() < all.size()) {  // a run for each place spares one for each hypothesis
      const auto wrong = wrong_numbers(index);
      std::erase_if(all, [&](const Hypothesis& some) { return !reaches(some, index, wrong); });
    }
    return few_of(std::move(all));
  }

  /// What else may be supposed of the steps that the one at `index` follows from: a mistake that was found in
  /// one of several may have been made in another, or not.
  std::vector<Hypothesis> others(std::size_t index) const {
    std::vector<Hypothesis> all;
    for (const auto& changed : some_of(found_elsewhere(index))) all.push_back(with_others(changed));
    return all;
  }

  /// Ids of the steps that the dump lacks and without whose mistakes the one at `index` would be another.
  std::vector<std::string> same_mistake_in(std::size_t index) const {
    std::vector<std::string> places;
    for (const auto& one : found_elsewhere(index))
      if (supposes(adopted_, one.mistake, one.where) &&
          !are_equal((*replays_.of(with_others({one})))[index].reference, steps_[index].reference))
        places.push_back(one.where);
    return places;
  }

  /// Two at once. Those of the same steps exclude each other: each is a whole tensor, and the later one
  /// stays.
  std::vector<Hypothesis> pairs_of(const std::vector<std::string>& ids) const {
    std::vector<std::vector<std::size_t>> places;
    for (const auto& id : ids) places.push_back(steps_that_list(id));
    std::vector<Hypothesis> pairs;
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (places[i] != places[j]) pairs.push_back({ids[i], ids[j]});
    return few_of(std::move(pairs));
  }

  /// Ids of the steps in which these mistakes were made: of the one at `index` and of those before it that
  /// the dump lacks.
  std::vector<std::string> made_in(const Hypothesis& mistakes, std::size_t index) const {
    std::vector<std::string> steps;
    for (const auto place : places_of_mistakes(index)) {
      const auto& step = steps_[place];
      if (any_of(step.mistakes, [&](const auto& id) { return supposes(mistakes, id, step.id); }))
        steps.push_back(step.id);
    }
    return steps;
  }

 private:
  /// Leaves out the steps, and groups of steps, that are what they should be with the mistake in them, too,
  /// where it is made in all of these.
  void drop_what_changes_nothing(std::vector<Supposed>& of_mistake) const {
    const auto steps = replays_.of(adopted_and({of_mistake.front().mistake}));
    std::erase_if(of_mistake, [&](const Supposed& one) {
      return !any_of(*steps, [&](const Prediction& step) {
        const bool is_in_it = one.where == step.id || one == in_group_of(step.id, one.mistake);
        return is_in_it && contains(step.mistakes, one.mistake) && !are_equal(step.expected, step.reference);
      });
    });
  }

  /// The offsets of the numbers that are surely not what is expected: 0 may stand for padding, and a large
  /// negative one for −∞. None where somebody's tensor has another shape.
  std::vector<std::size_t> wrong_numbers(std::size_t index) const {
    std::vector<std::size_t> wrong;
    const auto& step = steps_[index];
    const auto* const their = theirs(step);
    if (their == nullptr || their->shape() != step.shape) return wrong;
    for (std::size_t i = 0; i < step.reference.size(); ++i)
      if (const double number = their->view().at(i);
          number != 0.0 && std::isfinite(number) && std::isfinite(step.reference[i]) &&
          !is_near(number, step.reference[i], tolerance_.at(step.id)[i]))
        wrong.push_back(i);
    return wrong;
  }

  /// Whether each of these numbers of the step at `index` follows from a step with one of the mistakes.
  bool reaches(const Hypothesis& mistakes, std::size_t index, const std::vector<std::size_t>& numbers) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < index; ++i)
      if (any_of(steps_[i].mistakes, [&](const auto& id) { return supposes(mistakes, id, steps_[i].id); }))
        places.push_back(i);
    return any_of(steps_[index].mistakes,
                  [&](const auto& id) { return supposes(mistakes, id, steps_[index].id); }) ||
           all_of(numbers, [&](std::size_t number) {
             return any_of(places, [&](std::size_t place) { return follows(index, number, place); });
           });
  }

  /// Whether a number of the step at `index` changes with all numbers of an earlier one, or may: what is
  /// infinite does not change, nor do all bits of a mask.
  bool follows(std::size_t index, std::size_t number, std::size_t earlier) const {
    auto [found, is_new] = followed_by_.try_emplace({earlier, index});
    if (is_new) {
      const auto changed = replays_.with_changed(steps_[earlier].id, Replays::change_all, adopted_);
      const auto& before = steps_[index].reference;
      const bool is_known = index < changed.size() && changed[index].reference.size() == before.size() &&
                            changes_everywhere(changed[earlier].reference, steps_[earlier].reference);
      for (std::size_t i = 0; i < before.size(); ++i)
        found->second.push_back(!is_known || changed[index].reference[i] != before[i]);
    }
    return found->second[number];
  }

  static bool changes_everywhere(const std::vector<double>& changed, const std::vector<double>& before) {
    for (std::size_t i = 0; i < before.size(); ++i)
      if (i >= changed.size() || changed[i] == before[i]) return false;
    return true;
  }

  /// Whether the mistake may be made in one step that lists it and not in another.
  static bool is_made_by_the_step(const std::string& id, const Prediction& step) {
    return !is_convention(id) && step.fitted.count(id) == 0;
  }

  /// The smallest ones, where there are many: all steps are computed again for each, and a million of them
  /// take minutes. A search that has tried many tries few more.
  std::vector<Hypothesis> few_of(std::vector<Hypothesis> all) const {
    constexpr std::size_t most_steps = 40'000, least = 50;
    const auto most = most_steps / steps_.size();
    const auto count = std::min(all.size(), std::max(least, most - std::min(most, tried_)));
    if (count < all.size())
      std::stable_sort(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
    all.resize(count);
    tried_ += count;
    return all;
  }

  /// Every choice of one or more, the smaller ones first; of many those of one or two, and all.
  static std::vector<Hypothesis> some_of(const std::vector<Supposed>& all) {
    constexpr std::size_t few = 4, most_in_pairs = 12;
    const auto count = all.size(), most = count <= few ? count : count <= most_in_pairs ? 2 : 1;
    std::vector<Hypothesis> choices;
    for (std::size_t size = 1; size <= count; ++size) {
      if (size > most && size < count) continue;
      std::string is_taken =
          std::string(count - size, '0') + std::string(size, '1');  // of the last one first
      do {
        Hypothesis choice;
        for (std::size_t i = 0; i < count; ++i)
          if (is_taken[count - 1 - i] == '1') choice.insert(all[i]);
        choices.push_back(std::move(choice));
      } while (std::next_permutation(is_taken.begin(), is_taken.end()));
    }
    return choices;
  }

  std::vector<std::size_t> steps_that_list(const std::string& id) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (contains(steps_[i].mistakes, id)) places.push_back(i);
    return places;
  }

  std::vector<Supposed> groups_that_list(const std::string& id) const {
    std::vector<Supposed> groups;
    for (const auto place : steps_that_list(id))
      if (const auto one = in_group_of(steps_[place].id, id); !contains(groups, one)) groups.push_back(one);
    return groups;
  }

  /// The mistakes that were found in other steps, in those that list them, too, and that the step at `index`
  /// follows from and the dump lacks, made or not.
  std::vector<Supposed> found_elsewhere(std::size_t index) const {
    std::set<std::string> found;
    for (const auto& one : adopted_) found.insert(one.mistake);
    std::vector<Supposed> all;
    for (const auto place : places_of_mistakes(index))
      for (const auto& id : steps_[place].mistakes)
        if (place != index && found.count(id) > 0 && is_made_by_the_step(id, steps_[place]))
          all.emplace_back(id, steps_[place].id);
    return all;
  }

  /// What is supposed, but of these mistakes in single steps the contrary.
  Hypothesis with_others(const Hypothesis& changed) const {
    auto mistakes = adopted_;
    for (const auto& one : changed) {
      if (mistakes.erase(one.mistake) > 0)
        for (const auto place : steps_that_list(one.mistake)) mistakes.emplace(one.mistake, steps_[place].id);
      if (mistakes.erase(one) == 0) mistakes.insert(one);
    }
    return mistakes;
  }

  const Dump& dump_;
  Replays& replays_;
  Hypothesis adopted_;
  Predictions steps_;
  Tolerances tolerance_;
  mutable std::size_t tried_ = 0;  ///< hypotheses of several mistakes, or of some places
  mutable std::map<std::size_t, std::vector<bool>> changed_by_;  ///< whether each step is, by earlier one
  mutable std::map<std::pair<std::size_t, std::size_t>, std::vector<bool>>
      followed_by_;  ///< whether each number is, by earlier step and step
};

/// Compares somebody's tensors with what is expected of the steps, number by number. Where they leave the
/// rows of padded queries 0, those rows do not count, in that step and in those that follow from it.
class Comparison {
 public:
  /// `dump` must outlive it, and `tolerance`: how far each number may be from what is expected.
  Comparison(const Dump& dump, const Rerun& rerun, const Tolerances& tolerance)
      : dump_(dump), tolerance_(tolerance) {
    if (!dump.slacks.empty())
      for (auto& step : Replay(rerun).predict()) without_slips_[step.id] = std::move(step.expected);
  }

  /// Finds out whether they leave the rows of padded queries 0 in one of the steps.
  void look_for_zero_padding(const Predictions& steps) {
    leaves_padding_zero_ = any_of(steps, [&](const Prediction& step) {
      const auto* const theirs = value_in(dump_.tensors, step.id);
      return theirs != nullptr && theirs->shape() == step.shape && has_zero_padding(step, *theirs);
    });
  }

  bool leaves_padding_zero() const { return leaves_padding_zero_; }

  /// Whether a tensor has that shape, and it holds for each of its numbers and their offsets.
  template <class Holds>
  static bool each_number(const AnyTensor& theirs, const Shape& shape, Holds holds) {
    if (theirs.shape() != shape) return false;
    const auto view = theirs.view();
    for (std::size_t i = 0; i < element_count(shape); ++i)
      if (!holds(i, view.at(i))) return false;
    return true;
  }

  /// Whether a tensor has that shape and these numbers, the rows of padding among them.
  static bool are_near(const AnyTensor& theirs, const Shape& shape, const std::vector<double>& expected,
                       const std::vector<double>& tolerance) {
    return each_number(theirs, shape, [&](std::size_t i, double their) {
      return is_near(their, expected[i], tolerance[i]);
    });
  }

  /// The same where the rows of padding may be 0.
  bool matches(const Prediction& step, const AnyTensor& theirs, const Shape& shape,
               const std::vector<double>& expected, const std::vector<double>& tolerance) const {
    return tolerance.size() == expected.size() &&
           each_number(theirs, shape, [&](std::size_t i, double their) {
             return is_near(their, expected[i], tolerance[i]) || is_left_zero(step, i);
           });
  }

  bool is_right(const Prediction& step, const AnyTensor& theirs) const {
    const auto& tolerance = tolerance_.at(step.id);
    return tolerance.size() == step.reference.size() &&
           each_number(theirs, step.shape, [&](std::size_t i, double their) {
             return is_right(step, i, their, tolerance[i]) || is_left_zero(step, i);
           });
  }

  /// The same with any large negative numbers in the place of −∞.
  bool is_right_but_for_fill(const Prediction& step, const AnyTensor& theirs) const {
    return matches(step, theirs, step.shape, with_fill_of(theirs, step, step.reference),
                   tolerance_.at(step.id));
  }

  /// Whether it is the right number at that offset. A student who corrects a slip without going back goes on
  /// from the right numbers, and not from those that are written.
  bool is_right(const Prediction& step, std::size_t offset, double theirs, double tolerance) const {
    if (is_near(theirs, step.reference[offset], tolerance)) return true;
    const auto* const slacks = value_in(dump_.slacks, step.id);
    if (slacks == nullptr) return false;
    const double right = without_slips_.at(step.id)[offset];
    return is_near(theirs, right, (*slacks)[offset] + rounding_by_hand * (1.0 + std::abs(right)));
  }

  /// Whether the tensor is what the mistakes that are supposed give.
  bool is_expected(const Prediction& step, const AnyTensor& theirs) const {
    return matches(step, theirs, step.expected_shape, expected_beside(theirs, step), tolerance_.at(step.id));
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
    return (dump_.arithmetic == Dtype::float64 && !dump_.decimals) ||
           each_number(theirs, step.shape, [&](std::size_t i, double their) {
             const double right = step.reference[i];
             return is_near(their,
                            dump_.decimals ? rounded_to_decimals(right, *dump_.decimals)
                                           : round_to(dump_.arithmetic, right),
                            0.0);
           });
  }

  /// How many places of a tensor written by hand are empty.
  std::size_t blanks_in(const std::string& id) const {
    const auto* const slacks = value_in(dump_.slacks, id);
    if (slacks == nullptr) return 0;
    const auto is_infinite = [](double slack) { return std::isinf(slack); };
    return static_cast<std::size_t>(std::count_if(slacks->begin(), slacks->end(), is_infinite));
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
    for (std::size_t i = 0; i < step.expected.size() && step.expected.size() == step.reference.size(); ++i)
      if (!is_blank(step.id, i))
        largest = std::max(largest, difference(theirs.view().at(i), step.expected[i]));
    return largest;
  }

 private:
  /// These numbers, with somebody's large negative ones in the place of −∞ where a mask may hide: a mistake
  /// in what is hidden is the same mistake with any fill.
  static std::vector<double> with_fill_of(const AnyTensor& theirs, const Prediction& step,
                                          std::vector<double> numbers) {
    const bool may_hide =
        contains(step.mistakes, "large-negative-fill") && element_count(theirs.shape()) == numbers.size();
    for (std::size_t i = 0; may_hide && i < numbers.size(); ++i)
      if (std::isinf(numbers[i]) && numbers[i] < 0.0 && theirs.view().at(i) <= usual_large_negative)
        numbers[i] = theirs.view().at(i);
    return numbers;
  }

  /// Whether the number at that offset is in the row of a padded query.
  bool is_padding(const Prediction& step, std::size_t offset) const {
    if (dump_.lengths.empty() || step.shape.size() != step.axes.size() + 1) return false;
    for (std::size_t axis = 0; axis < step.axes.size(); ++axis)
      if (const auto& name = step.axes[axis]; name == "query" || name == "token" || name == "target") {
        const auto index = index_at(offset, step.shape);
        return index[0] < dump_.lengths.size() && index[axis + 1] >= dump_.lengths[index[0]];
      }
    return false;
  }

  bool is_left_zero(const Prediction& step, std::size_t offset) const {
    return leaves_padding_zero_ && is_padding(step, offset);
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

  bool is_blank(const std::string& id, std::size_t offset) const {
    const auto* const slacks = value_in(dump_.slacks, id);
    return slacks != nullptr && std::isinf((*slacks)[offset]);
  }

  const Dump& dump_;
  const Tolerances& tolerance_;
  bool leaves_padding_zero_ = false;
  std::map<std::string, std::vector<double>> without_slips_;  ///< steps computed from the inputs, by id
};

}  // namespace attn
