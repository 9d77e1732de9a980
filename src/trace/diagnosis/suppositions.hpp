#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"

namespace attn {

/// How far each number of a step may be from the one that is expected, by the step's id.
using Tolerances = std::map<std::string, std::vector<double>>;

/// Runs the lesson beside a dump under one hypothesis after the other, and remembers what they gave, as far
/// as memory is meant to go.
class Replays {
 public:
  /// Both must outlive it.
  Replays(const Dump& dump, const Rerun& rerun);

  /// The steps in order.
  std::vector<Prediction> of(const Hypothesis& mistakes) const;

  /// The step at `index`.
  Prediction step(std::size_t index, const Hypothesis& mistakes) const;

  /// The same for a hypothesis that is tried for this step alone. Its run ends there.
  Prediction step_alone(std::size_t index, const std::string& id, const Hypothesis& mistakes) const;

  /// Makes room where much is remembered: what was tried before is seldom tried again.
  void forget();

  /// The steps with other numbers in the place of those of an input.
  std::vector<Prediction> with_another(const std::string& input, const Hypothesis& mistakes) const;

  /// The steps with the numbers of a step in another order: an index that follows from them stays valid.
  std::vector<Prediction> with_rotated(const std::string& step, const Hypothesis& mistakes) const;

  /// What rounding to the dump's numbers, and to its decimals, may change.
  Tolerances tolerance(const Hypothesis& mistakes) const;

  /// The relative precision that `tolerance` supposes.
  double unit() const { return unit_; }

 private:
  Replay replay_with(Rerun rerun) const;
  std::vector<Prediction> with_changed(const std::string& id, void (*change)(const Tapped&),
                                       const Hypothesis& mistakes) const;

  const Dump& dump_;
  const Rerun& rerun_;
  double unit_;
  Replay replay_;
  mutable std::map<Hypothesis, std::vector<Prediction>> kept_;
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

  /// Supposes these for all that follows.
  void adopt(Hypothesis mistakes);
  const Hypothesis& adopted() const { return adopted_; }
  Hypothesis adopted_and(const Hypothesis& more) const;

  /// In order, under what is supposed.
  const std::vector<Prediction>& steps() const { return steps_; }

  /// What the dump has of a step; null where it lacks it.
  const AnyTensor* theirs(const std::string& id) const;

  /// Whether the step at `index` may follow from another, which stands behind it in a recurrence: it does not
  /// where the numbers of that one in another order leave it as it is.
  bool depends_on(std::size_t index, std::size_t earlier) const;

  /// The step at `index`, and those from which it follows and which the dump lacks: where a mistake that it
  /// shows may have been made.
  std::vector<std::size_t> places_of_mistakes(std::size_t index) const;

  /// What these steps list and nobody supposes yet.
  std::vector<std::string> candidates(const std::vector<std::size_t>& places) const;

  /// The same, made in some of these steps, or followed in some groups of steps, and not in the others.
  std::vector<Hypothesis> in_some_of(const std::vector<std::size_t>& places) const;

  /// What else may be supposed of the steps that the one at `index` follows from: a mistake that was found in
  /// one of several may have been made in another, or not.
  std::vector<Hypothesis> others(std::size_t index) const;

  /// Ids of the steps that the dump lacks and without whose mistakes the one at `index` would be another.
  std::vector<std::string> same_mistake_in(std::size_t index) const;

  /// Two at once. Those of the same steps exclude each other: each is a whole tensor, and the later one
  /// stays.
  std::vector<Hypothesis> pairs_of(const std::vector<std::string>& ids) const;

  /// Ids of the steps in which these mistakes were made: of the one at `index` and of those before it that
  /// the dump lacks.
  std::vector<std::string> made_in(const Hypothesis& mistakes, std::size_t index) const;

 private:
  bool has_coarse_numbers() const;
  void drop_what_follows_theirs();
  std::vector<std::size_t> steps_that_list(const std::string& id) const;
  std::vector<Supposed> groups_that_list(const std::string& id) const;
  std::vector<Supposed> found_elsewhere(std::size_t index) const;
  Hypothesis with_others(const Hypothesis& changed) const;

  const Dump& dump_;
  Replays& replays_;
  Hypothesis adopted_;
  std::vector<Prediction> steps_;
  mutable std::map<std::size_t, std::vector<bool>> changed_by_;  ///< whether each step is, by earlier one
};

}  // namespace attn
