#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/text/width.hpp"
#include "formula/functions.hpp"
#include "formula/parse.hpp"
#include "lab/check/check.hpp"
#include "lessons/workbench/exercises.hpp"
#include "lessons/workbench/own_inputs.hpp"
#include "trace/diagnosis/catalogue.hpp"
#include "trace/diff/diff.hpp"

namespace lab {

namespace {

using lessons::Lesson;
using lessons::Options;

/// A change of the options that may expose a mistake.
struct Change {
  std::string words;
  std::function<void(Options&)> make;
};

/// The smallest ones first.
std::vector<Change> changes_for(const Lesson& lesson, const Options& options) {
  std::vector<Change> changes;
  const auto is_pair = !options.source.empty();
  auto& own = is_pair ? options.source : options.sentence;
  const auto tokens = attn::tokenize(own.empty() ? lesson.defaults.sentence : own).length();
  const auto longer = [is_pair, tokens](Options& o) {
    auto& texts = is_pair ? o.source : o.sentence;
    if (texts.empty()) texts = {""};
    texts.front().clear();
    for (std::size_t i = 0; i <= tokens; ++i) texts.front() += fmt::format("{} ", i);
  };
  const auto add = [&](bool is_possible, std::string words, std::function<void(Options&)> make) {
    if (is_possible) changes.push_back({std::move(words), std::move(make)});
  };
  add(true, fmt::format("{} tokens", tokens + 1), longer);
  add(lesson.takes_batches, "a batch of two with unequal lengths", [is_pair](Options& o) {
    for (auto* texts : is_pair ? std::vector{&o.source, &o.target} : std::vector{&o.sentence}) {
      const auto first = texts->empty() ? std::string("0 1 2 3") : texts->front();
      *texts = {first, "x y"};
    }
  });
  add(lesson.uses("causal") && !options.causal, "--causal", [](Options& o) { o.causal = true; });
  const bool has_heads = lesson.uses("heads") && options.heads;
  const auto more_heads = options.heads.value_or(0) + 1;
  add(has_heads, fmt::format("{} heads", more_heads), [more_heads](Options& o) {
    o.heads = more_heads;
    if (o.kv_heads && more_heads % *o.kv_heads != 0) o.kv_heads = more_heads;
  });
  add(has_heads && lesson.uses("kv-heads"), "4 heads with 2 key and value heads", [](Options& o) {
    o.heads = 4;
    o.kv_heads = 2;
  });
  for (const auto& [key, name, length] :
       {std::tuple("d-k", "d_k", &Options::d_k), {"d-model", "d_model", &Options::d_model}})
    add(lesson.uses(key) && options.*length, fmt::format("{} = {}", name, (options.*length).value_or(0) + 1),
        [of = length](Options& o) { ++*(o.*of); });
  add(lesson.uses("window") && !options.window, "--window 1", [](Options& o) { o.window = 1; });
  return changes;
}

bool differs(const attn::Prediction& wrong, const attn::Prediction& right) {
  if (wrong.expected_shape != right.expected_shape) return true;
  for (std::size_t i = 0; i < right.expected.size(); ++i)
    if (!(std::abs(wrong.expected[i] - right.expected[i]) <= 1e-9 * (1.0 + std::abs(right.expected[i]))))
      return true;
  return false;
}

/// Whether the results, or a shape on the way to them, show that the steps are not the right ones.
bool shows(const std::vector<attn::Prediction>& wrong, const std::vector<attn::Prediction>& right,
           const std::vector<std::string>& results) {
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (wrong[i].expected_shape != right[i].expected_shape) return true;
    if (attn::contains(results, right[i].id) && differs(wrong[i], right[i])) return true;
  }
  return false;
}

/// The lesson on the inputs of somebody's file, under whatever names it has them, or on those of a probe.
lessons::Plan plan_for(const Lesson& lesson, Options options, std::vector<std::string>& assumptions) {
  if (options.input.empty()) return lessons::plan_of_probe(lesson, options);
  if (!options.is_typed("kv-heads")) options.kv_heads.reset();  // as many as there are heads
  auto given = lessons::open_inputs(lesson, options);
  assumptions = std::move(given.remarks);
  return lessons::plan_of_probe(lesson, options, *given.tensors);
}

/// The mistakes that can be made on this plan, and whether the results show each.
std::map<std::string, bool> exposed_mistakes(const lessons::Plan& plan) {
  const auto right = lessons::steps_with({}, plan);
  const auto results = lessons::results_of(plan, right);
  std::map<std::string, bool> exposed;
  for (const auto& id : lessons::mistakes_of(plan)) {
    if (const auto* known = attn::find_mistake(id);
        known != nullptr && known->is_convention() && known->stated.empty())
      continue;
    auto& is_exposed = exposed[attn::id_without_variant(id)];
    is_exposed = is_exposed || shows(lessons::steps_with({id}, plan), right, results);
  }
  return exposed;
}

/// What is known of hidden mistakes: that none can show it, or the smallest change of the options that does.
std::map<std::string, std::string> exposures(const Lesson& lesson, const Options& options,
                                             const std::vector<std::string>& hidden) {
  std::map<std::string, std::string> exposed_by;
  if (attn::contains(hidden, "mask-sum-overflow"))
    exposed_by.emplace(
        "mask-sum-overflow",
        "no dimensions show it: only rows that see no key differ, and what these hold is open");
  for (const auto& change : changes_for(lesson, options)) {
    if (exposed_by.size() == hidden.size()) break;
    auto changed = options;
    changed.input.clear();
    change.make(changed);
    std::map<std::string, bool> then;
    try {
      then = exposed_mistakes(lessons::plan_of_probe(lesson, changed));
    } catch (const attn::Error&) {
      continue;
    }
    for (const auto& id : hidden)
      if (then.count(id) > 0 && then.at(id)) exposed_by.emplace(id, "exposed by " + change.words);
  }
  return exposed_by;
}

/// The inputs that a program could read in the place of another without a result that shows it, and why.
std::map<std::string, std::string> confusable_inputs(const lessons::Plan& plan) {
  const auto right = lessons::steps_with({}, plan);
  const auto results = lessons::results_of(plan, right);
  const auto inputs = lessons::inputs_of(plan);
  const auto is_shown = [&](const std::string& id, const attn::AnyTensor& other) {
    return shows(lessons::steps_with_input(id, other, plan), right, results);
  };
  std::map<std::string, std::string> confusable;
  for (const auto& [id, tensor] : inputs)
    for (const auto& [other, numbers] : inputs) {
      if (id == other || !attn::is_floating(tensor.dtype()) || !attn::is_floating(numbers.dtype()) ||
          tensor.shape() != numbers.shape() || is_shown(id, numbers))
        continue;
      auto moved = tensor;
      for (std::size_t i = 0; i < attn::element_count(moved.shape()); ++i)
        moved.elements<double>()[i] += std::cos(static_cast<double>(i));
      confusable.emplace(fmt::format("{} for {}", other, id),
                         attn::are_identical(tensor, numbers) ? "they are equal"
                         : is_shown(id, moved)                ? "the output is the same"
                                               : fmt::format("no result is computed from {}", id));
    }
  return confusable;
}

using Pair = std::pair<formula::Expr, formula::Expr>;

/// The smallest parts of two formulas that hold all that is different.
std::optional<Pair> difference_of(const formula::Expr& a, const formula::Expr& b) {
  if (formula::same(a, b)) return std::nullopt;
  const Pair whole(a, b);
  if (a->op != b->op || a->name != b->name || a->axis != b->axis || a->parts.size() != b->parts.size())
    return whole;
  std::optional<Pair> found;
  for (std::size_t i = 0; i < a->parts.size(); ++i) {
    const auto of_part = difference_of(a->parts[i], b->parts[i]);
    if (of_part && found) return whole;
    if (of_part) found = of_part;
  }
  return found ? found : whole;
}

/// What each mistake makes of the first step that all of them are made in; none where there is no such step.
std::vector<formula::Expr> formulas_of(const std::vector<std::string>& mistakes, const lessons::Plan& plan) {
  std::vector<std::string> steps;
  for (const auto& step : lessons::steps_with({}, plan)) steps.emplace_back(attn::last_of_path(step.id));
  for (const auto& [step, of_step] : attn::formulas_of_mistakes()) {
    if (!attn::contains(steps, step)) continue;
    std::vector<formula::Expr> formulas;
    for (const auto& formula : of_step)
      if (attn::contains(mistakes, formula.id)) formulas.push_back(formula.definition.expr);
    if (formulas.size() == mistakes.size()) return formulas;
  }
  return {};
}

/// How long the axes of a run are, by name.
std::map<std::string, double> lengths_in(const lessons::Plan& plan) {
  std::map<std::string, double> lengths;
  lessons::run_watched(*plan.lesson, plan, [&](const attn::Tapped& tapped) {
    const auto outer = tapped.shape.size() - tapped.axes.size();
    for (std::size_t axis = 0; axis < tapped.axes.size(); ++axis)
      lengths.emplace(tapped.axes[axis], tapped.shape[outer + axis]);
  });
  if (plan.options.d_model) lengths.insert_or_assign("d_model", *plan.options.d_model);
  return lengths;
}

/// "√d_model and d_k are both 4 here.": why these formulas give the same numbers; empty where that is not so.
std::string what_is_equal(const std::vector<formula::Expr>& formulas, const lessons::Plan& plan) {
  std::vector<formula::Expr> parts;
  for (std::size_t i = 1; i < formulas.size(); ++i) {
    const auto differs = difference_of(formulas.front(), formulas[i]);
    if (!differs || (!parts.empty() && !formula::same(parts.front(), differs->first))) return "";
    if (parts.empty()) parts.push_back(differs->first);
    parts.push_back(differs->second);
  }
  const auto lengths = lengths_in(plan);
  const auto length_of = [&](const formula::Expr& x) {
    const auto* const length = attn::value_in(lengths, x->name);
    return length == nullptr ? std::nullopt : std::optional(*length);
  };
  std::vector<std::string> names;
  std::optional<double> first;
  for (const auto& part : parts) {
    const auto number = formula::number_in(part, length_of);
    if (!number || std::abs(*number - first.value_or(*number)) > 1e-9 * std::abs(*number)) return "";
    first = number;
    names.push_back(formula::page_text(part));
  }
  return names.empty() ? ""
                       : fmt::format("{} are {} {:g} here.", attn::listed(names, "and"),
                                     names.size() == 2 ? "both" : "all", *first);
}

/// Whether any two of the mistakes give other numbers of the step.
bool tells_apart(const lessons::Plan& plan, const std::vector<std::string>& mistakes,
                 const std::string& step) {
  std::vector<attn::Prediction> given;
  for (const auto& id : mistakes)
    for (auto& one : lessons::steps_with({id}, plan))
      if (one.id == step) given.push_back(std::move(one));
  for (std::size_t i = 0; i < given.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (!differs(given[i], given[k])) return false;
  return given.size() == mistakes.size();
}

/// Heads that share d_model, and are a number wider.
std::optional<Change> wider_heads(const Options& options) {
  if (!options.heads || !options.d_k || !options.d_model || *options.heads * *options.d_k != *options.d_model)
    return std::nullopt;
  return Change{fmt::format("d_model = {}", *options.d_model + *options.heads), [](Options& o) {
                  *o.d_model += *o.heads;
                  ++*o.d_k;
                  if (o.d_v) ++*o.d_v;
                }};
}

/// A line each: what is hidden, and what is said of it.
std::string table(const std::map<std::string, std::string>& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [id, words] : lines) rows.push_back({id, words});
  return (lines.empty() ? "" : "\n") + attn::format_columns(rows);
}

}  // namespace

std::string audit(const Lesson& lesson, const Options& options) {
  std::vector<std::string> assumptions;
  const auto plan = plan_for(lesson, options, assumptions);
  const auto own = exposed_mistakes(plan);
  auto all = own;
  auto usual = lesson.defaults;
  if (!lesson.parts.empty()) {
    usual.sentence.clear();
    usual.through = plan.options.through;
  }
  const auto of_usual = exposed_mistakes(lessons::plan_of_probe(lesson, usual));
  for (const auto& [id, is_exposed] : of_usual)
    if (is_exposed) all[id] = true;
  std::vector<std::string> hidden;
  for (const auto& [id, may_show] : all)
    if (const auto* const is_exposed = attn::value_in(own, id); is_exposed == nullptr || !*is_exposed)
      hidden.push_back(id);
  auto text = fmt::format("audit {}: the output on these dimensions hides {} of {} mistakes\n", lesson.name,
                          hidden.size(), all.size());
  for (const auto& remark : attn::in_few_lines(assumptions)) text += attn::paragraph(remark);
  auto lines = exposures(lesson, plan.options, hidden);
  for (const auto& id : hidden) {
    const auto* const is_exposed = attn::value_in(of_usual, id);
    lines.emplace(id, is_exposed != nullptr && *is_exposed
                          ? "the dimensions of attnlab probe expose it"
                          : "neither the dimensions of attnlab probe nor small changes of these expose it");
  }
  text += table(lines);
  const auto confusable = confusable_inputs(plan);
  if (!confusable.empty()) text += "\nInputs that could stand for each other unnoticed\n" + table(confusable);
  return text;
}

std::string what_tells_apart(const lessons::Plan& plan, const attn::StepVerdict& step) {
  auto mistakes = attn::different_mistakes(step.mistakes);
  const auto is_variant = [](const std::string& a, const std::string& b) {
    return attn::id_without_variant(a) == attn::id_without_variant(b);
  };
  mistakes.erase(std::unique(mistakes.begin(), mistakes.end(), is_variant), mistakes.end());
  if (mistakes.size() < 2 || step.made_together || !plan.lesson->probe) return "";
  const auto equal = what_is_equal(formulas_of(mistakes, plan), plan);
  auto changes = changes_for(*plan.lesson, plan.options);
  if (auto wider = wider_heads(plan.options)) changes.insert(changes.begin(), std::move(*wider));
  for (const auto& change : changes) try {
      auto options = plan.options;
      options.input.clear();
      options.set.clear();
      change.make(options);
      if (!tells_apart(lessons::plan_of_probe(*plan.lesson, options), mistakes, step.id)) continue;
      return fmt::format("{} With {} {} differ.", equal.empty() ? "They are the same here." : equal,
                         change.words, equal.empty() ? "their numbers" : "they");
    } catch (const attn::Error&) {  // that is not possible here
    }
  return equal;
}

}  // namespace lab
