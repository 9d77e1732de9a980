#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "formula/edits.hpp"
#include "formula/entrywise.hpp"
#include "formula/functions.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/lesson.hpp"
#include "trace/diagnosis/catalogue.hpp"

namespace lessons {

namespace {

using attn::MistakeFormula;

/// Tensors by their names.
using Views = std::map<std::string, formula::View>;

formula::View number_alone(double number) {
  return owned_view(formula::Numbers(formula::Numbers::shape_type{}, number));
}

attn::AnyTensor tensor_of(const formula::View& view) {
  return attn::AnyTensor(
      attn::TensorView{view.is_truth ? attn::Dtype::boolean : attn::Dtype::float64, view.shape, view.data});
}

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Adds what a mask is made of, the rule on positions and the padding of the keys: `hides_future`,
/// `hides_padding`, `reach`, `offset`, `real` and `allowed` (document_run.hpp).
void add_rules_of_mask(Views& known, const Workbench& bench, formula::View mask,
                       const formula::Sheet& sheet) {
  const auto key = mask.axes.back();
  const bool is_of_keys_alone = mask.axes.size() == 1 || mask.axes[mask.axes.size() - 2] == "batch";
  const auto query = is_of_keys_alone ? "query" : mask.axes[mask.axes.size() - 2];
  const auto queries = sheet.size_of(query), keys = sheet.size_of(key),
             samples = sheet.has_axis("batch") ? sheet.size_of("batch") : 1;
  for (auto& axis : mask.axes)
    if (axis != "batch") axis = axis == query ? "query" : "key";
  formula::Sheet rules;
  for (const auto& [axis, length] : {std::pair("batch", samples), {"query", queries}, {"key", keys}})
    rules.axis(axis, length);
  const auto compute = [&](const char* text) { return rules.compute(formula::parse_definition(text)); };
  const auto set = [&](const char* name, double number) {
    rules.set(name, known[name] = number_alone(number));
  };
  rules.set("mask", mask);
  set("offset", static_cast<double>(keys) - static_cast<double>(queries));
  const double ahead =
                   compute("ahead = max(batch, query, key) where(mask, key - query - offset, -inf)").at({}),
               far = compute("far = max(batch, query, key) where(mask, abs(query + offset - key), 0)").at({});
  const double window = bench.options.window ? static_cast<double>(*bench.options.window) : unbounded;
  // The last query sees every key, causal or not.
  set("hides_future", queries == 1 ? bench.options.causal : ahead <= 0.0);
  set("reach", far > window ? unbounded : window);
  known["allowed"] = compute(
      "allowed[query, key] = not (hides_future and query + offset < key) and abs(query + offset - key) <= "
      "reach");
  auto real = compute("seen[batch, key] = 1 = max(query) mask");
  const auto& plan = bench.plan;
  const auto lengths = (plan.lesson->uses("source") ? plan.source : plan.sentence).lengths();
  if (lengths.size() == samples) {  // a key that no query could see is padding if the sentence has ended
    rules.set("lengths", owned_view(lengths, {"batch"}));
    real = compute("real[batch, key] = seen or key < lengths and not (1 = max(query) allowed)");
  }
  known["allowed"].axes = {query, key};
  known["real"] = real;
  known["real"].axes = {"batch", key};
  const auto numbers = formula::truths_in_order(real);
  set("hides_padding", std::find(numbers.begin(), numbers.end(), false) != numbers.end());
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

/// What the formulas of mistakes in one step are computed with.
class StepMistakes {
 public:
  StepMistakes(Telling& run, const Step& step, std::shared_ptr<const RowPlace> row)
      : run_(run), step_(step), row_(std::move(row)) {
    const auto& bench = run.bench();
    const auto& options = bench.options;
    const auto& lesson = *bench.plan.lesson;
    const auto& sheet = run.sheet();
    const auto& axes = step.definition.axes;
    const auto& name = step.formula->definition->name;
    const bool has_heads = sheet.has_axis("head"), has_batch = sheet.has_axis("batch");
    const auto has = [&](const char* tensor) {
      return sheet.find(settled(formula::name(tensor))->name) != nullptr;
    };
    const bool projects = lesson.uses("d-model");
    // Where rows are cut into heads, those are a step of their own and not another name for Q.
    const bool has_split = has("Q_heads") && settled(formula::name("Q_heads"))->name.ends_with("Q_heads");
    for (const auto& [known, number] : std::initializer_list<std::pair<const char*, double>>{
             {"writes", lesson.uses("new-tokens")},
             {"projected", projects},
             {"split", has_split},
             {"in_heads", formula::has(axes, "head") || formula::has(axes, "kv_head")},
             {"joined", has("concat")},
             {"crosses", settled(formula::name("X_query"))->name != settled(formula::name("X_key"))->name}})
      known_[known] = number_alone(number);
    if (has_heads) known_["kv_heads"] = number_alone(static_cast<double>(bench.kv_heads()));
    if (options.d_model && projects) axes_["d_model"] = bench.d_model();
    if (has_batch && sheet.has_axis("key"))
      axes_["batch_key"] = sheet.size_of("batch") * sheet.size_of("key");
    const auto lengths = bench.plan.target.lengths();
    if (lesson.uses("target") && has_batch && lengths.size() == sheet.size_of("batch"))
      known_["target_lengths"] = owned_view(lengths, {"batch"});
    find_unmasked();
    if (name == "Q" || name == "K" || name == "V") find_fused();
    if (name != "masked") return;
    if (const auto* mask = sheet.find(settled(formula::name("mask"))->name))
      add_rules_of_mask(known_, bench, *mask, sheet);
  }

  /// Whether the run has all names, and its dimensions and settings are as the conditions want them.
  bool can_make(const MistakeFormula& mistake) {
    const auto& conditions = mistake.conditions;
    const auto& names = mistake.names;
    const bool is_of_d_k = std::find(names.begin(), names.end(), "d_k") != names.end();
    if (step_.formula->definition->name == "scaled" && is_of_d_k && !has_size_of_d_k(step_.definition.expr))
      return false;
    return std::all_of(mistake.names.begin(), mistake.names.end(),
                       [&](const auto& name) { return meaning(name).is_known; }) &&
           std::all_of(conditions.begin(), conditions.end(), [&](const auto& one) { return may_hold(one); });
  }

  std::optional<attn::AnyTensor> result(const MistakeFormula& mistake, const attn::AnyTensor* theirs) try {
    const auto& axes = step_.definition.axes;
    if (mistake.needs_theirs) {
      if (theirs == nullptr || !attn::is_floating(theirs->dtype()) ||
          sheet().shape_of(axes) != theirs->shape())
        return std::nullopt;
      sheet().set("theirs", formula::view_of(axes, theirs->view()));
    }
    if (mistake.constant && !solve(mistake)) return std::nullopt;
    for (const auto& condition : mistake.conditions)
      if (!holds(mistake, condition)) return std::nullopt;
    if (row_) {
      const auto row = sheet().row_of(formula(mistake), row_->axis, row_->place);
      return attn::AnyTensor(
          attn::TensorView{attn::Dtype::float64, {row.shape().begin(), row.shape().end()}, row.data()});
    }
    return tensor_of(sheet().value(formula(mistake)));
  } catch (const formula::Error&) {  // of an index that does not fit these dimensions
    return std::nullopt;
  }

 private:
  /// Whether a formula speaks of how many features a key has: no other scale is a wrong √d_k.
  static bool has_size_of_d_k(const formula::Expr& x) {
    return formula::any_part(x, [](const formula::Expr& part) {
      return part->op == formula::Op::size && part->name.ends_with("d_k");
    });
  }

  struct Meaning {
    bool is_known;
    std::optional<double> number;  ///< that stays the same, whoever watches
  };

  /// A copy of the run's sheet with the numbers that mistakes need.
  formula::Sheet& sheet() {
    if (!copy_) {
      copy_.emplace(run_.sheet());
      for (const auto& [name, length] : axes_)
        if (!copy_->has_axis(name)) copy_->axis(name, length);
      for (const auto& [name, view] : known_)
        if (copy_->find(name) == nullptr) copy_->set(name, view);
      for (const auto& [name, read] : read_) {
        formula::Axes axes;
        for (const auto& index : read->parts) axes.push_back(axis_in(index));
        const auto definition = copy_->resolved({as_read(name), axes, read});
        copy_->set(definition.name, copy_->value(definition));
      }
    }
    return *copy_;
  }

  /// What is masked, or what softmax takes where nothing is.
  void find_unmasked() {
    const auto* masked = step_.formula->definition->name == "masked"
                             ? &step_.definition
                             : run_.sheet().definition_of(settled(formula::name("masked"))->name);
    const auto& x = masked != nullptr ? masked->expr : step_.definition.expr;
    const bool is_alone = run_.sheet().find("unmasked") != nullptr;
    if (is_alone || x->parts.empty()) return;
    const auto& operand = x->parts[masked != nullptr && x->parts.size() > 1 ? 1 : 0];
    if (operand->op == formula::Op::entry) unmasked_ = operand->name;
  }

  /// The weights of Q, K and V side by side, as a fused weight has them.
  void find_fused() {
    const auto& sheet = run_.sheet();
    const auto found = [&](const char* name) { return sheet.find(settled(formula::name(name))->name); };
    struct Part {
      const formula::View *weight, *bias;
    };
    const Part parts[] = {
        {found("W_Q"), found("b_Q")}, {found("W_K"), found("b_K")}, {found("W_V"), found("b_V")}};
    for (const auto& part : parts)
      if (part.weight == nullptr || part.weight->shape.size() != 2) return;
    const auto& of_keys = parts[1].weight->axes[1];
    const auto kv_head = of_keys.substr(0, of_keys.find("·"));
    const auto groups = kv_head != of_keys && sheet.has_axis(kv_head) ? sheet.size_of(kv_head) : 1;
    std::size_t columns = 0, begin = 0;
    for (const auto& part : parts) {
      if (part.weight->shape[1] % groups != 0) return;
      columns += part.weight->shape[1];
    }
    const auto d_model = parts[0].weight->shape[0], by_each = columns / groups;
    formula::Numbers W(attn::Shape{d_model, columns}), b(attn::Shape{columns}, 0.0),
        by_group(attn::Shape{columns}), in_thirds(attn::Shape{columns});
    std::size_t before = 0;
    for (const auto& [weight, bias] : parts) {
      const auto width = weight->shape[1], each = width / groups;
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t i = 0; i < d_model; ++i) W(i, begin + j) = weight->at({i, j});
        if (bias != nullptr && bias->shape.size() == 1) b(begin + j) = bias->at({j});
        const auto place = j / each * by_each + before + j % each;
        by_group(place) = static_cast<double>(begin + j);
        in_thirds(begin + j) = static_cast<double>(place);
      }
      begin += width;
      before += each;
    }
    const auto& column = step_.definition.axes.back();
    formula::Numbers places(attn::Shape{sheet.size_of(column)});
    std::iota(places.begin(), places.end(), 0.0);
    known_["column"] = owned_view(std::move(places), {column});
    known_["fused_W"] = owned_view(std::move(W), {parts[0].weight->axes[0], "fused"});
    known_["fused_b"] = owned_view(std::move(b), {"fused"});
    known_["by_group"] = owned_view(std::move(by_group), {"fused"});
    known_["in_thirds"] = owned_view(std::move(in_thirds), {"fused"});
    known_["groups"] = number_alone(static_cast<double>(groups));
    for (const auto& [name, i] : {std::pair("width_Q", 0), {"width_K", 1}, {"width_V", 2}})
      known_[name] = number_alone(static_cast<double>(parts[i].weight->shape[1]));
  }

  formula::Expr settled(const formula::Expr& y) const {
    const auto x = unmasked_.empty() ? y : formula::with_names(y, {{"unmasked", formula::name(unmasked_)}});
    return run_.meanings.settled(read_.empty() ? x : with_read(x), step_.section->scope);
  }

  /// An operand that the step reads through a formula, `K_heads[floor(head / group), key, d_k]`, is a tensor
  /// of its own.
  static std::string as_read(const std::string& name) { return name + "/read"; }

  formula::Expr with_read(const formula::Expr& x) const {
    const auto inner = formula::with_parts(x, [this](const formula::Expr& part) { return with_read(part); });
    if (read_.count(x->name) == 0) return inner;
    return formula::edited(inner, [](formula::Node& node) { node.name = as_read(node.name); });
  }

  /// The axis of the run along which an index goes.
  std::string axis_in(const formula::Expr& index) const {
    if (index->op == formula::Op::name && copy_->has_axis(index->name)) return index->name;
    for (const auto& part : index->parts)
      if (auto axis = axis_in(part); !axis.empty()) return axis;
    return "";
  }

  const Meaning& meaning(const std::string& name) {
    auto [found, is_new] = meanings_.try_emplace(name);
    if (is_new) found->second = meaning_of(name);
    return found->second;
  }

  Meaning meaning_of(const std::string& name) {
    const auto& sheet = run_.sheet();
    if (sheet.has_axis(name)) return {true, static_cast<double>(sheet.size_of(name))};
    if (const auto axis = axes_.find(name); axis != axes_.end())
      return {true, static_cast<double>(axis->second)};
    const auto meant = settled(formula::name(name));
    if (meant->op == formula::Op::number) return {true, meant->number};
    if (meant->op == formula::Op::call || meant->op == formula::Op::over) {
      const auto operands = formula::operands(meant);
      return {std::all_of(operands.begin(), operands.end(),
                          [&](const auto& one) { return sheet.find(one) != nullptr || sheet.has_axis(one); }),
              std::nullopt};
    }
    if (sheet.has_axis(meant->name)) return {true, static_cast<double>(sheet.size_of(meant->name))};
    const auto* tensor = sheet.find(meant->name);
    if (meant->op == formula::Op::entry && tensor != nullptr) read_.insert({name, meant});
    if (const auto known = known_.find(meant->name); tensor == nullptr && known != known_.end())
      tensor = &known->second;
    if (tensor == nullptr || !tensor->axes.empty()) return {tensor != nullptr, std::nullopt};
    return {true, tensor->at({})};
  }

  /// The number that a condition is on these dimensions; none where it speaks of tensors, which may change,
  /// or of what is solved for later.
  std::optional<double> number_of(const formula::Expr& x) {
    return formula::number_in(x, [this](const formula::Expr& part) { return meaning(part->name).number; });
  }

  bool may_hold(const formula::Expr& condition) { return number_of(condition).value_or(1.0) != 0.0; }

  bool holds(const MistakeFormula& mistake, const formula::Expr& condition) {
    const auto numbers = formula::numbers_in_order(sheet().value(resolved(mistake, condition, {})));
    return std::any_of(numbers.begin(), numbers.end(), [](double number) { return number != 0.0; });
  }

  formula::Definition formula(const MistakeFormula& mistake) {
    auto axes = mistake.definition.axes;
    for (auto& axis : axes) axis = settled(formula::name(axis))->name;
    return resolved(mistake, mistake.definition.expr, axes.empty() ? step_.definition.axes : axes);
  }

  /// With what the lesson computes in the place of the step's own name, and the operand that the mistake
  /// changes.
  formula::Definition resolved(const MistakeFormula& mistake, const formula::Expr& x,
                               const formula::Axes& axes) {
    const auto& step = step_.definition.name;
    auto result = formula::with_written_out(sheet(), sheet().resolved({step, axes, settled(x)}), step);
    if (!mistake.operand) return result;
    const auto operand = settled(formula::name(mistake.operand->name))->name;
    const auto other = sheet().resolved({operand, step_.definition.axes, settled(mistake.operand->expr)});
    result.expr = with_operand(result.expr, sheet().stands_for(operand), other.expr);
    return result;
  }

  static formula::Expr with_operand(const formula::Expr& x, const std::string& name,
                                    const formula::Expr& other) {
    if (x->op == formula::Op::entry && x->name == name) return other;
    return formula::with_parts(x, [&](const formula::Expr& part) { return with_operand(part, name, other); });
  }

  /// Finds the constant by secants, from all numbers at once: what most of them say. Returns whether any says
  /// something.
  bool solve(const MistakeFormula& mistake) {
    constexpr int most_secants = 40;
    constexpr double unit = 1e-14;
    const auto& [name, varies, none] = *mistake.constant;
    formula::Axes axes, along;
    for (const auto& one : varies) along.push_back(settled(formula::name(one))->name);
    if (std::any_of(along.begin(), along.end(),
                    [&](const auto& one) { return !formula::has(step_.definition.axes, one); }))
      return false;
    for (const auto& axis : step_.definition.axes) {
      const bool is_last =
          std::none_of(along.begin(), along.end(), [&](const auto& one) { return !formula::has(axes, one); });
      if (is_last) break;
      axes.push_back(axis);
    }
    const auto constant = std::make_shared<formula::Numbers>(sheet().shape_of(axes), 1.0);
    sheet().set(name, formula::view_of(axes, std::shared_ptr<const formula::Numbers>(constant)));
    const auto value = formula(mistake);
    const auto theirs = formula::numbers_in_order(sheet().tensor("theirs"));
    const auto at = [&](const std::vector<double>& numbers) {
      std::copy(numbers.begin(), numbers.end(), constant->begin());
      return formula::numbers_in_order(sheet().value(value));
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
          const double slope = numbers.flat(k) - numbers_before.flat(k);
          const double by = (theirs.flat(k) - numbers.flat(k)) * (now[i] - before[i]) / slope;
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
    if (mistake.is_whole)
      std::transform(now.begin(), now.end(), now.begin(), [](double x) { return std::round(x); });
    std::copy(now.begin(), now.end(), constant->begin());
    return says_something;
  }

  Telling& run_;
  Step step_;
  std::shared_ptr<const RowPlace> row_;  ///< mistakes make that row alone; null where they make all
  Views known_;
  std::map<std::string, std::size_t> axes_;
  std::map<std::string, Meaning> meanings_;
  std::string unmasked_;                       ///< the tensor that mistakes speak of so
  std::map<std::string, formula::Expr> read_;  ///< what operands stand for
  std::optional<formula::Sheet> copy_;
};

/// But for rounding.
bool is_as_good(const attn::AnyTensor& result, const attn::AnyTensor& right) {
  constexpr double unseen = 1e-12;
  if (result.shape() != right.shape() || result.dtype() != right.dtype()) return false;
  const auto theirs = result.view(), ours = right.view();
  for (std::size_t i = 0; i < attn::element_count(theirs.shape); ++i) {
    const double x = theirs.at(i), y = ours.at(i);
    if (!(x == y || std::abs(x - y) <= unseen)) return false;
  }
  return true;
}

/// The step with somebody's operand; none where that changes nothing.
std::optional<attn::AnyTensor> with_operand(Telling& run, const formula::Definition& definition,
                                            const std::string& name, const attn::AnyTensor& operand) {
  auto sheet = run.sheet();
  const auto own = sheet.tensor(name);
  if (operand.shape() != own.shape) return std::nullopt;
  const auto right = tensor_of(sheet.value(definition));
  sheet.set(name, formula::view_of(own.axes, operand.view()));
  std::set<std::string> changed = {name};
  for (const auto& step : sheet.definitions()) {
    const auto operands = formula::operands(step.expr);
    const bool follows = run.hidden.count(step.name) > 0 && changed.count(step.name) == 0 &&
                         std::any_of(operands.begin(), operands.end(),
                                     [&](const auto& one) { return changed.count(one) > 0; });
    if (!follows) continue;
    sheet.set(step.name, sheet.value(step));
    changed.insert(step.name);
  }
  auto result = tensor_of(sheet.value(definition));
  return is_as_good(result, right) ? std::nullopt : std::optional(std::move(result));
}

/// What the mistakes in hidden steps make of one that takes them.
attn::Mistakes carried_into(Telling& run, const formula::Definition& definition) {
  attn::Mistakes carried;
  for (const auto& name : formula::operands(definition.expr)) {
    const auto found = run.mistakes_of_hidden.find(name);
    if (found == run.mistakes_of_hidden.end()) continue;
    for (const auto& mistake : found->second)
      if (!mistake.is_fitted())
        carried.emplace_back(mistake.id(), false, [&run, definition, name, mistake](const attn::AnyTensor*) {
          const auto operand = mistake.result(nullptr);
          return operand ? with_operand(run, definition, name, *operand) : std::nullopt;
        });
  }
  return carried;
}

/// The mistakes that data/mistakes/ has formulas of, as far as the run has the names in them.
attn::Mistakes mistakes_in_formulas(Telling& run, const Step& step, std::shared_ptr<const RowPlace> row) {
  attn::Mistakes mistakes;
  const auto& all = attn::formulas_of_mistakes();
  std::shared_ptr<StepMistakes> of_step;
  for (const auto& name : std::set{step.formula->definition->name, step.definition.name}) {
    const auto formulas = all.find(name);
    if (formulas == all.end()) continue;
    if (!of_step) of_step = std::make_shared<StepMistakes>(run, step, row);
    for (const auto& formula : formulas->second)
      if (of_step->can_make(formula))
        mistakes.emplace_back(
            formula.id, formula.needs_theirs,
            [of_step, &formula](const attn::AnyTensor* theirs) { return of_step->result(formula, theirs); });
  }
  return mistakes;
}

}  // namespace

attn::Mistakes mistakes_of_step(Telling& run, const Step& step, std::shared_ptr<const RowPlace> row) {
  auto all = mistakes_in_formulas(run, step, std::move(row));
  for (auto& mistake : carried_into(run, step.definition)) {
    const auto own =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.id() == mistake.id(); });
    if (own == all.end())
      all.push_back(std::move(mistake));
    else if (attn::is_convention(mistake.id()))  // its halves undo each other, and nobody sees the first
      all.erase(own);
  }
  const auto& in_code = run.functions.mistakes;
  const auto found = in_code.find(step.section->scope.name_of(step.formula->definition->name));
  if (found != in_code.end() && run.hidden.count(step.definition.name) == 0)
    for (auto& mistake : found->second(run.document_run, step.definition.name))
      all.push_back(std::move(mistake));
  return all;
}

}  // namespace lessons
