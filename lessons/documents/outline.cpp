#include <algorithm>
#include <iterator>
#include <optional>

#include "document/prose.hpp"
#include "formula/functions.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"

namespace lessons {

namespace {

using Kind = document::Block::Kind;

constexpr std::size_t most_parts_deep = 8;

}  // namespace

std::string Scope::name_of(const std::string& name) const {
  const auto found = results.find(name);
  return found == results.end() ? name : found->second;
}

std::string Scope::id_of(const document::Block& formula) const {
  return prefix + name_of(formula.definition->name);
}

formula::Axes Scope::axes_of(const document::Block& formula) const {
  auto axes = formula.definition->axes;
  for (auto& axis : axes) axis = name_of(axis);
  return axes;
}

std::vector<const document::Block*> Section::of(Kind kind) const {
  std::vector<const document::Block*> all;
  std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(all),
               [&](const auto* block) { return block->kind == kind; });
  return all;
}

namespace {

void add(Outline& outline, std::vector<Section>& sections, const std::vector<document::Block>& blocks,
         const Scope& scope);

void note_step(Outline& outline, const Section& section, const std::string& id,
               const document::Place& place) {
  outline.steps.insert(id);
  if (section.heading == nullptr)
    throw document::Error(place, "a formula without a heading; valid: ## and a title above it");
  const auto& marks = section.heading->marks;
  if (marks.words.count("hidden") == 0) outline.shown.insert(id);
  if (!marks.drawn_as.empty()) outline.drawn_as[id] = marks.drawn_as;
}

void add_part(Outline& outline, std::vector<Section>& sections, const document::Block& use,
              const Scope& scope) {
  const auto add_once = [&](const Scope& around) {
    const auto& inner = outline.scopes.emplace_back(outline.scope_of(use, around));
    if (inner.depth > most_parts_deep)
      throw document::Error(use.place,
                            fmt::format("parts use one another more than {} deep", most_parts_deep));
    const auto& part = part_used_by(use);
    sections.push_back({inner});
    outline.meanings.read_front(part, inner);
    add(outline, sections, part.blocks(), inner);
    sections.push_back({around});
  };
  const auto repetition = repetition_of(use);
  if (!repetition) return add_once(scope);
  auto here = scope;
  const double from = outline.meanings.number_of_run(repetition->from, scope),
               to = outline.meanings.number_of_run(repetition->to, scope);
  for (const double value : values_of_counter(*repetition, from, to, use.place)) {
    here.counters[repetition->counter] = value;
    here.renamed.erase(repetition->counter);
    add_once(outline.scopes.emplace_back(here));
  }
}

void add(Outline& outline, std::vector<Section>& sections, const document::Block& block, const Scope& scope) {
  switch (block.kind) {
    case Kind::heading:
      sections.push_back({scope, &block});
      try {
        sections.back().is_left_out = !outline.meanings.holds(block.marks.condition, scope);
      } catch (const formula::Error&) {
        sections.back().depends_on_steps = true;
      }
      return;
    case Kind::choice:
      for (const auto& branch : block.choice->branches)
        if (outline.meanings.holds(branch.condition, scope))
          return add(outline, sections, branch.content, scope);
      return;
    case Kind::use:
      return add_part(outline, sections, block, scope);
    case Kind::remark:
      for (const auto& step : block.call.arguments)
        outline.remarks.push_back({scope.prefix + outline.meanings.name_in(step, scope), &block, scope});
      return;
    case Kind::call:
    case Kind::label:
    case Kind::flow:
      sections.push_back({scope});
      break;
    case Kind::formula:
      note_step(outline, sections.back(), scope.id_of(block), block.place);
      break;
    default:
      break;
  }
  sections.back().blocks.push_back(&block);
}

void add(Outline& outline, std::vector<Section>& sections, const std::vector<document::Block>& blocks,
         const Scope& scope) {
  for (const auto& block : blocks) at_place(block.place, [&] { add(outline, sections, block, scope); });
}

/// The remarks on these steps, or on those of a section, in their order.
std::vector<const Outline::Remark*> remarks_about(const Outline& outline,
                                                  const std::vector<std::string>& steps) {
  for (; outline.indexed < outline.remarks.size(); ++outline.indexed)
    outline.by_step[outline.meanings.step_named(outline.remarks[outline.indexed].id)].push_back(
        outline.indexed);
  std::set<std::size_t> places;
  for (const auto& step : steps)
    if (const auto found = outline.by_step.find(step); found != outline.by_step.end())
      places.insert(found->second.begin(), found->second.end());
  std::vector<const Outline::Remark*> all;
  for (const auto place : places) all.push_back(&outline.remarks[place]);
  return all;
}

std::vector<const Outline::Remark*> remarks_about(const Outline& outline, const Section& section) {
  std::vector<std::string> steps;
  for (const auto* formula : section.of(Kind::formula)) steps.push_back(section.scope.id_of(*formula));
  return remarks_about(outline, steps);
}

/// The format that `rounded to NAME` means: "float16", nothing for float64, where nothing is rounded; `dtype`
/// is that of the run. Throws document::Error.
std::string format_named(const std::string& name, const document::Place& place, const Workbench& bench) {
  const std::string format(name == "dtype" ? attn::name_of(bench.trace.dtype()) : name);
  if (format == "float64") return "";
  if (!formula::rounds_to_format(format))
    throw document::Error(
        place, fmt::format("rounded to {}; valid: rounded to float32, float16, bfloat16 or dtype", name));
  return format;
}

}  // namespace

std::vector<Section> Outline::sections_of(const std::vector<document::Block>& blocks, const Scope& scope) {
  const auto& kept = scopes.emplace_back(scope);
  std::vector<Section> sections = {{kept}};
  add(*this, sections, blocks, kept);
  return sections;
}

Scope Outline::scope_of(const document::Block& use, const Scope& around) const {
  Scope scope = around;
  ++scope.depth;
  scope.marks.words.insert(use.marks.words.begin(), use.marks.words.end());
  const std::string repeated = "for ", under = "under ", rounded = "rounded to ", is = " = ";
  for (const auto& argument : use.call.arguments) {
    if (argument.starts_with(repeated)) continue;
    if (argument.starts_with(under)) {
      scope.prefix += meanings.with_values(argument.substr(under.size()), around);
      continue;
    }
    if (argument.starts_with(rounded)) {
      scope.format = format_named(argument.substr(rounded.size()), use.place, meanings.bench());
      continue;
    }
    const auto equals = argument.find(is);
    if (equals == std::string::npos)
      throw document::Error(
          use.place, fmt::format("\"{}\" is none of NAME = …, under PREFIX/, rounded to FORMAT, for COUNTER "
                                 "from … to …",
                                 argument));
    const auto name = argument.substr(0, equals);
    const auto read = document::read_formula(use.place, argument.substr(equals + is.size()));
    const auto other =  // with the steps of this group that stand before
        with_prefix(meanings.chosen(meanings.counted(read, around), around), around.prefix,
                    [&](const std::string& step) { return steps.count(around.prefix + step) > 0; });
    if (other->op == formula::Op::name) scope.results[name] = around.name_of(other->name);
    scope.renamed.insert_or_assign(name, meanings.settled(other, around));
    scope.counters.erase(name);
  }
  return scope;
}

bool Outline::has(const Section& section, const document::Block* block, const std::string& word) const {
  const auto holds_in = [&](const document::Marks& marks) {
    const auto found = marks.words.find(word);
    return found != marks.words.end() && meanings.holds(found->second, section.scope);
  };
  if (holds_in(section.scope.marks) || (block != nullptr && holds_in(block->marks))) return true;
  if (block == nullptr || block != section.heading) return false;
  const auto on_step = remarks_about(*this, section);
  return std::any_of(on_step.begin(), on_step.end(),
                     [&](const auto* remark) { return holds_in(remark->block->marks); });
}

const document::Prose& Outline::title_of(const Section& section) const {
  const auto* title = &section.heading->prose;
  for (const auto* remark : remarks_about(*this, section))
    if (!remark->block->marks.title.empty()) title = &remark->block->marks.title;
  return *title;
}

std::pair<std::string, Scope> Outline::follow_of(const Section& section) const {
  std::pair<std::string, Scope> follow = {section.heading->marks.follow, section.scope};
  for (const auto* remark : remarks_about(*this, section))
    if (const auto& own = remark->block->marks.follow; !own.empty()) follow = {own, remark->scope};
  return follow;
}

std::string Outline::written_in(const Section& section) const {
  auto written = section.heading->marks.written;
  for (const auto* remark : remarks_about(*this, section))
    if (const auto& own = remark->block->marks.written;
        !own.empty() && meanings.holds(remark->block->marks.condition, remark->scope))
      written = own;
  return written;
}

const Outline::Remark* Outline::remark_on(const std::string& step) const {
  const auto on_step = remarks_about(*this, std::vector{step});
  const auto found = std::find_if(on_step.rbegin(), on_step.rend(), [&](const auto* remark) {
    return !remark->block->prose.empty() && meanings.holds(remark->block->marks.condition, remark->scope);
  });
  return found == on_step.rend() ? nullptr : *found;
}

}  // namespace lessons
