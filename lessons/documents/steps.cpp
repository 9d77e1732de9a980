#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "document/flow.hpp"
#include "document/prose.hpp"
#include "formula/functions.hpp"
#include "formula/gradient.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"

namespace lessons {

namespace {

using Kind = document::Block::Kind;

/// The tensor that a formula changes: the first operand, and of `where` what is chosen where the condition
/// holds.
std::string changed_by(const formula::Expr& x) {
  if (x->op != formula::Op::call && x->op != formula::Op::over) return x->name;
  return changed_by(x->parts[x->name == "where" ? 1 : 0]);
}

/// While it lives, axes in a group have their own labels under the names that pages have for them.
class OwnLabels {
 public:
  OwnLabels(attn::Trace& trace, const formula::Axes& axes) : trace_(trace) {
    for (const auto& axis : axes) {
      const auto name = name_on_page(axis);
      if (name == axis || !(trace.has_labels(axis) || trace.has_labels(name))) continue;
      others_.emplace(name, trace.has_labels(name) ? trace.labels(name) : attn::AxisLabels{});
      trace.label(name, trace.has_labels(axis) ? trace.labels(axis) : attn::AxisLabels{});
    }
  }
  OwnLabels(OwnLabels&&) = delete;
  ~OwnLabels() {
    for (auto& [name, labels] : others_) trace_.label(name, std::move(labels));
  }

 private:
  attn::Trace& trace_;
  std::map<std::string, attn::AxisLabels> others_;
};

bool are_whole(const formula::View& view) {
  const auto* numbers = static_cast<const double*>(view.data);
  return !view.is_truth && std::all_of(numbers, numbers + attn::element_count(view.shape),
                                       [](double x) { return std::isfinite(x) && x == std::floor(x); });
}

/// Counts or indices as such.
std::optional<attn::AnyTensor> in_whole_numbers(const attn::AnyTensor& tensor) {
  const auto view = tensor.view();
  if (!are_whole({.shape = view.shape, .data = view.data})) return std::nullopt;
  const auto* numbers = static_cast<const double*>(view.data);
  std::vector<std::int64_t> whole(numbers, numbers + attn::element_count(view.shape));
  return attn::AnyTensor(attn::TensorView{attn::Dtype::int64, view.shape, whole.data()});
}

/// The row at that place, of a tensor that may be it already.
attn::AnyTensor row_of(const attn::AnyTensor& tensor, std::size_t axis, std::size_t place) {
  auto shape = tensor.shape();
  const auto length = std::exchange(shape.at(axis), 1);
  if (length == 1 || !attn::is_floating(tensor.dtype())) return tensor;
  const auto run = attn::element_count({shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()});
  std::vector<double> row;
  const auto* numbers = static_cast<const double*>(tensor.view().data);
  for (std::size_t from = place * run; row.size() < attn::element_count(shape); from += length * run)
    row.insert(row.end(), numbers + from, numbers + from + run);
  return attn::AnyTensor(attn::TensorView{attn::Dtype::float64, shape, row.data()});
}

void stand_in(Telling& run, const document::Block& formula, const Scope& scope) {
  auto& sheet = run.sheet();
  const auto name = scope.id_of(formula);
  const auto changed = changed_by(run.meanings.settled(formula.definition->expr, scope));
  if (sheet.find_form(name) == nullptr && sheet.find_form(changed) != nullptr) sheet.alias(name, changed);
}

attn::About about_input(Telling& run, const Section& section, const document::Block& block) {
  auto about = about_section(run, section);
  about.id = section.scope.id_of(block);
  return about;
}

/// Numbers that a function of the lesson makes.
void tell_made(Telling& run, const Section& section, const document::Block& block, const Origin& origin) {
  const auto& function = origin.function;
  const auto id = section.scope.id_of(block);
  for (const auto& tensor : function.arguments) run.sheet().form(tensor);
  const auto axes = run.meanings.with_heads_there(section.scope.axes_of(block));
  auto numbers = function.name == "normal"
                     ? owned_view(run.bench().normal(id, run.sheet().shape_of(axes)))
                     : named(run.functions.tensors, function.name, block.place)(run.document_run);
  numbers.axes = axes;
  if (numbers.shape.size() == numbers.axes.size() + 1)
    numbers.axes.insert(numbers.axes.begin(), Meanings::batch);
  if (origin.may_be_given) return tell_made_input(run, about_input(run, section, block), std::move(numbers));
  if (!run.outline.has(section, section.heading, "hidden")) {
    numbers = formula::owned_alone(std::move(numbers));
    run.sheet().set(id, numbers);
    auto about = about_input(run, section, block);
    about.axes = shown_axes(numbers.axes);
    about.from = function.arguments;
    auto* const elements = static_cast<double*>(const_cast<void*>(numbers.data));
    return run.bench().trace.step(about, numbers.shape, elements, attn::Mistakes{});
  }
  run.sheet().set(id, std::move(numbers));
  run.hidden.insert(id);
  run.made[id] = function.arguments;
}

void tell_input(Telling& run, const Section& section, const document::Block& block) {
  const auto axes = section.scope.axes_of(block);
  const OwnLabels labels(run.bench().trace, axes);
  const auto origin = origin_of(block);
  const bool is_number = axes.empty() && !origin.option.empty();
  if (is_number && run.outline.has(section, section.heading, "hidden")) return;
  if (!origin.function.name.empty()) return tell_made(run, section, block, origin);
  tell_declared(run, block, about_input(run, section, block), section.scope);
}

/// Whether a name of --define is that of the step: in full or, where no step has it in full, its end,
/// "scaled" of "step=0/layer=1/scaled".
bool means(Telling& run, const std::string& name, const std::string& step) {
  return name == step || (run.outline.steps.count(name) == 0 && step.ends_with('/' + name));
}

/// Puts what --define says in the place of a resolved formula. Returns whether it says something of it.
/// Throws attn::Error, with the column.
bool define_anew(Telling& run, formula::Definition& definition, const Scope& scope) {
  for (const auto& text : run.bench().options.define) try {
      const auto other = formula::parse_definition(text);
      if (!means(run, other.name, definition.name)) continue;
      const formula::Axes axes = other.axes.empty() ? definition.axes : other.axes;
      auto anew = run.sheet().resolved({definition.name, axes, run.meanings.settled(other.expr, scope)});
      if (anew.axes != definition.axes)
        throw formula::Error(0, fmt::format("{} has the axes [{}] then; valid: [{}]", definition.name,
                                            fmt::join(shown_axes(anew.axes), ", "),
                                            fmt::join(shown_axes(definition.axes), ", ")));
      definition = std::move(anew);
      run.defined.insert(definition.name);
      return true;
    } catch (const formula::Error& error) {
      throw attn::Error(fmt::format("--define '{}', column {}: {}", text,
                                    formula::place_of(text, error.at()).column, error.what()));
    }
  return false;
}

/// The formula of a step as the document has it.
formula::Definition definition_of(Telling& run, const document::Block& formula, const Scope& scope) {
  const auto axes = run.meanings.with_heads_there(scope.axes_of(formula));
  auto value = run.meanings.settled(formula.definition->expr, scope);
  if (run.sheet().find_form("mask") == nullptr && formula::has(formula::operands(value), "mask"))
    throw formula::Error(
        value->at, "this run hides nothing, so it has no mask; valid: {if has_mask} behind the heading");
  if (!scope.format.empty() && !formula::is_truth(value)) value = formula::call(scope.format, {value});
  return run.sheet().resolved({scope.id_of(formula), axes, value});
}

/// Throws formula::Error where operands bring an axis along that the formula's name does not have, and that
/// is none of samples or heads.
void require_named_axes(const document::Block& formula, const formula::Definition& definition,
                        const Scope& scope) {
  const auto& named = formula.definition->axes;
  for (const auto& axis : definition.axes) {
    const auto name = name_on_page(axis);
    const bool may_be_carried = axis == Meanings::batch || name == "head" || name == "kv_head";
    if (named.empty() || formula::has(scope.axes_of(formula), axis) || may_be_carried) continue;
    throw formula::Error(
        definition.expr->at,
        fmt::format("{0} has the axis {1} besides [{2}]; valid: {0}[{1}, {2}], or a sum over {1}",
                    definition.name, axis, fmt::join(named, ", ")));
  }
}

/// Every step is one of each sample where there are samples, unless its heading says otherwise.
void carry_batch(Telling& run, const Section& section, formula::Definition& definition) {
  if (run.outline.has(section, section.heading, "for all samples")) return;
  if (run.sheet().has_axis(Meanings::batch) && !formula::has(definition.axes, Meanings::batch))
    definition.axes.insert(definition.axes.begin(), Meanings::batch);
}

/// The step that a formula is in this run. The lengths of the sentences are told ahead of the first one that
/// takes them, where the document has not declared them.
Step step_of(Telling& run, const Section& section, const document::Block& formula) {
  Step step{&section, &formula, definition_of(run, formula, section.scope)};
  require_named_axes(formula, step.definition, section.scope);
  if (formula::has(formula::operands(step.definition.expr), "lengths") && !run.has_told_lengths)
    tell_lengths(run, {.id = "lengths", .title = "How many tokens of each sentence are real"});
  step.in_document = step.definition.expr;
  step.is_defined_anew = define_anew(run, step.definition, section.scope);
  carry_batch(run, section, step.definition);
  return step;
}

/// Adds those that the gradient of a step of a recurrence takes.
void add_unknown_gradients(Telling& run, std::set<std::string>& names, const std::string& of,
                           const std::string& prefix) {
  const auto& sheet = run.sheet();
  const auto own = prefix + of;
  for (const auto& step :
       formula::steps_around(sheet, sheet.stands_for(sheet.find_form(own) != nullptr ? own : of))) {
    const auto gradient = formula::gradient_name(step);
    if (sheet.find_form(gradient) == nullptr && run.outline.steps.count(gradient) > 0) names.insert(gradient);
  }
}

/// Adds the steps of the document that a settled formula takes and that the run does not have yet.
void add_unknown_steps(Telling& run, std::set<std::string>& names, const formula::Expr& x,
                       const std::string& prefix) {
  if (x->op == formula::Op::call && x->name == "gradient")
    return add_unknown_gradients(run, names, x->parts[0]->name, prefix);
  for (const auto& part : x->parts) add_unknown_steps(run, names, part, prefix);
  if (x->op != formula::Op::name && x->op != formula::Op::entry) return;
  const auto& sheet = run.sheet();
  const auto names_here = {prefix + x->name, x->name};
  const auto is_known = [&](const auto& name) {
    return sheet.find_form(name) != nullptr || sheet.has_axis(name) || run.meanings.is_set(name);
  };
  const auto is_step = [&](const auto& name) { return run.outline.steps.count(name) > 0; };
  if (std::any_of(names_here.begin(), names_here.end(), is_known)) return;
  const auto* const found = std::find_if(names_here.begin(), names_here.end(), is_step);
  if (found != names_here.end()) names.insert(*found);
}

/// This formula and those of the sections to come that have to be computed together, because each takes one
/// that stands behind it, or itself; none where it takes none.
std::vector<Step> together_with(Telling& run, const Section& section, const document::Block& formula,
                                std::span<const Section> to_come) {
  std::set<std::string> needed, found;
  const auto need = [&](const document::Block& block, const Scope& scope) {
    add_unknown_steps(run, needed, run.meanings.settled(block.definition->expr, scope), scope.prefix);
  };
  need(formula, section.scope);
  std::vector<Step> steps;
  const auto add = [&](const Section& from) {
    for (const auto* block : from.of(Kind::formula)) {
      if (block->is_input || (steps.empty() && block != &formula)) continue;
      found.insert(from.scope.id_of(*block));
      steps.push_back({&from, block});
      if (!from.is_left_out) need(*block, from.scope);
    }
  };
  const auto are_found = [&] {
    return std::includes(found.begin(), found.end(), needed.begin(), needed.end());
  };
  if (needed.empty()) return {};
  add(section);
  for (const auto& next : to_come) {
    if (are_found()) break;
    add(next);
  }
  return are_found() ? steps : std::vector<Step>();
}

/// The mistakes in the row of a step that `row` has come to.
attn::Mistakes in_row(const attn::Mistakes& mistakes, const RowPlace& row, const formula::Definition& step) {
  attn::Mistakes all;
  const auto axis = formula::place_in(step.axes, row.axis);
  for (const auto& mistake : mistakes)
    all.emplace_back(mistake.id(), false,
                     [&mistake, &row, axis](const attn::AnyTensor*) -> std::optional<attn::AnyTensor> {
                       auto made = mistake.result(nullptr);
                       return made ? std::optional(row_of(*made, axis, row.place)) : std::nullopt;
                     });
  return all;
}

/// Computes steps that take one another, place by place.
void compute(Telling& run, std::vector<Step> steps) {
  auto& sheet = run.sheet();
  std::map<std::string, formula::Axes> axes_of;
  std::erase_if(steps, [&](const Step& step) {
    const auto& scope = step.section->scope;
    if (step.section->is_left_out) stand_in(run, *step.formula, scope);
    if (step.section->is_left_out) return true;
    formula::Definition named{scope.id_of(*step.formula), scope.axes_of(*step.formula), 0.0};
    carry_batch(run, *step.section, named);
    sheet.set(named.name, foreseen(run, named.axes));
    axes_of[named.name] = named.axes;
    return false;
  });
  std::vector<formula::Definition> definitions;
  for (auto& step : steps)
    at_place(step.formula->code, [&] {
      step = step_of(run, *step.section, *step.formula);
      auto [name, axes, expr] = step.definition;
      std::erase(axes, Meanings::batch);
      if (step.definition.axes != axes_of.at(name))
        throw formula::Error(0,
                             fmt::format("{0} has other axes than it names; valid: {0}[{1}], for a step that "
                                         "takes itself at another place names all of them",
                                         name, fmt::join(axes, ", ")));
      definitions.push_back(step.definition);
    });
  const auto recurrence = sheet.together(std::move(definitions));
  auto& trace = run.bench().trace;
  const auto rows = std::make_shared<attn::Recurrence>(trace, name_on_page(recurrence.axis),
                                                       sheet.size_of(recurrence.axis));
  const auto row = std::make_shared<RowPlace>(RowPlace{recurrence.axis});
  std::map<std::string, std::pair<attn::About, attn::Mistakes>> shown;
  for (auto& step : steps) {
    const auto& id = step.definition.name;
    run.computed.emplace(id, std::pair(step, rows));
    if (run.outline.has(*step.section, step.section->heading, "hidden"))
      run.hidden.insert(id);
    else
      shown[id] = {about_rows(run, step),
                   trace.wants_mistakes_of(id) ? mistakes_of_step(run, step, row) : attn::Mistakes{}};
  }
  sheet.compute(
      recurrence, [&](const formula::Definition& step, std::size_t place, formula::Numbers& numbers) {
        const auto found = shown.find(step.name);
        if (found == shown.end()) return;
        row->place = place;
        const attn::Shape shape(numbers.shape().begin(), numbers.shape().end());
        rows->row(place, [&] {
          trace.step(found->second.first, shape, numbers.data(), in_row(found->second.second, *row, step));
        });
      });
}

/// Counts or indices, which the run has as doubles.
void tell_whole_numbers(Telling& run, const attn::About& about, const attn::Shape& shape, double* elements,
                        attn::Mistakes mistakes) {
  for (auto& mistake : mistakes)
    mistake = attn::Mistake(mistake.id(), mistake.is_fitted(),
                            [mistake](const attn::AnyTensor* theirs) -> std::optional<attn::AnyTensor> {
                              const auto result = mistake.result(theirs);
                              return result ? in_whole_numbers(*result) : std::nullopt;
                            });
  std::vector<std::int64_t> whole(elements, elements + attn::element_count(shape));
  run.bench().trace.step(about, shape, whole.data(), mistakes);
  std::copy(whole.begin(), whole.end(), elements);
}

/// Shows a step that was computed together with others.
void tell_computed(Telling& run, const Step& step, attn::Recurrence& rows) {
  if (run.hidden.count(step.definition.name) > 0) return;
  const OwnLabels labels(run.bench().trace, step.definition.axes);
  rows.describe(about_step(run, step));
  rows.show(step.definition.name);
}

void tell_step(Telling& run, const Section& section, const document::Block& formula) {
  const auto id = section.scope.id_of(formula);
  auto& sheet = run.sheet();
  auto& trace = run.bench().trace;
  if (const auto computed = run.computed.find(id); computed != run.computed.end())
    return tell_computed(run, computed->second.first, *computed->second.second);
  if (sheet.tensors().count(id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", id));
  const auto step = step_of(run, section, formula);
  const auto mistakes = [&] {
    return trace.wants_mistakes_of(id) ? mistakes_of_step(run, step) : attn::Mistakes{};
  };
  auto value = sheet.value(step.definition);
  const bool is_whole = run.outline.has(section, section.heading, "whole numbers") && are_whole(value);
  value.is_whole = is_whole;
  if (run.outline.has(section, section.heading, "hidden")) {
    run.hidden.insert(id);
    sheet.keep(step.definition, std::move(value), false);
    run.mistakes_of_hidden.emplace(id, mistakes());
    return;
  }
  if (run.outline.has(section, section.heading, "no code")) run.without_code.insert(id);
  value = formula::owned_alone(std::move(value));
  value.is_whole = is_whole;
  const auto shape = value.shape;
  auto* const elements = const_cast<void*>(value.data);
  const bool is_truth = value.is_truth;
  sheet.keep(step.definition, std::move(value));

  const OwnLabels labels(trace, step.definition.axes);
  const auto about = about_step(run, step);
  if (is_whole)
    tell_whole_numbers(run, about, shape, static_cast<double*>(elements), mistakes());
  else if (is_truth)
    trace.step(about, shape, static_cast<bool*>(elements), mistakes());
  else
    trace.step(about, shape, static_cast<double*>(elements), mistakes());
}

void foresee_inputs_in(Telling& run, const formula::Expr& x) {
  const auto& sheet = run.sheet();
  const bool is_unknown = (x->op == formula::Op::name || x->op == formula::Op::entry) &&
                          sheet.find_form(x->name) == nullptr && !sheet.has_axis(x->name);
  if (is_unknown) foresee_input(run, {x->name, {}, 0.0});
  for (const auto& part : x->parts) foresee_inputs_in(run, part);
}

void foresee(Telling& run, const Section& section, const document::Block& block) {
  const auto& scope = section.scope;
  if (block.is_input) return foresee_input(run, *block.definition);
  foresee_inputs_in(run, run.meanings.settled(block.definition->expr, scope));
  auto definition = definition_of(run, block, scope);
  define_anew(run, definition, scope);
  carry_batch(run, section, definition);
  auto view = foreseen(run, definition.axes);
  view.is_truth = formula::is_truth(definition.expr);
  run.sheet().keep(std::move(definition), std::move(view));
}

/// The tensors of the run with those of the sections to come, of which nothing is computed: axes and lengths
/// alone.
formula::Sheet sheet_foreseen(Telling& run, std::span<const Section> to_come) {
  auto sheet = run.sheet();
  for (const auto& section : to_come)
    for (const auto* formula : section.of(Kind::formula)) try {
        section.is_left_out ? stand_in(run, *formula, section.scope) : foresee(run, section, *formula);
      } catch (const attn::Error&) {  // which is told where the step is
      }
  std::swap(sheet, run.sheet());
  return sheet;
}

/// The name of a step of a repetition without the places of the counters: "cache/K" of
/// "step=0/layer=1/cache/K".
std::string without_counters(std::string_view name) {
  for (auto end = name.find('/'); end != name.npos && name.substr(0, end).find('=') != name.npos;
       end = name.find('/'))
    name.remove_prefix(end + 1);
  return std::string(name);
}

}  // namespace

void tell_steps(Telling& run, const Section& section, std::span<const Section> to_come) {
  for (const auto* formula : section.of(Kind::formula))
    if (section.is_left_out)
      stand_in(run, *formula, section.scope);
    else
      at_place(formula->code, [&] {
        if (formula->is_input) return tell_input(run, section, *formula);
        if (run.computed.count(section.scope.id_of(*formula)) == 0)
          if (auto steps = together_with(run, section, *formula, to_come); !steps.empty())
            compute(run, std::move(steps));
        tell_step(run, section, *formula);
      });
}

void tell_definitions(Telling& run) {
  const auto& bench = run.bench();
  const auto& anew = bench.options.define;
  if (anew.empty() || bench.is_mute()) return;
  bench.trace.note(
      "defined", "Not as the lesson has it",
      fmt::format("--define puts this formula in the place of the lesson's, and what follows, follows: {}.",
                  fmt::join(anew, "; ")));
}

void require_all_defined(Telling& run) {
  for (const auto& text : run.bench().options.define) {
    const auto name = formula::parse_definition(text).name;
    const auto is_meant = [&](const auto& step) { return means(run, name, step); };
    if (std::any_of(run.defined.begin(), run.defined.end(), is_meant)) continue;
    std::vector<std::string> steps;
    for (const auto& step : run.sheet().definitions())
      if (const auto short_name = without_counters(step.name);
          run.hidden.count(step.name) == 0 && !formula::has(steps, short_name))
        steps.push_back(short_name);
    throw attn::Error(fmt::format("--define '{}': {} is no step of this run; valid: {}", text, name,
                                  fmt::join(steps, ", ")));
  }
}

void drop_unneeded(Telling& run, const std::vector<Section>& sections, std::size_t told) {
  constexpr std::size_t much = std::size_t{1} << 21;  // bytes
  auto& sheet = run.sheet();
  const auto& trace = run.bench().trace;
  if (trace.is_watched()) return;  // who watches may put other numbers in the place of a step's
  std::vector<std::string> large;
  for (const auto& [name, view] : sheet.tensors()) {
    const auto bytes = attn::element_count(view.shape) * (view.is_truth ? sizeof(bool) : sizeof(double));
    const bool is_exact = trace.dtype() == attn::Dtype::float64 || run.hidden.count(name) > 0;
    if (bytes >= much && is_exact && sheet.can_drop(name)) large.push_back(name);
  }
  if (large.empty()) return;
  if (run.last_mentions.empty()) run.last_mentions = last_mentions(sections);
  std::set<std::string> needed;
  for (const auto& [name, section] : run.last_mentions)
    if (section > told) needed.insert({name, sheet.stands_for(name)});
  for (const auto& name : large)
    if (needed.count(name) == 0) sheet.drop(name);
}

void tell_flow(Telling& run, const document::Block& block, std::span<const Section> to_come) {
  if (run.bench().is_mute()) return;
  document::Flow flow = {.words = run.outline.drawn_as, .hidden = run.hidden};
  for (const auto& section : to_come)
    if (run.outline.has(section, section.heading, "hidden"))
      for (const auto* formula : section.of(Kind::formula)) flow.hidden.insert(section.scope.id_of(*formula));
  const auto sheet = sheet_foreseen(run, to_come);
  for (const auto& name : run.defined) flow.words.erase(name);
  const std::string from = "from ";
  bool is_source = false;
  for (const auto& argument : block.call.arguments) {
    is_source = is_source || argument.starts_with(from);
    const auto name = run.meanings.step_named(
        run.meanings.with_values(argument.starts_with(from) ? argument.substr(from.size()) : argument, {}));
    const bool is_step = run.outline.steps.count(name) > 0;
    if (sheet.find_form(name) == nullptr && is_step) return;  // its own place tells what is wrong
    sheet.form(name);
    (is_source ? flow.sources : flow.results).push_back(name);
  }
  for (const auto& name : run.results)
    if (block.call.arguments.empty() && sheet.definition_of(name) != nullptr) flow.results.push_back(name);
  if (sheet.definitions().empty()) return;
  if (flow.results.empty()) flow.results = {sheet.definitions().back().name};
  run.bench().trace.note(
      "flow", "The flow" + run.bench().plan.for_each_sample(), "",
      fmt::format("{}",
                  fmt::join(document::drawn(document::layout_of(document::graph_of(sheet, flow))), "\n")));
}

}  // namespace lessons
