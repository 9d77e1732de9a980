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

}  // namespace attn
