#include "lessons/documents/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "document/flow.hpp"
#include "formula/edits.hpp"
#include "formula/functions.hpp"
#include "formula/text.hpp"
#include "lessons/documents/at_place.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/page_formula.hpp"
#include "lessons/documents/step_mistakes.hpp"

namespace lessons {

namespace {

using Kind = document::Block::Kind;

/// The tensor that a formula changes: the first operand, and of `where` what is chosen where the condition
/// holds.
std::string changed_by(const formula::Expr& x) {
  if (x->op != formula::Op::call && x->op != formula::Op::over) return x->name;
  return changed_by(x->parts[x->name == "where" ? 1 : 0]);
}

/// The axes without that of samples.
formula::Axes axes_of_sample(formula::Axes axes) {
  std::erase(axes, Meanings::batch);
  return axes;
}

formula::Axes shown_axes(const formula::Definition& definition) {
  auto shown = axes_of_sample(definition.axes);
  std::transform(shown.begin(), shown.end(), shown.begin(), name_on_page);
  return shown;
}

/// While it lives, axes in a group have their own labels under the names that pages have for them.
class OwnLabels {
 public:
  OwnLabels(attn::Trace& trace, const formula::Axes& axes) : trace_(trace) {
    for (const auto& axis : axes) {
      const auto name = name_on_page(axis);
      if (name == axis || !trace.has_labels(axis)) continue;
      others_.emplace(name, trace.has_labels(name) ? trace.labels(name) : attn::AxisLabels{});
      trace.label(name, trace.labels(axis));
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

attn::AnyTensor tensor_of(const formula::View& view) {
  return attn::AnyTensor(
      attn::TensorView{view.is_truth ? attn::Dtype::boolean : attn::Dtype::float64, view.shape, view.data});
}

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

/// Whether a formula takes the tensor at its own place alone, and never as an index.
bool is_plain(const formula::Expr& x, const formula::Definition& tensor, bool is_index = false) {
  const bool is_its_entry = x->op == formula::Op::entry && x->name == tensor.name;
  if (is_its_entry && is_index) return false;
  for (std::size_t i = 0; is_its_entry && !formula::operands(tensor.expr).empty() && i < tensor.axes.size();
       ++i)
    if (!formula::same(x->parts[i], formula::position(tensor.axes[i]))) return false;
  return std::all_of(x->parts.begin(), x->parts.end(), [&](const formula::Expr& part) {
    return is_plain(part, tensor, is_index || x->op == formula::Op::entry);
  });
}

}  // namespace

void Steps::tell(const Section& section) {
  for (const auto* formula : section.of(Kind::formula))
    if (section.is_left_out)
      stand_in(*formula, section.scope);
    else
      at_formula(*formula,
                 [&] { formula->is_input ? tell_input(section, *formula) : tell_step(section, *formula); });
}

void Steps::stand_in(const document::Block& formula, const Scope& scope) {
  auto& sheet = meanings_.sheet();
  const auto name = scope.id_of(formula);
  const auto changed = changed_by(meanings_.settled(formula.definition->expr, scope));
  if (sheet.find(name) == nullptr && sheet.find(changed) != nullptr) sheet.alias(name, changed);
}

void Steps::tell_made(const Section& section, const document::Block& block, const document::Call& function) {
  const auto id = section.scope.id_of(block);
  const bool is_input = may_be_given(block);
  if (!is_input && !outline_.has(section, section.heading, "hidden"))
    throw document::Error(
        block.place, fmt::format("the numbers of {0} have no formula to show; valid: {{hidden}} behind the "
                                 "heading, or {0}: input {1}()",
                                 id, function.name));
  for (const auto& tensor : function.arguments) meanings_.sheet().tensor(tensor);
  auto numbers = named(functions_.tensors, function.name, block.place)(run_);
  numbers.axes = block.definition->axes;
  if (is_input) return inputs_.tell_made(about_input(section, block), std::move(numbers));
  meanings_.sheet().set(id, std::move(numbers));
  hidden_.insert(id);
  made_[id] = function.arguments;
}

void Steps::tell_input(const Section& section, const document::Block& block) {
  auto axes = block.definition->axes;
  for (auto& axis : axes) axis = section.scope.name_of(axis);
  const OwnLabels labels(meanings_.bench().trace, axes);
  if (const auto function = function_of(block); !function.name.empty())
    return tell_made(section, block, function);
  inputs_.tell(block, about_input(section, block), section.scope);
}

attn::About Steps::about_input(const Section& section, const document::Block& block) const {
  return {.id = section.scope.id_of(block),
          .title = wording_.text_of(outline_.title_of(section), section.scope),
          .formula = section.heading->marks.written,
          .note = wording_.paragraphs(section)};
}

formula::Definition Steps::definition_of(const document::Block& formula, const Scope& scope) {
  auto axes = formula.definition->axes;
  for (auto& axis : axes) axis = scope.name_of(axis);
  auto value = meanings_.settled(formula.definition->expr, scope);
  const auto operands = formula::operands(value);
  const bool has_mask = meanings_.sheet().find("mask") != nullptr;
  if (!has_mask && std::find(operands.begin(), operands.end(), "mask") != operands.end())
    throw formula::Error(
        value->at, "this run hides nothing, so it has no mask; valid: {if has_mask} behind the heading");
  if (!scope.format.empty() && !formula::is_truth(value)) value = formula::call(scope.format, {value});
  return meanings_.sheet().resolved({scope.id_of(formula), axes, value});
}

void Steps::require_named_axes(const document::Block& formula, const formula::Definition& definition,
                               const Scope& scope) const {
  const auto& named = formula.definition->axes;
  for (const auto& axis : definition.axes) {
    const bool is_named =
        std::any_of(named.begin(), named.end(), [&](const auto& one) { return scope.name_of(one) == axis; });
    const auto name = name_on_page(axis);
    const bool may_be_carried = axis == Meanings::batch || name == "head" || name == "kv_head";
    if (named.empty() || is_named || may_be_carried) continue;
    throw formula::Error(
        definition.expr->at,
        fmt::format("{0} has the axis {1} besides [{2}]; valid: {0}[{1}, {2}], or a sum over {1}",
                    definition.name, axis, fmt::join(named, ", ")));
  }
}

void Steps::tell_lengths_for(const formula::Definition& definition) {
  const auto operands = formula::operands(definition.expr);
  const bool has_lengths = std::find(operands.begin(), operands.end(), "lengths") != operands.end();
  if (has_lengths && !inputs_.has_told_lengths())
    inputs_.tell_lengths({.id = "lengths", .title = "How many tokens of each sentence are real"});
}

void Steps::carry_batch(const Section& section, formula::Definition& definition) const {
  if (outline_.has(section, section.heading, "for all samples")) return;
  if (meanings_.sheet().has_axis(Meanings::batch) && !formula::has(definition.axes, Meanings::batch))
    definition.axes.insert(definition.axes.begin(), Meanings::batch);
}

void Steps::tell_step(const Section& section, const document::Block& formula) {
  const auto& scope = section.scope;
  const auto id = scope.id_of(formula);
  auto& sheet = meanings_.sheet();
  if (sheet.tensors().count(id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", id));
  auto definition = definition_of(formula, scope);
  require_named_axes(formula, definition, scope);
  tell_lengths_for(definition);
  const auto in_document = definition.expr;
  const bool is_defined_anew = define_anew(definition, scope);
  carry_batch(section, definition);
  const auto& name = formula.definition->name;
  auto value = sheet.value(definition);
  const bool is_whole = outline_.has(section, section.heading, "whole numbers") && are_whole(value);
  value.is_whole = is_whole;
  if (outline_.has(section, section.heading, "hidden")) {
    hidden_.insert(id);
    sheet.keep(definition, std::move(value));
    if (meanings_.bench().trace.is_watched())
      mistakes_of_hidden_.emplace(id, mistakes_of(name, definition, scope));
    return;
  }
  value = formula::owned_alone(std::move(value));
  value.is_whole = is_whole;
  const auto shape = value.shape;
  auto* const elements = const_cast<void*>(value.data);
  const bool is_truth = value.is_truth;
  sheet.keep(definition, std::move(value));

  const auto& bench = meanings_.bench();
  attn::About about = {
      .id = id, .axes = shown_axes(definition), .explain = [this, definition](const attn::AnyTensor& theirs) {
        return formula_behind(definition, meanings_.sheet(), theirs);
      }};
  const OwnLabels labels(bench.trace, definition.axes);
  if (!bench.is_mute()) add_words(about, section, definition);
  if (is_defined_anew)
    about.note =
        fmt::format("--define put this formula in the place of {}.", formula::page_text(in_document));
  auto of_step = bench.trace.is_watched() ? mistakes_of(name, definition, scope) : attn::Mistakes{};
  if (is_whole)
    tell_whole_numbers(about, shape, static_cast<double*>(elements), std::move(of_step));
  else if (is_truth)
    bench.trace.step(about, shape, static_cast<bool*>(elements), of_step);
  else
    bench.trace.step(about, shape, static_cast<double*>(elements), of_step);
}

void Steps::add_words(attn::About& about, const Section& section,
                      const formula::Definition& definition) const {
  about.title = wording_.text_of(outline_.title_of(section), section.scope);
  const auto written = outline_.written_in(section);
  if (written.empty() || defined_.count(definition.name) > 0)
    add_formula(about, without_hidden(definition), meanings_.sheet());
  else
    about.formula = written;
  about.curve = outline_.has(section, section.heading, "curve");
  about.from = shown_operands(definition.expr);
  about.note = wording_.paragraphs(section);
  about.distribution = section.heading->marks.words.count("shares") > 0 || is_shares(definition);
  if (!starts_from_shown(definition.expr)) return;
  about.worked = [this, definition](const attn::Index& at) { return worked(definition, at); };
  const auto [follow, scope] = outline_.follow_of(section);
  if (!follow.empty() || !outline_.has(section, section.heading, "with --all"))
    about.worked_at = meanings_.followed(follow, axes_of_sample(definition.axes), scope);
}

void Steps::tell_whole_numbers(const attn::About& about, const attn::Shape& shape, double* elements,
                               attn::Mistakes mistakes) {
  for (auto& mistake : mistakes)
    mistake = attn::Mistake(mistake.id(), mistake.is_fitted(),
                            [mistake](const attn::AnyTensor* theirs) -> std::optional<attn::AnyTensor> {
                              const auto result = mistake.result(theirs);
                              return result ? in_whole_numbers(*result) : std::nullopt;
                            });
  std::vector<std::int64_t> whole(elements, elements + attn::element_count(shape));
  meanings_.bench().trace.step(about, shape, whole.data(), mistakes);
  std::copy(whole.begin(), whole.end(), elements);
}

formula::Definition Steps::without_hidden(formula::Definition definition) const {
  const auto& sheet = meanings_.sheet();
  for (const auto& name : formula::operands(definition.expr)) {
    if (hidden_.count(name) == 0 || made_.count(name) > 0) continue;
    if (is_plain(definition.expr, *sheet.definition_of(name)))
      return without_hidden(formula::with_written_out(sheet, definition, name));
  }
  return definition;
}

attn::Worked Steps::worked(const formula::Definition& definition, const attn::Index& at) const {
  return meanings_.sheet().worked(definition, at, [this](const std::string& name) {
    return hidden_.count(name) == 0 && meanings_.bench().trace.speaks_of(name);
  });
}

bool Steps::starts_from_shown(const formula::Expr& x) const {
  const auto operands = formula::operands(x);
  return std::all_of(operands.begin(), operands.end(), [this](const std::string& name) {
    return made_.count(name) == 0 &&
           (hidden_.count(name) == 0 || starts_from_shown(meanings_.sheet().definition_of(name)->expr));
  });
}

std::vector<std::string> Steps::shown_operands(const formula::Expr& x) const {
  std::vector<std::string> shown;
  for (const auto& name : formula::operands(x)) {
    const auto made = made_.find(name);
    const auto names = made != made_.end()       ? made->second
                       : hidden_.count(name) > 0 ? shown_operands(meanings_.sheet().definition_of(name)->expr)
                                                 : std::vector{name};
    for (const auto& one : names)
      if ((one != "lengths" || meanings_.bench().plan.key_tokens().is_padded()) &&
          std::find(shown.begin(), shown.end(), one) == shown.end())
        shown.push_back(one);
  }
  return shown;
}

attn::Mistakes Steps::mistakes_of(const std::string& step, const formula::Definition& definition,
                                  const Scope& scope) {
  const std::shared_ptr<const formula::Sheet> sheet(std::shared_ptr<void>(), &meanings_.sheet());
  const auto settled = [&](const formula::Expr& x) { return meanings_.settled(x, scope); };
  auto all = mistakes_of_step(meanings_.bench(), {step, definition, sheet, settled});
  for (auto& mistake : carried_into(definition))
    if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return one.id() == mistake.id(); }))
      all.push_back(std::move(mistake));
  const auto in_code = functions_.mistakes.find(scope.name_of(step));
  if (in_code != functions_.mistakes.end())
    for (auto& mistake : in_code->second(run_, definition.name)) all.push_back(std::move(mistake));
  return all;
}

attn::Mistakes Steps::carried_into(const formula::Definition& definition) const {
  attn::Mistakes carried;
  for (const auto& name : formula::operands(definition.expr)) {
    const auto found = mistakes_of_hidden_.find(name);
    if (found == mistakes_of_hidden_.end()) continue;
    for (const auto& mistake : found->second)
      if (!mistake.is_fitted())
        carried.emplace_back(mistake.id(), false, [this, definition, name, mistake](const attn::AnyTensor*) {
          const auto operand = mistake.result(nullptr);
          return operand ? with_operand(definition, name, *operand) : std::nullopt;
        });
  }
  return carried;
}

std::optional<attn::AnyTensor> Steps::with_operand(const formula::Definition& definition,
                                                   const std::string& name,
                                                   const attn::AnyTensor& operand) const {
  auto sheet = meanings_.sheet();
  const auto own = sheet.tensor(name);
  if (operand.shape() != own.shape) return std::nullopt;
  const auto right = tensor_of(sheet.value(definition));
  sheet.set(name, formula::view_of(own.axes, operand.view()));
  std::set<std::string> changed = {name};
  for (const auto& step : sheet.definitions()) {
    const auto operands = formula::operands(step.expr);
    const bool follows = hidden_.count(step.name) > 0 && changed.count(step.name) == 0 &&
                         std::any_of(operands.begin(), operands.end(),
                                     [&](const auto& one) { return changed.count(one) > 0; });
    if (!follows) continue;
    sheet.set(step.name, sheet.value(step));
    changed.insert(step.name);
  }
  auto result = tensor_of(sheet.value(definition));
  return is_as_good(result, right) ? std::nullopt : std::optional(std::move(result));
}

bool Steps::define_anew(formula::Definition& definition, const Scope& scope) {
  for (const auto& text : meanings_.bench().options.define) try {
      const auto other = formula::parse_definition(text);
      if (other.name != definition.name) continue;
      const formula::Axes axes = other.axes.empty() ? definition.axes : other.axes;
      auto anew = meanings_.sheet().resolved({definition.name, axes, meanings_.settled(other.expr, scope)});
      if (anew.axes != definition.axes)
        throw formula::Error(0, fmt::format("{} has the axes [{}] then; valid: [{}]", other.name,
                                            fmt::join(anew.axes, ", "), fmt::join(definition.axes, ", ")));
      definition = std::move(anew);
      defined_.insert(other.name);
      return true;
    } catch (const formula::Error& error) {
      throw attn::Error(fmt::format("--define '{}', column {}: {}", text,
                                    formula::place_of(text, error.at()).column, error.what()));
    }
  return false;
}

void Steps::tell_definitions() const {
  const auto& bench = meanings_.bench();
  const auto& anew = bench.options.define;
  if (anew.empty() || bench.is_mute()) return;
  bench.trace.note(
      "defined", "Not as the lesson has it",
      fmt::format("--define puts this formula in the place of the lesson's, and what follows, follows: {}.",
                  fmt::join(anew, "; ")));
}

void Steps::require_all_defined() const {
  for (const auto& text : meanings_.bench().options.define) {
    const auto name = formula::parse_definition(text).name;
    if (defined_.count(name) > 0) continue;
    std::vector<std::string> steps;
    for (const auto& step : meanings_.sheet().definitions()) steps.push_back(step.name);
    throw attn::Error(fmt::format("--define '{}': {} is no step of this run; valid: {}", text, name,
                                  fmt::join(steps, ", ")));
  }
}

void Steps::tell_flow(const document::Block& block, std::span<const Section> to_come,
                      const std::vector<std::string>& results) {
  if (meanings_.bench().is_mute()) return;
  document::Flow flow = {.words = outline_.drawn_as(), .hidden = hidden_};
  for (const auto& section : to_come)
    if (outline_.has(section, section.heading, "hidden"))
      for (const auto* formula : section.of(Kind::formula)) flow.hidden.insert(section.scope.id_of(*formula));
  const auto sheet = foreseen(to_come);
  for (const auto& name : defined_) flow.words.erase(name);
  const std::string from = "from ";
  bool is_source = false;
  for (const auto& argument : block.call.arguments) {
    is_source = is_source || argument.starts_with(from);
    const auto name =
        meanings_.step_named(argument.starts_with(from) ? argument.substr(from.size()) : argument);
    const bool is_step = outline_.steps().count(name) > 0;
    if (sheet.find(name) == nullptr && is_step) return;  // its own place tells what is wrong
    sheet.tensor(name);
    (is_source ? flow.sources : flow.results).push_back(name);
  }
  for (const auto& name : results)
    if (block.call.arguments.empty() && sheet.definition_of(name) != nullptr) flow.results.push_back(name);
  if (sheet.definitions().empty()) return;
  if (flow.results.empty()) flow.results = {sheet.definitions().back().name};
  meanings_.bench().flow(document::drawn(document::layout_of(document::graph_of(sheet, flow))));
}

formula::Sheet Steps::foreseen(std::span<const Section> to_come) {
  auto sheet = meanings_.sheet();
  for (const auto& section : to_come)
    for (const auto* formula : section.of(Kind::formula)) try {
        section.is_left_out ? stand_in(*formula, section.scope) : foresee(section, *formula);
      } catch (const attn::Error&) {  // which is told where the step is
      }
  std::swap(sheet, meanings_.sheet());
  return sheet;
}

void Steps::foresee(const Section& section, const document::Block& block) {
  const auto& scope = section.scope;
  if (block.is_input) return inputs_.foresee(*block.definition);
  foresee_inputs_in(meanings_.settled(block.definition->expr, scope));
  auto definition = definition_of(block, scope);
  define_anew(definition, scope);
  carry_batch(section, definition);
  auto view = inputs_.foreseen(definition.axes);
  view.is_truth = formula::is_truth(definition.expr);
  meanings_.sheet().keep(std::move(definition), std::move(view));
}

void Steps::foresee_inputs_in(const formula::Expr& x) {
  const auto& sheet = meanings_.sheet();
  const bool is_unknown = (x->op == formula::Op::name || x->op == formula::Op::entry) &&
                          sheet.find(x->name) == nullptr && !sheet.has_axis(x->name);
  if (is_unknown) inputs_.foresee({x->name, {}, 0.0});
  for (const auto& part : x->parts) foresee_inputs_in(part);
}

}  // namespace lessons
