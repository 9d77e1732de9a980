#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/ops/precision.hpp"
#include "trace/any_tensor.hpp"
#include "trace/trace.hpp"

namespace attn {

/// Runs a lesson once, on the same inputs each time, and shows `watch` every tensor. What the watch throws
/// ends the run.
using Rerun = std::function<void(const Watch& watch)>;

/// How far each number of tensors that were written by hand may be from the one that was rounded to it. It is
/// infinite of a blank, whose number says nothing.
using Slacks = std::map<std::string, std::vector<double>>;

/// How far each number of a step may be from the one that is expected, by the step's id.
using Tolerances = std::map<std::string, std::vector<double>>;

/// A mistake that is supposed to have been made.
struct Supposed {
  std::string mistake;  ///< its id, with the variant
  std::string where;    ///< a step, or "/" and a group of steps: "/cross/"; empty: every step that lists it

  template <class Id>
  requires std::convertible_to<Id, std::string> Supposed(Id id, std::string in = {})
      : mistake(std::move(id)), where(std::move(in)) {}

  bool operator==(const Supposed&) const = default;
  bool operator<(const Supposed& other) const {
    return std::tie(mistake, where) < std::tie(other.mistake, other.where);
  }
};

using Hypothesis = std::set<Supposed>;

/// That these were made in every step that lists them.
inline Hypothesis everywhere(const std::set<std::string>& mistakes) {
  return {mistakes.begin(), mistakes.end()};
}

/// "cross/" for "cross/scores"; empty for a step that stands in no group.
std::string group_of(const std::string& step);

/// The mistake in the group of that step.
Supposed in_group_of(const std::string& step, const std::string& mistake);

/// Whether the mistake is supposed to have been made in that step, which lists it.
bool supposes(const Hypothesis& hypothesis, const std::string& mistake, const std::string& step);

/// What a replay expects of one step, computed from the tensors before it.
struct Prediction {
  std::string id;
  Dtype dtype;
  Shape shape;                        ///< with the batch axis
  std::vector<std::string> axes;      ///< without it
  std::vector<double> reference;      ///< what is right
  std::vector<double> expected;       ///< under the hypothesis; the reference where that says nothing
  Shape expected_shape;               ///< which a mistake may change
  std::vector<std::string> mistakes;  ///< ids that the step lists
  std::set<std::string> fitted;       ///< those of them that follow somebody's tensor

  /// What is expected, as a tensor of the step's type.
  AnyTensor tensor() const;
};

using Predictions = std::vector<Prediction>;

/// Whether a lesson can go on with somebody's numbers. Whole ones may be places in a table: for a formula,
/// which has NaN for what is not there, all will do; else only those between the lesson's own smallest and
/// largest are surely in there.
bool can_be_used(const Tapped& tapped, const AnyTensor& theirs);

/// Replays a lesson with somebody's tensors: every step is computed from their tensors where they have them,
/// and from the lesson's own where they do not. So a mistake in one step does not hide those of later ones.
class Replay {
 public:
  /// `theirs`, `slacks` and what `rerun` refers to must outlive it. Slacks are of tensors that were written
  /// by hand: blanks in them count as the lesson's own numbers. Without anybody's tensors what is expected
  /// under a hypothesis is what a program computes that makes those mistakes.
  explicit Replay(Rerun rerun, const Tensors& theirs = nobodys, const Slacks& slacks = none)
      : rerun_(std::move(rerun)), theirs_(theirs), slacks_(slacks) {}

  /// Another run of the same steps, which list the same mistakes.
  Replay with(Rerun rerun) const {
    auto other = *this;
    other.rerun_ = std::move(rerun);
    return other;
  }

  /// What moves the numbers of a row, along the last axis, after its tensor was noted.
  using Move = std::function<void(double* row, std::size_t length)>;

  /// The steps in order, under a hypothesis. Ends after the last step that somebody has.
  Predictions predict(const Hypothesis& hypothesis = {}, const Move& move = {}) const;

  /// How far rounding to numbers of relative precision `unit` may move each number of `expected`: eight times
  /// the largest change within its row (along the last axis) over several replays in which every number of
  /// every tensor moves at random by up to one unit of its row's largest number, and eight of these units. A
  /// row of zeros in which nothing moves, as ReLU leaves them, has what moves most in its tensor. Of
  /// numbers that were written by hand: their own slack, and how far those of all earlier numbers may move
  /// them together. By id. `still` is what `predict` gives under the hypothesis.
  Tolerances tolerance(const Hypothesis& hypothesis, double unit, const Predictions& still) const;

 private:
  static inline const Tensors nobodys{};
  static inline const Slacks none{};

  Tolerances tolerance_by_hand(const Hypothesis& hypothesis, const Predictions& still) const;

  /// The mistakes that a step lists.
  struct Listed {
    std::vector<std::string> mistakes;
    std::set<std::string> fitted;
  };

  Rerun rerun_;
  const Tensors& theirs_;
  const Slacks& slacks_;
  std::shared_ptr<std::map<std::string, Listed>> listed_ =
      std::make_shared<std::map<std::string, Listed>>();  ///< by step, since the first run
};

/// Raises each number of `noted` to how far the one of `still` has moved, or by as much where `adds`.
void note_moves(const Predictions& still, const Predictions& moved, Tolerances& noted, bool adds = false);

/// Makes these mistakes in every step that lists them, and then shows `watch` the tensor.
Watch made_on_purpose(Hypothesis mistakes, Watch watch = {});

/// Half the distance between 1 and the next number of the type: the largest relative error of rounding.
inline double unit_of(Dtype dtype) {
  return largest_rounding_error(dtype, 1.0);
}

/// The floating-point type that computed tensors were rounded to: the narrowest of theirs. Somebody's float64
/// or float32 may hold narrower numbers, because npz has no bfloat16 and lists of numbers have no type:
/// tensors of one stored type are of the narrowest that has all of their entries, as long as at least 4 of
/// these are neither small integers nor of few binary digits. A decimal that a float32 was printed as counts
/// as a float32. Where some tensors are wider, as autocast keeps softmax in float32, at least 16 entries of
/// the others have to tell a half-precision type, fractions of small denominators not among them. Tensors of
/// other types say nothing; without any it is float64.
Dtype arithmetic_of(const std::vector<const AnyTensor*>& computed);

/// Float16 or bfloat16 where every number of a tensor is the one of `right` rounded to it, some are no small
/// integers nor of few binary digits, and one is another than the right one. None otherwise.
std::optional<Dtype> half_precision_of(const AnyTensor& tensor, const std::vector<double>& right);

/// To how many decimals, 3 to 9, numbers were rounded that were printed with as many each: the most that one
/// of them has. None where they have more, or fewer, or are fractions of powers of 2 that have no more
/// digits.
std::optional<int> decimals_of(const std::vector<const AnyTensor*>& tensors);

/// The number rounded to that many decimals.
double rounded_to_decimals(double number, int decimals);

}  // namespace attn
