#include "lessons/backward/moved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

constexpr double wanted_move = 1e-5;    ///< of a number of a curved step
constexpr double longest_move = 1e-4;   ///< of a number that moves them by less
constexpr double shortest_move = 1e-9;  ///< at which rounding is as large as the difference
constexpr int most_attempts = 40;

constexpr const char* axis_of_moves = "move'";

/// What one move comes to.
struct Try {
  double loss = 0.0;
  double move = 0.0;  ///< of the numbers of curved steps, in their units
  bool turns_a_corner = false;
};

using UpAndDown = std::pair<Try, Try>;

/// How far the numbers of a tensor are moved, and what follows.
struct Difference {
  double slope = 0.0;    ///< (L(x + h) − L(x − h)) / 2h
  double allowed = 0.0;  ///< how far the slope may be from the derivative
  bool is_at_corner = false;
};

formula::Expr with_moves(const formula::Expr& x, const std::set<std::string>& changed) {
  formula::Node node = *formula::with_parts(x, [&](const auto& part) { return with_moves(part, changed); });
  if (node.op == formula::Op::entry && changed.count(node.name) > 0)
    node.parts.insert(node.parts.begin(), formula::position(axis_of_moves));
  return formula::Expr(std::move(node));
}

const double* numbers_of(const formula::Sheet& sheet, const std::string& name) {
  return static_cast<const double*>(sheet.tensor(name).data);
}

/// Computes the formulas that lead to a loss again, from a tensor that is moved, an input or a step.
class Mover {
 public:
  Mover(const formula::Sheet& sheet, const ForwardPass& forward) : forward_(forward) {
    for (const auto& [axis, length] : sheet.axes()) at_start_.axis(axis, length);
    const auto needed = sheet.needed_for([&](const auto& name) { return name == forward.loss; });
    for (const auto& step : sheet.definitions()) {
      const auto* const recurrence = sheet.recurrence_of(step.name);
      const bool is_first = recurrence == nullptr || recurrence->steps.front().name == step.name;
      if (is_first && needed.count(step.name) > 0)
        turns_.push_back(recurrence != nullptr ? *recurrence : Turn{.steps = {step}});
    }
    for (const auto& name : needed)
      if (sheet.definition_of(name) == nullptr) at_start_.set(name, sheet.tensor(name));
    for (const auto& turn : turns_) compute(at_start_, turn);
    for (const auto& turn : turns_)
      for (const auto& step : turn.steps) watch(step.name);
  }

  /// What a pass costs: the elements of all steps, and a number for each of them.
  double cost() const {
    constexpr double as_many_elements = 1000.0;  // a step costs as much as these, besides its elements
    double cost = 0.0;
    for (const auto& turn : turns_)
      for (const auto& step : turn.steps)
        if (step.name != forward_.loss)
          cost +=
              static_cast<double>(size_of(step.name)) +
              as_many_elements * static_cast<double>(turn.axis.empty() ? 1 : at_start_.size_of(turn.axis));
    return cost;
  }

  /// How far each number of a tensor moves where h is 1.
  using Direction = std::function<double(std::size_t place)>;

  /// Moves each number of the tensor alone, by an h that fits it.
  std::vector<Difference> one_by_one(const std::string& id, std::size_t size, attn::Dtype dtype) {
    constexpr std::size_t most_at_once = std::size_t{1} << 12;
    const auto alone = [](std::size_t one) {
      return [one](std::size_t place) { return place == one ? 1.0 : 0.0; };
    };
    std::vector<Difference> differences = {along(id, alone(0), dtype)};
    const double h = h_;
    const auto at_once = std::max<std::size_t>(1, most_at_once / following(id).largest);
    for (std::size_t begin = 1; begin < size; begin += at_once) {
      const auto tries = moved(
          id, 2 * std::min(at_once, size - begin),
          [&](std::size_t move, double* changes) { changes[begin + move / 2] = move % 2 == 0 ? h : -h; });
      for (std::size_t i = 0; i < tries.size(); i += 2) {
        h_ = h;
        differences.push_back(along(id, alone(begin + i / 2), dtype, UpAndDown{tries[i], tries[i + 1]}));
      }
    }
    return differences;
  }

  /// Moves tensor `id` by h times `direction`, with an h that fits. `known` is what the h that fitted last
  /// came to, where somebody has tried.
  Difference along(const std::string& id, const Direction& direction, attn::Dtype dtype,
                   std::optional<UpAndDown> known = {}) {
    double longest = longest_move;
    h_ = std::min(h_, longest);
    for (int attempt = 0; attempt < most_attempts; ++attempt, known.reset()) {
      const auto [up, down] = known ? *known : tried(id, direction);
      const double move = std::max(up.move, down.move);
      if (up.turns_a_corner || down.turns_a_corner) {
        longest = h_ /= 16.0;
        if (h_ < shortest_move) return {.is_at_corner = true};
        continue;
      }
      const bool is_too_far = move > 2.0 * wanted_move, is_too_near = move < wanted_move / 16.0;
      if (is_too_far || (is_too_near && h_ < longest)) {
        const double better = move > 0.0 ? h_ * wanted_move / move : longest;
        h_ = std::clamp(better, h_ / 1e3, longest);
        continue;
      }
      return difference(up, down, move, dtype);
    }
    return {.is_at_corner = true};
  }

 private:
  /// Steps that are computed together; one of its own has no axis.
  using Turn = formula::Recurrence;

  /// What is computed again where a tensor is moved, with an axis of moves.
  struct Following {
    std::vector<Turn> turns{};
    std::set<std::string> changed{};
    std::size_t largest = 0;  ///< tensor among them, without that axis
  };

  /// Finds the unit in which the moves of a step are measured, where it is watched.
  void watch(const std::string& id) {
    const bool is_of_its_size = formula::has(forward_.of_its_size, id);
    if (!is_of_its_size && !formula::has(forward_.curved, id) && !formula::has(forward_.with_corner, id))
      return;
    double largest = 0.0;
    const auto* const numbers = numbers_of(at_start_, id);
    for (std::size_t i = 0; i < size_of(id); ++i) largest = std::max(largest, std::abs(numbers[i]));
    unit_[id] = is_of_its_size && largest > 0.0 ? largest : 1.0;
    if (!is_of_its_size) largest_ = std::max(largest_, largest);
  }

  std::size_t size_of(const std::string& name) const {
    return attn::element_count(at_start_.tensor(name).shape);
  }

  /// What follows where the numbers of a tensor are moved, so many moves at once along an axis of their own:
  /// `change` says by how much in each move, where that is not 0.
  std::vector<Try> moved(const std::string& id, std::size_t moves,
                         const std::function<void(std::size_t move, double* changes)>& change) {
    const auto& start = at_start_.tensor(id);
    const auto& after = following(id);
    const auto size = size_of(id);
    auto shape = start.shape;
    auto axes = start.axes;
    shape.insert(shape.begin(), moves);
    axes.insert(axes.begin(), axis_of_moves);
    std::vector<double> changes(moves * size);
    formula::Numbers numbers(shape);
    const auto* const before = numbers_of(at_start_, id);
    for (std::size_t move = 0; move < moves; ++move) {
      auto* const changes_here = changes.data() + move * size;
      change(move, changes_here);
      std::transform(before, before + size, changes_here, numbers.data() + move * size, std::plus<>());
    }
    auto sheet = at_start_;
    sheet.axis(axis_of_moves, moves);
    sheet.set(id, owned_view(std::move(numbers), axes));
    for (const auto& turn : after.turns) compute(sheet, turn, id, changes);
    std::vector<Try> tries;
    const auto& loss = sheet.tensor(forward_.loss);
    for (std::size_t move = 0; move < moves; ++move) tries.push_back({.loss = loss.at({move})});
    for (const auto& [name, unit] : unit_)
      if (after.changed.count(name) > 0) note_moves(tries, sheet, name, unit);
    return tries;
  }

  void note_moves(std::vector<Try>& tries, const formula::Sheet& sheet, const std::string& name,
                  double unit) const {
    const auto size = size_of(name);
    const auto *now = numbers_of(sheet, name), *const before = numbers_of(at_start_, name);
    const bool is_curved = formula::has(forward_.curved, name) || formula::has(forward_.of_its_size, name);
    const bool has_corner = formula::has(forward_.with_corner, name);
    for (auto& one : tries) {
      double distance = 0.0;
      bool turns = false;
      for (std::size_t i = 0; i < size; ++i) {
        const double step = std::abs(now[i] - before[i]);
        if (step > distance || std::isnan(step)) distance = step;
        turns = turns || (now[i] > 0.0) != (before[i] > 0.0);
      }
      if (is_curved) one.move = attn::maximum({one.move, distance / unit});
      one.turns_a_corner = one.turns_a_corner || (has_corner && turns);
      now += size;
    }
  }

  UpAndDown tried(const std::string& id, const Direction& direction) {
    const auto tries = moved(id, 2, [&, size = size_of(id)](std::size_t move, double* changes) {
      for (std::size_t place = 0; place < size; ++place)
        changes[place] = direction(place) * (move == 0 ? h_ : -h_);
    });
    return {tries[0], tries[1]};
  }

  template <class Is>
  static bool has_any(const Turn& turn, const Is& is) {
    return std::any_of(turn.steps.begin(), turn.steps.end(), is);
  }

  /// Computes the steps, with what is added to each number of the one that is moved.
  static void compute(formula::Sheet& sheet, const Turn& turn, const std::string& moved = "",
                      const std::vector<double>& changes = {}) {
    if (turn.axis.empty())
      return sheet.set(turn.steps.front().name, formula::owned_alone(sheet.value(turn.steps.front())));
    const auto length = sheet.size_of(turn.axis);
    sheet.compute_rows(turn, [&](const auto& step, std::size_t place, formula::Numbers& row) {
      if (step.name != moved) return;
      std::size_t run = 1;
      for (auto axis = step.axes.rbegin(); *axis != turn.axis; ++axis) run *= sheet.size_of(*axis);
      for (std::size_t i = 0; i < row.size(); ++i)
        row.data()[i] += changes[(i / run * length + place) * run + i % run];
    });
  }

  const Following& following(const std::string& id) {
    const auto [found, is_new] =
        following_.try_emplace(id, Following{.changed = {id}, .largest = size_of(id)});
    auto& [turns, changed, largest] = found->second;
    for (auto turn = turns_.begin(); is_new && turn != turns_.end(); ++turn) {
      const bool is_moved_itself = turn->axis.empty() && turn->steps.front().name == id;
      const bool follows = has_any(*turn, [&, &changed = changed](const auto& step) {
        const auto operands = formula::operands(step.expr);
        return step.name == id || std::any_of(operands.begin(), operands.end(), [&](const auto& operand) {
                 return changed.count(operand) > 0;
               });
      });
      if (is_moved_itself || !follows) continue;
      turns.push_back(*turn);
      for (const auto& step : turn->steps)
        if (!turn->axis.empty()) changed.insert(step.name);
      for (auto& step : turns.back().steps) {
        step.expr = with_moves(step.expr, changed);
        step.axes.insert(step.axes.begin(), axis_of_moves);
        changed.insert(step.name);
        largest = std::max(largest, size_of(step.name));
      }
    }
    return found->second;
  }

  Difference difference(const Try& up, const Try& down, double move, attn::Dtype dtype) const {
    constexpr double safety = 16.0;
    const double reach = move / h_, noise = attn::largest_rounding_error(attn::Dtype::float64, 1.0) / h_;
    const double relative = move * move + attn::largest_rounding_error(dtype, 1.0) * (1.0 + largest_);
    const double magnitude = attn::maximum({forward_.magnitude, std::abs(up.loss), std::abs(down.loss)});
    return {.slope = (up.loss - down.loss) / (2.0 * h_),
            .allowed = safety * (magnitude * (relative * reach + noise * (1.0 + largest_)) +
                                 attn::smallest_normal(dtype) * (relative * std::max(1.0, reach) + noise))};
  }

  const ForwardPass& forward_;
  formula::Sheet at_start_;
  std::vector<Turn> turns_;
  std::map<std::string, Following> following_;  ///< by what is moved
  std::map<std::string, double> unit_;          ///< that the moves of a watched step are measured in
  double largest_ = 0.0;                        ///< of the numbers of curved steps
  double h_ = wanted_move;                      ///< that fitted last
};

MovedDeviation deviation_entry_by_entry(Mover& mover, const Gradient& gradient, attn::Dtype dtype) {
  MovedDeviation result{.of = gradient.of};
  for (const double number : gradient.elements) result.size = attn::maximum({result.size, std::abs(number)});
  const auto differences = mover.one_by_one(gradient.of, gradient.elements.size(), dtype);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const auto& difference = differences[i];
    result.at_corner += difference.is_at_corner ? 1 : 0;
    if (difference.is_at_corner) continue;
    result.deviation = attn::maximum({result.deviation, std::abs(difference.slope - gradient.elements[i])});
    result.allowed = std::max(
        result.allowed, difference.allowed + 16.0 * attn::largest_rounding_error(dtype, 1.0) * result.size);
  }
  return result;
}

MovedDeviation deviation_of_all(Mover& mover, const Gradient& gradient, attn::Random& random,
                                attn::Dtype dtype) {
  MovedDeviation result{.of = gradient.of};
  for (const double number : gradient.elements) result.size = std::hypot(result.size, number);
  std::vector<double> signs(gradient.elements.size());
  for (double& sign : signs) sign = random.normal() < 0.0 ? -1.0 : 1.0;
  const auto difference = mover.along(
      gradient.of, [&](std::size_t place) { return signs[place]; }, dtype);
  const double expected = std::inner_product(signs.begin(), signs.end(), gradient.elements.begin(), 0.0);
  result.at_corner = difference.is_at_corner ? signs.size() : 0;
  if (difference.is_at_corner) return result;
  double terms = 0.0;
  for (const double element : gradient.elements) terms += std::abs(element);
  result.deviation = std::abs(difference.slope - expected);
  result.allowed = difference.allowed + 16.0 * attn::largest_rounding_error(dtype, 1.0) * terms;
  return result;
}

}  // namespace

Gradients gradients_on(const formula::Sheet& sheet) {
  Gradients gradients;
  for (const auto& step : sheet.definitions()) {
    auto of = step.name;
    of.erase(of.rfind('/') + 1, 2);
    if (sheet.find(of) == nullptr || formula::gradient_name(of) != step.name) continue;
    const auto& tensor = sheet.tensor(step.name);
    const auto* const first = static_cast<const double*>(tensor.data);
    gradients.push_back({of, {first, first + attn::element_count(tensor.shape)}});
  }
  return gradients;
}

double magnitude_of_loss(const Tensor<3>& output, const Tensor<3>& d_output) {
  double sum = 0.0;
  for (const double d : d_output) sum += std::abs(d);
  return attn::max_abs(output) * sum;
}

MovedCheck check_by_moving(Workbench& bench, const formula::Sheet& sheet, const ForwardPass& forward,
                           const Gradients& gradients) {
  Mover mover(sheet, forward);
  double entries = 0.0;
  for (const auto& gradient : gradients) entries += static_cast<double>(gradient.elements.size());
  constexpr double passes_of_an_entry = 2.0, affordable_elements = 1 << 26;
  MovedCheck check{.entry_by_entry = passes_of_an_entry * entries * mover.cost() <= affordable_elements};
  const auto dtype = bench.trace.dtype();
  for (const auto& gradient : gradients)
    check.deviations.push_back(
        check.entry_by_entry
            ? deviation_entry_by_entry(mover, gradient, dtype)
            : deviation_of_all(mover, gradient, bench.random("check/" + formula::gradient_name(gradient.of)),
                               dtype));
  return check;
}

namespace {

void explain_moves(attn::Trace& trace, bool entry_by_entry) {
  std::string text =
      "Whether a gradient is right can be seen without any derivation: move a number a little up, then a "
      "little down, run forward both times and see how L changes. That leaves an error of the size of h², "
      "but a much smaller h is no better, because L is rounded. So it is done in float64, with an h that "
      "moves no score and no other number before a curve by more than 0.00002. Each tensor is moved where it "
      "stands in the forward pass, and all after it is computed again.";
  if (!entry_by_entry)
    text +=
        " Here there are too many numbers to move one by one, so those of a tensor move together, each up or "
        "down by the sign of a random number. Those of W_Q are drawn normal(0, 1) as check/d_W_Q, and so on.";
  trace.note("differences", "A check that knows no formula", text,
             "dL/dx = (L(x + h) − L(x − h)) / 2h + O(h²)");
}

std::string note_of_corner(const MovedDeviation& deviation) {
  if (deviation.at_corner == 0) return "";
  return fmt::format("{} of its numbers are left out: ReLU's corner is so near that there is no derivative.",
                     deviation.at_corner);
}

void claim_differences(attn::Trace& trace, const std::string& d_id, double size, const attn::Claim& claim) {
  const bool is_half = attn::item_size(trace.dtype()) == 2;
  if (claim.limit.bound <= (is_half ? 0.25 : 0.01) * size) return trace.claim(claim);
  trace.note(
      claim.id, fmt::format("{} is not checked", d_id),
      fmt::format("It is 0 or small. A difference of L may be off by {}, which is more than the {} part "
                  "of {}: whether the two agree would say nothing.",
                  claim.limit.bound, is_half ? "fourth" : "hundredth", d_id));
}

}  // namespace

void claim_by_moving(Workbench& bench, const formula::Sheet& sheet, const ForwardPass& forward,
                     const Gradients& gradients) {
  if (!bench.trace.is_heard()) return;
  const auto check = check_by_moving(bench, sheet, forward, gradients);
  explain_moves(bench.trace, check.entry_by_entry);
  for (const auto& one : check.deviations) {
    const auto d_id = formula::gradient_name(one.of);
    if (one.at_corner > 0 && one.allowed == 0.0) {
      bench.trace.note("check/" + d_id, fmt::format("{} is not checked", d_id), note_of_corner(one));
      continue;
    }
    const auto moved = check.entry_by_entry
                           ? fmt::format("each number of {}", one.of)
                           : fmt::format("all numbers of {} together, up or down at random,", one.of);
    const auto formula =
        check.entry_by_entry
            ? fmt::format("max |(L({0} + h) − L({0} − h)) / 2h − {1}|", one.of, d_id)
            : fmt::format("|(L({0} + h·s) − L({0} − h·s)) / 2h − Σ {1}·s|, s = ±1", one.of, d_id);
    claim_differences(bench.trace, d_id, one.size,
                      {.id = "check/" + d_id,
                       .claim = fmt::format("moving {} changes L as {} says", moved, d_id),
                       .formula = formula,
                       .value = one.deviation,
                       .limit = roughly_at_most(one.allowed),
                       .note = note_of_corner(one)});
  }
}

}  // namespace lessons
