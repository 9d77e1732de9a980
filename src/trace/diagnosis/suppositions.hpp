#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replays.hpp"

namespace attn {

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
