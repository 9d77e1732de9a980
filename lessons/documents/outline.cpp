#include <algorithm>
#include <iterator>
#include <optional>

#include "document/prose.hpp"
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

std::vector<Section> Outline::sections_of(const std::vector<document::Block>& blocks, const Scope& scope) {
  std::vector<Section> sections = {{scope}};
  add(sections, blocks, scope);
  return sections;
}

void Outline::add(std::vector<Section>& sections, const std::vector<document::Block>& blocks,
                  const Scope& scope) {
  for (const auto& block : blocks) at_place(block.place, [&] { add(sections, block, scope); });
}

void Outline::add(std::vector<Section>& sections, const document::Block& block, const Scope& scope) {
  switch (block.kind) {
    case Kind::heading:
      sections.push_back({scope, &block});
      try {
        sections.back().is_left_out = !meanings_.holds(block.marks.condition, scope);
      } catch (const formula::Error&) {
        sections.back().depends_on_steps = true;
      }
      return;
    case Kind::choice:
      for (const auto& branch : block.choice->branches)
        if (meanings_.holds(branch.condition, scope)) return add(sections, branch.content, scope);
      return;
    case Kind::use:
      return add_part(sections, block, scope);
    case Kind::remark:
      for (const auto& step : block.call.arguments)
        remarks_.push_back({scope.prefix + meanings_.name_in(step, scope), &block, scope});
      return;
    case Kind::call:
    case Kind::label:
    case Kind::flow:
      sections.push_back({scope});
      break;
    case Kind::formula:
      note_step(sections.back(), scope.id_of(block), block.place);
      break;
    default:
      break;
  }
  sections.back().blocks.push_back(&block);
}

void Outline::note_step(const Section& section, const std::string& id, const document::Place& place) {
  steps_.insert(id);
  if (section.heading == nullptr)
    throw document::Error(place, "a formula without a heading; valid: ## and a title above it");
  const auto& marks = section.heading->marks;
  if (marks.words.count("hidden") == 0) shown_.insert(id);
  if (!marks.drawn_as.empty()) drawn_as_[id] = marks.drawn_as;
}

void Outline::add_part(std::vector<Section>& sections, const document::Block& use, const Scope& scope) {
  const auto add_once = [&](const Scope& around) {
    const auto inner = scope_of(use, around);
    if (inner.depth > most_parts_deep)
      throw document::Error(use.place,
                            fmt::format("parts use one another more than {} deep", most_parts_deep));
    const auto& part = part_used_by(use);
    sections.push_back({inner});
    meanings_.read_front(part, inner);
    add(sections, part.blocks(), inner);
    sections.push_back({around});
  };
  const auto repetition = repetition_of(use);
  if (!repetition) return add_once(scope);
  auto here = scope;
  const double from = meanings_.number_of_run(repetition->from, scope),
               to = meanings_.number_of_run(repetition->to, scope);
  for (const double value : values_of_counter(*repetition, from, to, use.place)) {
    here.counters[repetition->counter] = value;
    here.renamed.erase(repetition->counter);
    add_once(here);
  }
}

Scope Outline::scope_of(const document::Block& use, const Scope& around) const {
  Scope scope = around;
  ++scope.depth;
  scope.marks.words.insert(use.marks.words.begin(), use.marks.words.end());
  const std::string under = "under ", rounded = "rounded to ", is = " = ";
  for (const auto& argument : use.call.arguments) {
    if (is_repetition(argument)) continue;
    if (argument.starts_with(under)) {
      scope.prefix += meanings_.with_values(argument.substr(under.size()), around);
      continue;
    }
    if (argument.starts_with(rounded)) {
      scope.format = meanings_.format_named(argument.substr(rounded.size()), use.place);
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
        with_prefix(meanings_.chosen(meanings_.counted(read, around), around), around.prefix,
                    [&](const std::string& step) { return steps_.count(around.prefix + step) > 0; });
    if (other->op == formula::Op::name) scope.results[name] = around.name_of(other->name);
    scope.renamed.insert_or_assign(name, meanings_.settled(other, around));
    scope.counters.erase(name);
  }
  return scope;
}

void Outline::require_steps_of_remarks() const {
  for (const auto& remark : remarks_)
    if (steps_.count(meanings_.step_named(remark.id)) == 0)
      throw document::Error(remark.block->place, fmt::format("{{at {}}}: there is no such step; valid: {}",
                                                             remark.id, fmt::join(steps_, ", ")));
}

std::vector<const Outline::Remark*> Outline::remarks_about(const std::vector<std::string>& steps) const {
  for (; found_ < remarks_.size(); ++found_)
    by_step_[meanings_.step_named(remarks_[found_].id)].push_back(found_);
  std::set<std::size_t> places;
  for (const auto& step : steps)
    if (const auto found = by_step_.find(step); found != by_step_.end())
      places.insert(found->second.begin(), found->second.end());
  std::vector<const Remark*> all;
  for (const auto place : places) all.push_back(&remarks_[place]);
  return all;
}

std::vector<const Outline::Remark*> Outline::remarks_about(const Section& section) const {
  std::vector<std::string> steps;
  for (const auto* formula : section.of(Kind::formula)) steps.push_back(section.scope.id_of(*formula));
  return remarks_about(steps);
}

bool Outline::has(const Section& section, const document::Block* block, const std::string& word) const {
  const auto holds_in = [&](const document::Marks& marks) {
    const auto found = marks.words.find(word);
    return found != marks.words.end() && meanings_.holds(found->second, section.scope);
  };
  if (holds_in(section.scope.marks) || (block != nullptr && holds_in(block->marks))) return true;
  if (block == nullptr || block != section.heading) return false;
  const auto remarks = remarks_about(section);
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](const auto* remark) { return holds_in(remark->block->marks); });
}

const document::Prose& Outline::title_of(const Section& section) const {
  const auto* title = &section.heading->prose;
  for (const auto* remark : remarks_about(section))
    if (!remark->block->marks.title.empty()) title = &remark->block->marks.title;
  return *title;
}

std::pair<std::string, Scope> Outline::follow_of(const Section& section) const {
  std::pair<std::string, Scope> follow = {section.heading->marks.follow, section.scope};
  for (const auto* remark : remarks_about(section))
    if (const auto& own = remark->block->marks.follow; !own.empty()) follow = {own, remark->scope};
  return follow;
}

std::string Outline::written_in(const Section& section) const {
  auto written = section.heading->marks.written;
  for (const auto* remark : remarks_about(section))
    if (const auto& own = remark->block->marks.written;
        !own.empty() && meanings_.holds(remark->block->marks.condition, remark->scope))
      written = own;
  return written;
}

const Outline::Remark* Outline::remark_on(const std::string& step) const {
  const auto remarks = remarks_about(std::vector{step});
  const auto found = std::find_if(remarks.rbegin(), remarks.rend(), [&](const auto* remark) {
    return !remark->block->prose.empty() && meanings_.holds(remark->block->marks.condition, remark->scope);
  });
  return found == remarks.rend() ? nullptr : *found;
}

}  // namespace lessons
