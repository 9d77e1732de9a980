#include "lessons/documents/step_mistakes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "formula/edits.hpp"
#include "lessons/lesson.hpp"
#include "trace/diagnosis/catalogue.hpp"

namespace lessons {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using attn::MistakeFormula;

void set_number(formula::Sheet& sheet, const char* name, double number) {
  if (sheet.find(name) == nullptr)
    sheet.set(name, formula::view_of({}, std::make_shared<const formula::Numbers>(
                                             formula::Numbers::shape_type{}, number)));
}

void set_axis(formula::Sheet& sheet, const char* name, std::size_t length) {
  if (!sheet.has_axis(name)) sheet.axis(name, length);
}

/// What a mask is made of: the rule on positions, and the padding of the keys.
class MaskRules {
 public:
  MaskRules(const Workbench& bench, const formula::View& mask, formula::Sheet& sheet)
      : queries_(sheet.size_of("query")),
        keys_(sheet.size_of("key")),
        samples_(sheet.has_axis("batch") ? sheet.size_of("batch") : 1),
        offset_(static_cast<double>(keys_) - static_cast<double>(queries_)),
        real_(formula::Truths::from_shape({samples_, keys_})),
        allowed_(formula::Truths::from_shape({queries_, keys_})) {
    if (bench.options.window) window_ = static_cast<double>(*bench.options.window);
    find_rule(mask);
    if (queries_ == 1) hides_future_ = bench.options.causal;  // the last query sees every key, causal or not
    for (std::size_t i = 0; i < queries_; ++i)
      for (std::size_t j = 0; j < keys_; ++j)
        allowed_(i, j) = !(hides_future_ && behind(i, j) < 0.0) && std::abs(behind(i, j)) <= window_;
    const auto& plan = bench.plan;
    add_keys_out_of_reach(plan.lesson->uses("source") ? plan.source : plan.sentence);
  }

  void tell(formula::Sheet& sheet) const {
    const bool pads = std::find(real_.begin(), real_.end(), false) != real_.end();
    set_number(sheet, "hides_future", hides_future_);
    set_number(sheet, "hides_padding", pads);
    set_number(sheet, "reach", window_);
    set_number(sheet, "offset", offset_);
    sheet.set("real", formula::view_of({"batch", "key"}, std::make_shared<const formula::Truths>(real_)));
    sheet.set("allowed",
              formula::view_of({"query", "key"}, std::make_shared<const formula::Truths>(allowed_)));
  }

 private:
  double behind(std::size_t i, std::size_t j) const {
    return static_cast<double>(i) + offset_ - static_cast<double>(j);
  }

  void find_rule(const formula::View& mask) {
    real_.fill(false);
    attn::Index at(mask.axes.size());
    for (std::size_t b = 0; b < samples_; ++b)
      for (std::size_t i = 0; i < queries_; ++i)
        for (std::size_t j = 0; j < keys_; ++j) {
          std::transform(mask.axes.begin(), mask.axes.end(), at.begin(), [&](const auto& axis) {
            return axis == "batch" ? b : axis == "query" ? i : j;
          });
          if (mask.at(at) == 0.0) continue;
          real_(b, j) = true;
          hides_future_ = hides_future_ && behind(i, j) >= 0.0;
          if (std::abs(behind(i, j)) > window_) window_ = infinity;
        }
  }

  /// A key that no query sees, and none could by the rule on positions, is padding if the sentence has ended.
  void add_keys_out_of_reach(const attn::TokenBatch& keys) {
    const auto lengths = keys.lengths();
    if (lengths.size() != samples_) return;
    for (std::size_t j = 0; j < keys_; ++j) {
      bool is_in_reach = false;
      for (std::size_t i = 0; i < queries_; ++i) is_in_reach = is_in_reach || allowed_(i, j);
      for (std::size_t b = 0; !is_in_reach && b < samples_; ++b) real_(b, j) = j < lengths[b];
    }
  }

  std::size_t queries_, keys_, samples_;
  double offset_, window_ = infinity;
  bool hides_future_ = true;
  formula::Truths real_, allowed_;
};

/// The numbers of a run that formulas of mistakes may speak of.
void add_numbers(const Workbench& bench, formula::Sheet& sheet) {
  const auto& options = bench.options;
  const auto& lesson = *bench.plan.lesson;
  const bool has_heads = sheet.has_axis("head"), projects = lesson.uses("d-model");
  set_number(sheet, "temperature", options.temperature);
  set_number(sheet, "many_heads", has_heads);
  set_number(sheet, "has_mask", sheet.find("mask") != nullptr);
  set_number(sheet, "writes", lesson.uses("new-tokens"));
  set_number(sheet, "projected", projects && bench.trace.speaks_of("Q"));
  set_number(sheet, "split", sheet.find("Q_heads") != nullptr && bench.trace.speaks_of("Q_heads"));
  if (has_heads) set_number(sheet, "kv_heads", static_cast<double>(bench.kv_heads()));
  if (options.d_model && projects) set_axis(sheet, "d_model", bench.d_model());
  if (sheet.has_axis("batch") && sheet.has_axis("key"))
    set_axis(sheet, "batch_key", sheet.size_of("batch") * sheet.size_of("key"));
  const auto lengths = bench.plan.target.lengths();
  if (lesson.uses("target") && sheet.has_axis("batch") && lengths.size() == sheet.size_of("batch")) {
    auto numbers = formula::Numbers::from_shape({lengths.size()});
    std::copy(lengths.begin(), lengths.end(), numbers.begin());
    sheet.set("target_lengths",
              formula::view_of({"batch"}, std::make_shared<const formula::Numbers>(std::move(numbers))));
  }
}

std::vector<double> numbers_of(const formula::View& view) {  // row-major
  std::vector<double> numbers(attn::element_count(view.shape));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] =
        view.is_truth ? static_cast<const bool*>(view.data)[i] : static_cast<const double*>(view.data)[i];
  return numbers;
}

/// The number at which half of the weight stands below.
double weighted_median(std::vector<std::pair<double, double>> numbers_and_weights) {
  std::sort(numbers_and_weights.begin(), numbers_and_weights.end());
  double rest = 0.0;
  for (const auto& one : numbers_and_weights) rest += one.second / 2.0;
  for (const auto& [number, weight] : numbers_and_weights)
    if ((rest -= weight) <= 0.0) return number;
  return numbers_and_weights.back().first;
}

/// A formula of the catalogue on the sheet of a run.
class MadeOnSheet {
 public:
  MadeOnSheet(const StepOnSheet& step, const MistakeFormula& mistake) : step_(step), mistake_(mistake) {}

  /// Whether the run has all names, and its dimensions are as the condition wants them.
  bool can_be_made() const {
    const auto& names = mistake_.names;
    const auto& conditions = mistake_.conditions;
    return std::all_of(names.begin(), names.end(), [&](const auto& name) { return is_known(name); }) &&
           std::all_of(conditions.begin(), conditions.end(), [&](const auto& one) { return may_hold(one); });
  }

  std::optional<attn::AnyTensor> result(const attn::AnyTensor* theirs) const try {
    const auto& step = step_.definition;
    if (mistake_.needs_theirs) {
      if (theirs == nullptr || !attn::is_floating(theirs->dtype()) || shape_of(step.axes) != theirs->shape())
        return std::nullopt;
      sheet().set("theirs", formula::view_of(step.axes, theirs->view()));
    }
    if (mistake_.constant && !solve()) return std::nullopt;
    const auto& conditions = mistake_.conditions;
    if (!std::all_of(conditions.begin(), conditions.end(), [&](const auto& one) { return holds(one); }))
      return std::nullopt;
    const auto view = sheet().value(formula());
    return attn::AnyTensor(
        attn::TensorView{view.is_truth ? attn::Dtype::boolean : attn::Dtype::float64, view.shape, view.data});
  } catch (const formula::Error&) {  // of an index that does not fit these dimensions
    return std::nullopt;
  }

 private:
  formula::Sheet& sheet() const { return *step_.sheet; }

  formula::Expr settled(const formula::Expr& x) const { return step_.settled ? step_.settled(x) : x; }

  bool is_known(const std::string& name) const {
    if (sheet().has_axis(name)) return true;
    const auto meant = settled(formula::name(name));
    return meant->op == formula::Op::number || sheet().find(meant->name) != nullptr;
  }

  attn::Shape shape_of(const formula::Axes& axes) const {
    attn::Shape shape;
    for (const auto& axis : axes) shape.push_back(sheet().size_of(axis));
    return shape;
  }

  formula::Definition formula() const {
    const auto& axes = mistake_.definition.axes;
    return resolved(mistake_.definition.expr, axes.empty() ? step_.definition.axes : axes);
  }

  /// With what the lesson computes in the place of the step's own name, and the operand that the mistake
  /// changes.
  formula::Definition resolved(const formula::Expr& x, const formula::Axes& axes) const {
    const auto& step = step_.definition.name;
    auto result = formula::with_written_out(sheet(), sheet().resolved({step, axes, settled(x)}), step);
    if (!mistake_.operand) return result;
    const auto operand = settled(formula::name(mistake_.operand->name))->name;
    const auto other = sheet().resolved({operand, step_.definition.axes, settled(mistake_.operand->expr)});
    result.expr = with_operand(result.expr, sheet().stands_for(operand), other.expr);
    return result;
  }

  static formula::Expr with_operand(const formula::Expr& x, const std::string& name,
                                    const formula::Expr& other) {
    if (x->op == formula::Op::entry && x->name == name) return other;
    return formula::with_parts(x, [&](const formula::Expr& part) { return with_operand(part, name, other); });
  }

  /// Whether dimensions and settings leave it open: numbers of tensors may change, and some are solved for
  /// later.
  bool may_hold(const formula::Expr& condition) const {
    if (condition->op == formula::Op::call && condition->name == "and")
      return may_hold(condition->parts[0]) && may_hold(condition->parts[1]);
    try {
      const auto whole = sheet().resolved({"", {}, settled(condition)});
      const auto names = formula::operands(whole.expr);
      return std::any_of(names.begin(), names.end(),
                         [&](const auto& name) { return !sheet().tensor(name).axes.empty(); }) ||
             sheet().value(whole).at({}) != 0.0;
    } catch (const formula::Error&) {  // it speaks of what is not there yet
      return true;
    }
  }

  bool holds(const formula::Expr& condition) const {
    const auto numbers = numbers_of(sheet().value(resolved(condition, {})));
    return std::any_of(numbers.begin(), numbers.end(), [](double number) { return number != 0.0; });
  }

  /// Finds the constant by secants, from all numbers at once: what most of them say. Returns whether any says
  /// something.
  bool solve() const {
    constexpr int most_secants = 40;
    constexpr double unit = 1e-14;
    const auto& [name, varies, none] = *mistake_.constant;
    formula::Axes axes;
    for (const auto& axis : step_.definition.axes) {
      const bool is_last = std::none_of(varies.begin(), varies.end(),
                                        [&](const auto& one) { return !formula::has(axes, one); });
      if (is_last) break;
      axes.push_back(axis);
    }
    const auto constant = std::make_shared<formula::Numbers>(shape_of(axes), 1.0);
    sheet().set(name, formula::view_of(axes, std::shared_ptr<const formula::Numbers>(constant)));
    const auto value = formula();
    const auto theirs = numbers_of(sheet().tensor("theirs"));
    const auto at = [&](const std::vector<double>& numbers) {
      std::copy(numbers.begin(), numbers.end(), constant->begin());
      return numbers_of(sheet().value(value));
    };
    std::vector<double> before(constant->size(), 1.0), now(constant->size(), 2.0);
    auto numbers_before = at(before), numbers = at(now);
    bool says_something = false;
    const auto run = theirs.size() / now.size();
    for (int secant = 0; secant < most_secants; ++secant) {
      auto next = now;
      bool moves = false;
      for (std::size_t i = 0; i < now.size(); ++i) {
        std::vector<std::pair<double, double>> said;
        for (std::size_t k = i * run; k < (i + 1) * run; ++k) {
          const double slope = numbers[k] - numbers_before[k];
          const double by = (theirs[k] - numbers[k]) * (now[i] - before[i]) / slope;
          if (slope != 0.0 && std::isfinite(by)) said.emplace_back(now[i] + by, std::abs(slope));
        }
        says_something = says_something || !said.empty();
        if (!said.empty())
          next[i] = weighted_median(std::move(said));
        else if (secant == 0)
          next[i] = 0.0;
        moves = moves || std::abs(next[i] - now[i]) > unit * std::abs(now[i]);
      }
      before = std::exchange(now, next);
      numbers_before = std::exchange(numbers, at(now));
      if (!moves) break;
    }
    if (mistake_.is_whole)
      std::transform(now.begin(), now.end(), now.begin(), [](double x) { return std::round(x); });
    std::copy(now.begin(), now.end(), constant->begin());
    return says_something;
  }

  StepOnSheet step_;
  const MistakeFormula& mistake_;
};

}  // namespace

attn::Mistakes mistakes_of_step(const Workbench& bench, const StepOnSheet& step) {
  attn::Mistakes mistakes;
  const auto formulas = attn::formulas_of_mistakes().find(step.name);
  if (formulas == attn::formulas_of_mistakes().end()) return mistakes;
  auto& sheet = *step.sheet;
  const auto* mask =
      step.settled ? sheet.find(step.settled(formula::name("mask"))->name) : sheet.find("mask");
  add_numbers(bench, sheet);
  if (step.name == "masked" && mask != nullptr) MaskRules(bench, *mask, sheet).tell(sheet);
  for (const auto& formula : formulas->second) {
    const MadeOnSheet made(step, formula);
    if (made.can_be_made())
      mistakes.emplace_back(formula.id, formula.needs_theirs,
                            [made](const attn::AnyTensor* theirs) { return made.result(theirs); });
  }
  return mistakes;
}

}  // namespace lessons
