#include "trace/diagnosis/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <utility>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/dump.hpp"

namespace attn {

bool can_be_used(const Tapped& tapped, const AnyTensor& theirs) {
  if (tapped.dtype != Dtype::int64) return true;
  const auto* own = static_cast<const std::int64_t*>(tapped.elements);
  const auto count = element_count(tapped.shape);
  if (count == 0) return true;
  constexpr double most = 1e15;
  const auto range = std::minmax_element(own, own + count);
  const bool is_formula = tapped.explain != nullptr;
  const double smallest = is_formula ? -most : static_cast<double>(*range.first);
  const double largest = is_formula ? most : static_cast<double>(*range.second);
  const auto view = theirs.view();
  for (std::size_t i = 0; i < element_count(theirs.shape()); ++i) {
    const double number = view.at(i);
    if (!(smallest <= number && number <= largest)) return false;
  }
  return true;
}

namespace {

constexpr int replays = 4;  // with numbers moved at random
constexpr double moves_of_rounding = 8.0, units_of_rounding = 8.0;

/// Ends a run whose later steps nobody asks for.
struct SeenAll {};

std::vector<double> numbers_of(const TensorView& tensor) {
  std::vector<double> numbers(element_count(tensor.shape));
  if (is_floating(tensor.dtype) && tensor.data != nullptr)
    std::copy_n(static_cast<const double*>(tensor.data), numbers.size(), numbers.begin());
  else
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = tensor.at(i);
  return numbers;
}

/// How many numbers stand together for one place along `axis` and the axes before it.
std::size_t run_along(const Shape& shape, std::size_t axis) {
  std::size_t run = 1;
  for (std::size_t after = axis + 1; after < shape.size(); ++after) run *= shape[after];
  return run;
}

/// Calls `f` with the offset of every number that is new: all of a tensor, or the newest row.
template <class F>
void for_each_new(const Shape& shape, const std::optional<Tapped::Row>& row, F f) {
  const auto count = element_count(shape);
  if (!row) {
    for (std::size_t i = 0; i < count; ++i) f(i);
    return;
  }
  const auto run = run_along(shape, row->axis);
  const auto apart = run * shape[row->axis];
  for (std::size_t begin = row->index * run; begin < count; begin += apart)
    for (std::size_t i = begin; i < begin + run; ++i) f(i);
}

/// Where the number at offset `i` of a tensor of shape `from` stands in one of shape `to`, which has another
/// length along `axis` at most.
std::size_t offset_in(const Shape& to, const Shape& from, std::size_t axis, std::size_t i) {
  const auto run = run_along(from, axis);
  const auto outer = i / run / from[axis], at = i / run % from[axis];
  return (outer * to[axis] + at) * run + i % run;
}

/// Whether `theirs` has a number for each that was tapped: rows still to come may be there.
bool covers(const Shape& theirs, const Tapped& tapped) {
  if (!tapped.row || theirs.size() != tapped.shape.size()) return theirs == tapped.shape;
  auto shape = tapped.shape;
  if (theirs[tapped.row->axis] < shape[tapped.row->axis]) return false;
  shape[tapped.row->axis] = theirs[tapped.row->axis];
  return theirs == shape;
}

void store(const Tapped& tapped, std::size_t i, double number) {
  store(tapped.dtype, tapped.elements, i, number);
}

/// Calls `f` with the tensor that each mistake gives which is supposed to be made in the step.
template <class F>
void for_each_made(const Hypothesis& hypothesis, const Tapped& tapped, const AnyTensor* theirs, F f) {
  for (const auto& mistake : tapped.mistakes)
    if (supposes(hypothesis, mistake.id(), tapped.id))
      if (const auto result = mistake.result(theirs)) f(*result);
}

/// Calls `f` with each row, along the last axis, and its length.
template <class F>
void for_each_row(const Tapped& tapped, const F& f) {
  auto* const numbers = static_cast<double*>(tapped.elements);
  const auto count = element_count(tapped.shape);
  const auto length = tapped.shape.empty() ? 1 : tapped.shape.back();
  for (std::size_t begin = 0; begin < count; begin += length) f(numbers + begin, length);
}

/// The steps of one run, noted as they are tapped.
class Notes {
 public:
  Notes(const Hypothesis& hypothesis, const Tensors& theirs, const Slacks& slacks)
      : hypothesis_(hypothesis), theirs_(theirs), slacks_(slacks) {
    for (const auto& [id, tensor] : theirs) open_.insert(id);
  }

  void take(const Tapped& tapped, const Replay::Move& move) {
    const auto* const theirs = value_in(theirs_, tapped.id);
    if (tapped.kind == Kind::step) {
      auto& prediction = note(tapped);
      suppose(tapped, theirs, prediction);
      if (theirs != nullptr && covers(theirs->shape(), tapped) && can_be_used(tapped, *theirs))
        hand_on(tapped, *theirs);
    }
    if (move && is_floating(tapped.dtype)) for_each_row(tapped, move);
    if (theirs != nullptr && is_last(tapped, *theirs)) open_.erase(tapped.id);
    if (open_.empty() && !theirs_.empty()) throw SeenAll();
  }

  Predictions finish() { return std::move(steps_); }

 private:
  void hand_on(const Tapped& tapped, const AnyTensor& theirs) const {
    const auto axis = tapped.row ? tapped.row->axis : 0;
    const auto* const slacks = value_in(slacks_, tapped.id);
    const auto numbers = theirs.view();
    for_each_new(tapped.shape, tapped.row, [&](std::size_t i) {
      const auto at = tapped.row ? offset_in(numbers.shape, tapped.shape, axis, i) : i;
      const bool is_blank = slacks != nullptr && std::isinf((*slacks)[at]);
      if (!is_blank) store(tapped, i, numbers.at(at));
    });
  }

  static bool is_last(const Tapped& tapped, const AnyTensor& theirs) {
    if (!tapped.row) return true;
    const auto axis = tapped.row->axis;
    const auto length = axis < theirs.shape().size() ? theirs.shape()[axis] : 0;
    return tapped.row->index + 1 >= std::max(length, tapped.shape[axis]);
  }

  /// Makes room for the rows that a growing tensor has got.
  static void grow(Prediction& step, const Tapped& tapped, const std::vector<double>& now) {
    auto reference = now, expected = now;
    if (tapped.row)
      for (std::size_t i = 0; i < step.reference.size(); ++i) {
        const auto at = offset_in(tapped.shape, step.shape, tapped.row->axis, i);
        reference[at] = step.reference[i];
        expected[at] = step.expected[i];
      }
    step.reference = std::move(reference);
    step.expected = std::move(expected);
    step.shape = step.expected_shape = tapped.shape;
  }

  /// The right tensor, as far as it is known.
  Prediction& note(const Tapped& tapped) {
    const auto [place, is_new] = place_of_.try_emplace(tapped.id, steps_.size());
    if (is_new) {
      steps_.emplace_back();
      steps_.back().id = tapped.id;
      steps_.back().dtype = tapped.dtype;
      steps_.back().axes = tapped.axes;
    }
    auto& step = steps_[place->second];
    const TensorView now{tapped.dtype, tapped.shape, tapped.elements};
    if (is_new || step.shape != tapped.shape)
      grow(step, tapped, numbers_of(now));
    else
      for_each_new(tapped.shape, tapped.row,
                   [&](std::size_t i) { step.reference[i] = step.expected[i] = now.at(i); });
    note_mistakes(tapped.mistakes, step);
    return step;
  }

  /// Most rows of a growing tensor list the same mistakes in the same order.
  static void note_mistakes(const Mistakes& mistakes, Prediction& step) {
    for (std::size_t i = 0; i < mistakes.size(); ++i) {
      const auto& id = mistakes[i].id();
      if (i < step.mistakes.size() && step.mistakes[i] == id) continue;
      if (!contains(step.mistakes, id)) step.mistakes.push_back(id);
      if (mistakes[i].is_fitted()) step.fitted.insert(id);
    }
  }

  /// Puts the mistaken tensor in the place of the right one.
  void suppose(const Tapped& tapped, const AnyTensor* theirs, Prediction& step) {
    for_each_made(hypothesis_, tapped, theirs, [&](const AnyTensor& result) {
      if (result.shape() != tapped.shape) {
        step.expected_shape = result.shape();
        step.expected = numbers_of(result.view());
        return;
      }
      if (step.expected_shape != tapped.shape) {  // another mistake has changed it
        step.expected_shape = tapped.shape;
        step.expected = step.reference;
      }
      const auto numbers = result.view();
      for_each_new(tapped.shape, tapped.row, [&](std::size_t i) {
        step.expected[i] = numbers.at(i);
        store(tapped, i, step.expected[i]);
      });
    });
  }

  const Hypothesis& hypothesis_;
  const Tensors& theirs_;
  const Slacks& slacks_;
  std::set<std::string> open_;  ///< what somebody has and was not tapped yet
  Predictions steps_;
  std::map<std::string, std::size_t> place_of_;
};

/// Whether a number is of the size of those that stand for −∞, which loses no digits of those beside it.
bool is_fill(double number) {
  return number <= usual_large_negative;
}

/// The largest size of `sizes` but for those where `numbers` has what stands for −∞.
double largest_of(const double* sizes, const double* numbers, std::size_t length) {
  double largest = 0.0;
  for (std::size_t i = 0; i < length; ++i)
    if (std::isfinite(sizes[i]) && !is_fill(numbers[i])) largest = std::max(largest, std::abs(sizes[i]));
  return largest;
}

}  // namespace

std::string group_of(const std::string& step) {
  return step.substr(0, step.rfind('/') + 1);  // npos + 1 is 0
}

Supposed in_group_of(const std::string& step, const std::string& mistake) {
  return {mistake, '/' + group_of(step)};
}

bool supposes(const Hypothesis& hypothesis, const std::string& mistake, const std::string& step) {
  return any_of(hypothesis, [&](const Supposed& one) {
    return one.mistake == mistake &&
           (one.where.empty() || one.where == step || one == in_group_of(step, mistake));
  });
}

AnyTensor Prediction::tensor() const {
  AnyTensor tensor(dtype, expected_shape);
  for (std::size_t i = 0; i < expected.size(); ++i)
    store(dtype, tensor.elements<std::byte>(), i, expected[i]);
  return tensor;
}

Watch made_on_purpose(Hypothesis mistakes, Watch watch) {
  return [mistakes = std::move(mistakes), watch = std::move(watch)](const Tapped& tapped) {
    for_each_made(mistakes, tapped, nullptr, [&](const AnyTensor& result) {
      if (result.shape() != tapped.shape) return;
      const auto numbers = result.view();
      for_each_new(tapped.shape, tapped.row, [&](std::size_t i) { store(tapped, i, numbers.at(i)); });
    });
    if (watch) watch(tapped);
  };
}

void note_moves(const Predictions& still, const Predictions& moved, Tolerances& noted, bool adds) {
  for (std::size_t step = 0; step < std::min(still.size(), moved.size()); ++step) {
    const auto &before = still[step].expected, &now = moved[step].expected;
    auto& of_step = noted[still[step].id];
    of_step.resize(before.size());
    for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i)
      if (const double move = std::abs(now[i] - before[i]); std::isfinite(move))
        of_step[i] = adds ? of_step[i] + move : std::max(of_step[i], move);
  }
}

Predictions Replay::predict(const Hypothesis& hypothesis, const Move& move) const {
  Notes notes(hypothesis, theirs_, slacks_);
  const bool is_first = listed_->empty();
  const auto wants = [&](const std::string& id) {
    const auto* const listed = value_in(*listed_, id);
    if (is_first || hypothesis.empty() || listed == nullptr) return is_first || !hypothesis.empty();
    return any_of(listed->mistakes, [&](const auto& mistake) { return supposes(hypothesis, mistake, id); });
  };
  try {
    rerun_(Watch([&](const Tapped& tapped) { notes.take(tapped, move); }, wants));
  } catch (const SeenAll&) {
  }
  auto steps = notes.finish();
  for (auto& step : steps) {
    if (is_first) listed_->insert({step.id, {step.mistakes, step.fitted}});
    if (const auto* const listed = value_in(*listed_, step.id))
      std::tie(step.mistakes, step.fitted) = std::tie(listed->mistakes, listed->fitted);
  }
  return steps;
}

/// Each number in turn is raised by its slack.
Tolerances Replay::tolerance_by_hand(const Hypothesis& hypothesis, const Predictions& still) const {
  const auto rounding_of = [](double number) { return rounding_by_hand * (1.0 + std::abs(number)); };
  Tolerances tolerance;
  for (const auto& step : still) {
    auto& of_step = tolerance[step.id];
    for (const double number : step.expected) of_step.push_back(rounding_of(number));
    const auto* const own = value_in(slacks_, step.id);
    for (std::size_t i = 0; own != nullptr && i < std::min(own->size(), of_step.size()); ++i)
      of_step[i] += (*own)[i];
  }
  auto raised = theirs_;
  for (const auto& [id, slacks] : slacks_)
    for (std::size_t i = 0; i < slacks.size(); ++i) {
      if (slacks[i] == 0.0 || std::isinf(slacks[i])) continue;
      auto& number = raised.at(id).elements<double>()[i];
      const auto* const step = find_by_id(still, id);
      const bool is_exact = step != nullptr && i < step->expected.size() &&
                            std::abs(number - step->expected[i]) <= rounding_of(number);
      if (is_exact) continue;  // a decimal that is the number itself was not rounded
      const double written = std::exchange(number, number + slacks[i]);
      note_moves(still, Replay(rerun_, raised, slacks_).predict(hypothesis), tolerance, true);
      number = written;
    }
  return tolerance;
}

Tolerances Replay::tolerance(const Hypothesis& hypothesis, double unit, const Predictions& still) const {
  if (!slacks_.empty()) return tolerance_by_hand(hypothesis, still);
  Tolerances tolerance;
  for (const auto& step : still) tolerance[step.id].resize(step.expected.size());
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> direction(-unit, unit);
  for (int replay = 0; replay < replays; ++replay) {
    const auto moved = predict(hypothesis, [&](double* row, std::size_t length) {
      const double largest = largest_of(row, row, length);
      for (std::size_t i = 0; i < length; ++i)
        if (std::isfinite(row[i])) row[i] += (is_fill(row[i]) ? -row[i] : largest) * direction(random);
    });
    note_moves(still, moved, tolerance);
  }
  for (const auto& step : still) {
    auto& of_step = tolerance[step.id];
    const auto length =
        step.expected_shape.empty() ? 1 : std::max<std::size_t>(step.expected_shape.back(), 1);
    const auto* const numbers = step.expected.data();
    const double of_tensor = largest_of(of_step.data(), numbers, of_step.size());
    for (std::size_t begin = 0; begin < of_step.size(); begin += length) {
      const double of_row = largest_of(of_step.data() + begin, numbers + begin, length);
      const double change = of_row > 0.0 ? of_row : of_tensor;  // ReLU hides what moves a row of zeros
      const double size = largest_of(numbers + begin, numbers + begin, length);
      for (std::size_t i = begin; i < begin + length; ++i) {
        const bool is_alone = is_fill(numbers[i]);
        of_step[i] = moves_of_rounding * (is_alone ? of_step[i] : change) +
                     units_of_rounding * unit * (is_alone && std::isfinite(numbers[i]) ? -numbers[i] : size) +
                     std::numeric_limits<double>::min();
      }
    }
  }
  return tolerance;
}

}  // namespace attn
