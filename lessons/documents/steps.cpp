#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "document/flow.hpp"
#include "document/prose.hpp"
#include "formula/edits.hpp"
#include "formula/functions.hpp"
#include "formula/gradient.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/document_run.hpp"
#include "lessons/documents/documents.hpp"
#include "trace/diagnosis/catalogue.hpp"

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

formula::Axes shown_axes(const formula::Axes& axes) {
  auto shown = axes_of_sample(axes);
  std::transform(shown.begin(), shown.end(), shown.begin(), name_on_page);
  return shown;
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
  if (is_its_entry && !formula::operands(tensor.expr).empty())
    for (std::size_t i = 0; i < tensor.axes.size(); ++i)
      if (!formula::same(x->parts[i], formula::position(tensor.axes[i]))) return false;
  return std::all_of(x->parts.begin(), x->parts.end(), [&](const formula::Expr& part) {
    return is_plain(part, tensor, is_index || x->op == formula::Op::entry);
  });
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

}  // namespace

void Steps::tell(const Section& section, std::span<const Section> to_come) {
  for (const auto* formula : section.of(Kind::formula))
    if (section.is_left_out)
      stand_in(*formula, section.scope);
    else
      at_formula(*formula, [&] {
        if (formula->is_input) return tell_input(section, *formula);
        if (computed_.count(section.scope.id_of(*formula)) == 0)
          if (auto members = together_with(section, *formula, to_come); !members.empty())
            compute(std::move(members));
        tell_step(section, *formula);
      });
}

void Steps::add_unknown_steps(std::set<std::string>& names, const formula::Expr& x,
                              const std::string& prefix) const {
  if (x->op == formula::Op::call && x->name == "gradient")
    return add_unknown_gradients(names, x->parts[0]->name, prefix);
  for (const auto& part : x->parts) add_unknown_steps(names, part, prefix);
  if (x->op != formula::Op::name && x->op != formula::Op::entry) return;
  const auto& sheet = meanings_.sheet();
  const auto names_here = {prefix + x->name, x->name};
  const auto is_known = [&](const auto& name) {
    return sheet.find_form(name) != nullptr || sheet.has_axis(name) || meanings_.is_set(name);
  };
  const auto is_step = [this](const auto& name) { return outline_.steps().count(name) > 0; };
  if (std::any_of(names_here.begin(), names_here.end(), is_known)) return;
  const auto* const found = std::find_if(names_here.begin(), names_here.end(), is_step);
  if (found != names_here.end()) names.insert(*found);
}

void Steps::add_unknown_gradients(std::set<std::string>& names, const std::string& of,
                                  const std::string& prefix) const {
  const auto& sheet = meanings_.sheet();
  const auto own = prefix + of;
  for (const auto& step :
       formula::steps_around(sheet, sheet.stands_for(sheet.find_form(own) != nullptr ? own : of))) {
    const auto gradient = formula::gradient_name(step);
    if (sheet.find_form(gradient) == nullptr && outline_.steps().count(gradient) > 0) names.insert(gradient);
  }
}

std::vector<Steps::Member> Steps::together_with(const Section& section, const document::Block& formula,
                                                std::span<const Section> to_come) const {
  std::set<std::string> needed, found;
  const auto need = [&](const document::Block& block, const Scope& scope) {
    add_unknown_steps(needed, meanings_.settled(block.definition->expr, scope), scope.prefix);
  };
  need(formula, section.scope);
  std::vector<Member> members;
  const auto add = [&](const Section& from) {
    for (const auto* block : from.of(Kind::formula)) {
      if (block->is_input || (members.empty() && block != &formula)) continue;
      found.insert(from.scope.id_of(*block));
      members.push_back({&from, block});
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
  return are_found() ? members : std::vector<Member>();
}

void Steps::compute(std::vector<Member> members) {
  auto& sheet = meanings_.sheet();
  std::map<std::string, formula::Axes> axes_of;
  std::erase_if(members, [&](const Member& member) {
    const auto& scope = member.section->scope;
    if (member.section->is_left_out) stand_in(*member.formula, scope);
    if (member.section->is_left_out) return true;
    formula::Definition named{scope.id_of(*member.formula), scope.axes_of(*member.formula), 0.0};
    carry_batch(*member.section, named);
    sheet.set(named.name, inputs_.foreseen(named.axes));
    axes_of[named.name] = named.axes;
    return false;
  });
  std::vector<formula::Definition> definitions;
  for (auto& member : members)
    at_formula(*member.formula, [&] {
      const auto& scope = member.section->scope;
      member.definition = definition_of(*member.formula, scope);
      require_named_axes(*member.formula, member.definition, scope);
      tell_lengths_for(member.definition);
      member.in_document = member.definition.expr;
      member.is_defined_anew = define_anew(member.definition, scope);
      carry_batch(*member.section, member.definition);
      if (const auto& [name, axes, expr] = member.definition; axes != axes_of.at(name))
        throw formula::Error(0,
                             fmt::format("{0} has other axes than it names; valid: {0}[{1}], for a step that "
                                         "takes itself at another place names all of them",
                                         name, fmt::join(axes_of_sample(axes), ", ")));
      definitions.push_back(member.definition);
    });
  const auto recurrence = sheet.together(std::move(definitions));
  auto& trace = meanings_.bench().trace;
  const auto rows = std::make_shared<attn::Recurrence>(trace, name_on_page(recurrence.axis),
                                                       sheet.size_of(recurrence.axis));
  const auto row = std::make_shared<RowPlace>(RowPlace{recurrence.axis});
  std::map<std::string, std::pair<attn::About, attn::Mistakes>> shown;
  for (auto& member : members) {
    const auto& id = member.definition.name;
    computed_.emplace(id, std::pair(member, rows));
    if (outline_.has(*member.section, member.section->heading, "hidden")) {
      hidden_.insert(id);
      continue;
    }
    const auto& name = member.formula->definition->name;
    shown[id] = {
        {.id = id, .axes = shown_axes(member.definition.axes), .explain = explained(member.definition)},
        trace.is_watched() ? mistakes_of(name, member.definition, member.section->scope, row)
                           : attn::Mistakes{}};
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

attn::Mistakes Steps::in_row(const attn::Mistakes& mistakes, const RowPlace& row,
                             const formula::Definition& step) {
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

void Steps::stand_in(const document::Block& formula, const Scope& scope) {
  auto& sheet = meanings_.sheet();
  const auto name = scope.id_of(formula);
  const auto changed = changed_by(meanings_.settled(formula.definition->expr, scope));
  if (sheet.find_form(name) == nullptr && sheet.find_form(changed) != nullptr) sheet.alias(name, changed);
}

void Steps::tell_made(const Section& section, const document::Block& block, const document::Call& function) {
  const auto id = section.scope.id_of(block);
  for (const auto& tensor : function.arguments) meanings_.sheet().form(tensor);
  const auto axes = meanings_.with_heads_there(section.scope.axes_of(block));
  auto numbers = function.name == "normal"
                     ? owned_view(meanings_.bench().normal(id, meanings_.sheet().shape_of(axes)))
                     : named(functions_.tensors, function.name, block.place)(run_);
  numbers.axes = axes;
  if (numbers.shape.size() == numbers.axes.size() + 1)
    numbers.axes.insert(numbers.axes.begin(), Meanings::batch);
  if (may_be_given(block)) return inputs_.tell_made(about_input(section, block), std::move(numbers));
  if (!outline_.has(section, section.heading, "hidden")) {
    numbers = formula::owned_alone(std::move(numbers));
    meanings_.sheet().set(id, numbers);
    auto about = about_input(section, block);
    about.axes = shown_axes(numbers.axes);
    about.from = function.arguments;
    auto* const elements = static_cast<double*>(const_cast<void*>(numbers.data));
    return meanings_.bench().trace.step(about, numbers.shape, elements, attn::Mistakes{});
  }
  meanings_.sheet().set(id, std::move(numbers));
  hidden_.insert(id);
  made_[id] = function.arguments;
}

void Steps::tell_input(const Section& section, const document::Block& block) {
  const auto axes = section.scope.axes_of(block);
  const OwnLabels labels(meanings_.bench().trace, axes);
  const bool is_number = axes.empty() && !option_of(block).empty();
  if (is_number && outline_.has(section, section.heading, "hidden")) return;
  if (const auto function = function_of(block); !function.name.empty())
    return tell_made(section, block, function);
  inputs_.tell(block, about_input(section, block), section.scope);
}

std::string Steps::written_in(const Section& section) const {
  const auto written = outline_.written_in(section);
  const document::Source source(section.heading->place, written);
  return written.empty() ? written : wording_.text_of(document::read_prose(source), section.scope);
}

attn::About Steps::about_input(const Section& section, const document::Block& block) const {
  return {.id = section.scope.id_of(block),
          .title = wording_.text_of(outline_.title_of(section), section.scope),
          .formula = written_in(section),
          .note = wording_.paragraphs(section),
          .distribution = section.heading->marks.words.count("shares") > 0,
          .curve = outline_.has(section, section.heading, "curve"),
          .linear = outline_.has(section, section.heading, "linear")};
}

formula::Definition Steps::definition_of(const document::Block& formula, const Scope& scope) {
  const auto axes = meanings_.with_heads_there(scope.axes_of(formula));
  auto value = meanings_.settled(formula.definition->expr, scope);
  if (meanings_.sheet().find_form("mask") == nullptr && formula::has(formula::operands(value), "mask"))
    throw formula::Error(
        value->at, "this run hides nothing, so it has no mask; valid: {if has_mask} behind the heading");
  if (!scope.format.empty() && !formula::is_truth(value)) value = formula::call(scope.format, {value});
  return meanings_.sheet().resolved({scope.id_of(formula), axes, value});
}

void Steps::require_named_axes(const document::Block& formula, const formula::Definition& definition,
                               const Scope& scope) const {
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

void Steps::tell_lengths_for(const formula::Definition& definition) {
  if (formula::has(formula::operands(definition.expr), "lengths") && !inputs_.has_told_lengths())
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
  if (const auto computed = computed_.find(id); computed != computed_.end())
    return tell_computed(section, computed->second.first, *computed->second.second);
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
    sheet.keep_unrounded(definition, std::move(value));
    if (meanings_.bench().trace.is_watched())
      mistakes_of_hidden_.emplace(id, mistakes_of(name, definition, scope));
    return;
  }
  if (outline_.has(section, section.heading, "no code")) without_code_.insert(id);
  value = formula::owned_alone(std::move(value));
  value.is_whole = is_whole;
  const auto shape = value.shape;
  auto* const elements = const_cast<void*>(value.data);
  const bool is_truth = value.is_truth;
  sheet.keep(definition, std::move(value));

  const auto& bench = meanings_.bench();
  const OwnLabels labels(bench.trace, definition.axes);
  const auto about = about_step(section, definition, in_document, is_defined_anew);
  auto of_step = bench.trace.is_watched() ? mistakes_of(name, definition, scope) : attn::Mistakes{};
  if (is_whole)
    tell_whole_numbers(about, shape, static_cast<double*>(elements), std::move(of_step));
  else if (is_truth)
    bench.trace.step(about, shape, static_cast<bool*>(elements), of_step);
  else
    bench.trace.step(about, shape, static_cast<double*>(elements), of_step);
}

std::function<std::string(const attn::AnyTensor&)> Steps::explained(
    const formula::Definition& definition) const {
  return [this, definition](const attn::AnyTensor& theirs) {
    return formula_behind(definition, meanings_.sheet(), theirs);
  };
}

attn::About Steps::about_step(const Section& section, const formula::Definition& definition,
                              const formula::Expr& in_document, bool is_defined_anew) const {
  attn::About about = {
      .id = definition.name, .axes = shown_axes(definition.axes), .explain = explained(definition)};
  if (!meanings_.bench().is_mute()) add_words(about, section, definition);
  if (is_defined_anew)
    about.note =
        fmt::format("--define put this formula in the place of {}.", formula::page_text(in_document));
  return about;
}

void Steps::tell_computed(const Section& section, const Member& member, attn::Recurrence& rows) {
  const auto& definition = member.definition;
  if (hidden_.count(definition.name) > 0) return;
  const OwnLabels labels(meanings_.bench().trace, definition.axes);
  rows.describe(about_step(section, definition, member.in_document, member.is_defined_anew));
  rows.show(definition.name);
}

void Steps::add_words(attn::About& about, const Section& section,
                      const formula::Definition& definition) const {
  about.title = wording_.text_of(outline_.title_of(section), section.scope);
  const auto written = written_in(section);
  if (written.empty() || defined_.count(definition.name) > 0)
    add_formula(about, without_hidden(definition), meanings_.sheet());
  else
    about.formula = written;
  about.curve = outline_.has(section, section.heading, "curve");
  about.linear = outline_.has(section, section.heading, "linear");
  about.from = shown_operands(definition.expr);
  about.note = wording_.paragraphs(section);
  about.distribution = section.heading->marks.words.count("shares") > 0 || is_shares(definition);
  constexpr double most_terms = 1e5;
  if (!starts_from_shown(definition.expr) || most_terms < terms_of(definition.expr)) return;
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
  return meanings_.sheet().worked(definition, at,
                                  [this](const std::string& name) { return hidden_.count(name) == 0; });
}

bool Steps::starts_from_shown(const formula::Expr& x) const {
  std::map<std::string, bool> known;  // false while a step is looked into: one that leads back to itself
  const std::function<bool(const formula::Expr&)> starts = [&](const formula::Expr& part) {
    const auto operands = formula::operands(part);
    return std::all_of(operands.begin(), operands.end(), [&](const std::string& name) {
      if (made_.count(name) > 0) return meanings_.sheet().tensor(name).is_whole;
      if (hidden_.count(name) == 0) return true;
      const auto [found, is_new] = known.emplace(name, false);
      if (is_new) known[name] = starts(meanings_.sheet().definition_of(name)->expr);
      return known[name];
    });
  };
  return starts(x);
}

double Steps::terms_of(const formula::Expr& x) const {
  std::map<std::string, double> known;
  const std::function<double(const formula::Expr&)> terms = [&](const formula::Expr& part) {
    if (hidden_.count(part->name) > 0 && formula::operands(part).size() > 0) {
      const auto* tensor = meanings_.sheet().find(part->name);
      if (tensor != nullptr && tensor->is_whole) return 1.0;  // which stands there as a number
      if (const auto found = known.find(part->name); found != known.end()) return found->second;
      const auto* const definition = meanings_.sheet().definition_of(part->name);
      known[part->name] = 1.0;
      return known[part->name] = definition == nullptr ? 1.0 : terms(definition->expr);
    }
    if (const auto written_out = formula::expanded(part); written_out && part->op == formula::Op::call)
      return terms(*written_out);
    double all = part->parts.empty() ? 1.0 : 0.0;
    for (const auto& one : part->parts) all += terms(one);
    return part->op == formula::Op::over ? static_cast<double>(meanings_.sheet().size_of(part->axis)) * all
                                         : all;
  };
  return terms(x);
}

std::vector<std::string> Steps::shown_operands(const formula::Expr& x) const {
  std::vector<std::string> shown;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    const bool is_padded = meanings_.bench().plan.key_tokens().is_padded();
    if ((name != "lengths" || is_padded) && !formula::has(shown, name)) shown.push_back(name);
  };
  const std::function<void(const formula::Expr&)> add_all = [&](const formula::Expr& part) {
    for (const auto& name : formula::operands(part)) {
      if (!seen.insert(name).second) continue;
      const auto made = made_.find(name);
      if (made != made_.end())
        std::for_each(made->second.begin(), made->second.end(), add);
      else if (hidden_.count(name) > 0)
        add_all(meanings_.sheet().definition_of(name)->expr);
      else
        add(name);
    }
  };
  add_all(x);
  return shown;
}

attn::Mistakes Steps::mistakes_of(const std::string& step, const formula::Definition& definition,
                                  const Scope& scope, std::shared_ptr<const RowPlace> row) {
  const std::shared_ptr<const formula::Sheet> sheet(std::shared_ptr<void>(), &meanings_.sheet());
  const auto settled = [&](const formula::Expr& x) { return meanings_.settled(x, scope); };
  auto all = mistakes_of_step(meanings_.bench(), {step, definition, sheet, settled, std::move(row)});
  for (auto& mistake : carried_into(definition)) {
    const auto own =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.id() == mistake.id(); });
    if (own == all.end())
      all.push_back(std::move(mistake));
    else if (attn::is_convention(mistake.id()))  // its halves undo each other, and nobody sees the first
      all.erase(own);
  }
  const auto in_code = functions_.mistakes.find(scope.name_of(step));
  if (in_code != functions_.mistakes.end() && hidden_.count(definition.name) == 0)
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

bool Steps::means(const std::string& name, const std::string& step) const {
  return name == step || (outline_.steps().count(name) == 0 && step.ends_with('/' + name));
}

bool Steps::define_anew(formula::Definition& definition, const Scope& scope) {
  for (const auto& text : meanings_.bench().options.define) try {
      const auto other = formula::parse_definition(text);
      if (!means(other.name, definition.name)) continue;
      const formula::Axes axes = other.axes.empty() ? definition.axes : other.axes;
      auto anew = meanings_.sheet().resolved({definition.name, axes, meanings_.settled(other.expr, scope)});
      if (anew.axes != definition.axes)
        throw formula::Error(0, fmt::format("{} has the axes [{}] then; valid: [{}]", definition.name,
                                            fmt::join(shown_axes(anew.axes), ", "),
                                            fmt::join(shown_axes(definition.axes), ", ")));
      definition = std::move(anew);
      defined_.insert(definition.name);
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

void Steps::drop_unneeded(const std::vector<Section>& sections, std::size_t told) {
  constexpr std::size_t much = std::size_t{1} << 21;  // bytes
  auto& sheet = meanings_.sheet();
  const auto& trace = meanings_.bench().trace;
  if (trace.is_watched()) return;  // who watches may put other numbers in the place of a step's
  std::vector<std::string> large;
  for (const auto& [name, view] : sheet.tensors()) {
    const auto bytes = attn::element_count(view.shape) * (view.is_truth ? sizeof(bool) : sizeof(double));
    const bool is_exact = trace.dtype() == attn::Dtype::float64 || hidden_.count(name) > 0;
    if (bytes >= much && is_exact && sheet.can_drop(name)) large.push_back(name);
  }
  if (large.empty()) return;
  if (last_mentions_.empty()) last_mentions_ = last_mentions(sections);
  const auto is_needed = [&](const auto& mention) { return mention->second > told; };
  for (const auto& name : large) {
    if (const auto own = last_mentions_.find(name); own != last_mentions_.end() && is_needed(own)) continue;
    bool has_alias = false;
    for (auto mention = last_mentions_.begin(); mention != last_mentions_.end() && !has_alias; ++mention)
      has_alias = is_needed(mention) && sheet.stands_for(mention->first) == name;
    if (!has_alias) sheet.drop(name);
  }
}

namespace {

/// The name of a step of a repetition without the places of the counters: "cache/K" of
/// "step=0/layer=1/cache/K".
std::string without_counters(std::string_view name) {
  for (auto end = name.find('/'); end != name.npos && name.substr(0, end).find('=') != name.npos;
       end = name.find('/'))
    name.remove_prefix(end + 1);
  return std::string(name);
}

}  // namespace

void Steps::require_all_defined() const {
  for (const auto& text : meanings_.bench().options.define) {
    const auto name = formula::parse_definition(text).name;
    const auto is_meant = [&](const auto& step) { return means(name, step); };
    if (std::any_of(defined_.begin(), defined_.end(), is_meant)) continue;
    std::vector<std::string> steps;
    for (const auto& step : meanings_.sheet().definitions())
      if (const auto short_name = without_counters(step.name);
          hidden_.count(step.name) == 0 && !formula::has(steps, short_name))
        steps.push_back(short_name);
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
    const auto name = meanings_.step_named(
        meanings_.with_values(argument.starts_with(from) ? argument.substr(from.size()) : argument, {}));
    const bool is_step = outline_.steps().count(name) > 0;
    if (sheet.find_form(name) == nullptr && is_step) return;  // its own place tells what is wrong
    sheet.form(name);
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
                          sheet.find_form(x->name) == nullptr && !sheet.has_axis(x->name);
  if (is_unknown) inputs_.foresee({x->name, {}, 0.0});
  for (const auto& part : x->parts) foresee_inputs_in(part);
}

}  // namespace lessons
