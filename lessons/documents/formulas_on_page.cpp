#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "attn/text/width.hpp"
#include "document/prose.hpp"
#include "formula/edits.hpp"
#include "formula/entrywise.hpp"
#include "formula/functions.hpp"
#include "formula/numpy.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/document_run.hpp"
#include "trace/diagnosis/layout.hpp"

namespace lessons {

namespace {

/// The formula with the constants' numbers in place of their names.
formula::Expr without_symbols(const formula::Expr& x) {
  if (x->op == formula::Op::number) return x->number;
  return formula::with_parts(x, without_symbols);
}

/// Without sums over the samples where there is one.
formula::Expr of_one_sample(const formula::Expr& x, const formula::Sheet& sheet) {
  const auto result = formula::with_parts(x, [&](const auto& part) { return of_one_sample(part, sheet); });
  const bool is_sum = x->op == formula::Op::over && x->name == "sum" && x->axis == "batch";
  return is_sum && sheet.size_of(x->axis) == 1 ? result->parts[0] : result;
}

/// With the names that tensors and axes have in that group.
formula::Expr without_group(const formula::Expr& x, const std::string& group) {
  return formula::edited(x, [&](formula::Node& node) {
    for (auto& part : node.parts) part = without_group(part, group);
    if (!group.empty() && node.name.starts_with(group)) node.name.erase(0, group.size());
    node.axis.erase(0, node.axis.rfind('/') + 1);
    if (node.op == formula::Op::size || node.op == formula::Op::position)
      node.name.erase(0, node.name.rfind('/') + 1);
  });
}

bool is_constant(const formula::Expr& x) {
  if (x->op == formula::Op::number) return true;
  return x->op == formula::Op::call && std::all_of(x->parts.begin(), x->parts.end(), is_constant);
}

/// The formula with what is made of numbers alone computed.
formula::Expr with_constants_computed(const formula::Expr& x, const formula::Sheet& sheet) {
  if (x->op != formula::Op::number && is_constant(x)) return sheet.value({"", {}, x}).at({});
  return formula::with_parts(x,
                             [&](const formula::Expr& part) { return with_constants_computed(part, sheet); });
}

/// "[5×16] → [5×2×8] → [2×5×8]" of a formula that cuts into heads or puts them together; else empty.
std::string shapes_on_page(const formula::Definition& definition, const formula::Sheet& sheet) {
  std::string shapes;
  for (const auto& shape : formula::shapes_of_reshape(sheet, definition))
    shapes +=
        fmt::format("{}[{}]", shapes.empty() ? definition.expr->name + ": " : " → ", attn::to_string(shape));
  return shapes;
}

/// `scores / √d_k`, `scores / √4` and `scores / 2`: a formula, with its lengths as numbers, and with what is
/// made of numbers alone computed, as far as these differ; with the names that it has in that group.
std::vector<formula::Expr> forms_on_page(const formula::Expr& x, const formula::Sheet& sheet,
                                         const std::string& group) {
  constexpr std::size_t longest = 90;  // of a formula that is said more than once
  std::vector<formula::Expr> forms = {without_group(x, group)};
  if (attn::display_width(formula::page_text(forms[0])) > longest) return forms;
  const auto with_lengths = formula::with_lengths(x, sheet), numbers = without_group(with_lengths, group);
  if (formula::page_text(numbers) != formula::page_text(without_symbols(forms[0]))) forms.push_back(numbers);
  const auto computed = without_group(with_constants_computed(with_lengths, sheet), group);
  if (!formula::page_text(forms.back()).ends_with(formula::page_text(computed))) forms.push_back(computed);
  return forms;
}

}  // namespace

void add_formula(attn::About& about, const formula::Definition& definition, const formula::Sheet& sheet) {
  about.formula = shapes_on_page(definition, sheet);
  if (!about.formula.empty()) return;
  const auto group = definition.name.substr(0, definition.name.rfind('/') + 1);
  for (const auto& form : forms_on_page(of_one_sample(definition.expr, sheet), sheet, group)) {
    if (!about.formula.empty()) about.formula += " = ", about.mathml += "<mo>=</mo>";
    about.formula += formula::page_text(form);
    about.mathml += formula::mathml(form);
  }
}

formula::Axes shown_axes(formula::Axes axes) {
  std::erase(axes, Meanings::batch);
  std::transform(axes.begin(), axes.end(), axes.begin(), name_on_page);
  return axes;
}

attn::About about_section(Telling& run, const Section& section) {
  const document::Source written(section.heading->place, run.outline.written_in(section));
  const auto prose = written.text().empty() ? document::Prose() : document::read_prose(written);
  return {.title = in_words(run, run.outline.title_of(section), section.scope),
          .formula = in_words(run, prose, section.scope),
          .note = paragraphs_of(run, section),
          .distribution = section.heading->marks.words.count("shares") > 0,
          .curve = run.outline.has(section, section.heading, "curve"),
          .linear = run.outline.has(section, section.heading, "linear")};
}

namespace {

/// Whether rows of the step are shares that follow from softmax over its last axis.
bool is_shares(const formula::Definition& definition) {
  return definition.expr->op == formula::Op::over && definition.expr->name == "softmax" &&
         definition.expr->axis == definition.axes.back();
}

/// "scaled = scores / d_k": a formula close to that of the step, which gives somebody's numbers; empty where
/// none is found, or where their numbers are too coarse to tell.
std::string formula_behind(const formula::Definition& definition, formula::Sheet sheet,
                           const attn::AnyTensor& theirs) {
  const auto exact = attn::in_kind_of(theirs, attn::Dtype::float64);
  const auto view = formula::view_of(definition.axes, exact.view());
  const bool is_single = theirs.dtype() == attn::Dtype::float32;
  if (!is_single && attn::is_floating(theirs.dtype()) && theirs.dtype() != attn::Dtype::float64) return "";
  for (const auto& name : formula::operands(definition.expr)) {  // any formula gives nan from nan
    if (sheet.find(name) == nullptr) return "";
    const auto numbers = formula::numbers_in_order(sheet.tensor(name));
    if (std::any_of(numbers.begin(), numbers.end(), [](double x) { return std::isnan(x); })) return "";
  }
  sheet.set(definition.name, sheet.value(definition));
  const auto found = formula::formulas_of(sheet, definition, view, is_single ? 1e-5 : 1e-9);
  if (found.empty()) return "";
  const auto on_page = formula::page_text(found.front().expr);
  const bool says_it = on_page != formula::page_text(definition.expr);
  return fmt::format("{} = {}", definition.name, says_it ? on_page : formula::text(found.front().expr));
}

/// Whether a formula takes the tensor at its own place alone, and never as an index.
bool takes_in_place(const formula::Expr& x, const formula::Definition& tensor, bool is_index = false) {
  const bool is_its_entry = x->op == formula::Op::entry && x->name == tensor.name;
  if (is_its_entry && is_index) return false;
  if (is_its_entry && !formula::operands(tensor.expr).empty())
    for (std::size_t i = 0; i < tensor.axes.size(); ++i)
      if (!formula::same(x->parts[i], formula::position(tensor.axes[i]))) return false;
  return std::all_of(x->parts.begin(), x->parts.end(), [&](const formula::Expr& part) {
    return takes_in_place(part, tensor, is_index || x->op == formula::Op::entry);
  });
}

/// With the formulas of hidden steps in their place, where these are taken as they are.
formula::Definition without_hidden(Telling& run, formula::Definition definition) {
  const auto& sheet = run.sheet();
  for (const auto& name : formula::operands(definition.expr)) {
    if (run.hidden.count(name) == 0 || run.made.count(name) > 0) continue;
    if (takes_in_place(definition.expr, *sheet.definition_of(name)))
      return without_hidden(run, formula::with_written_out(sheet, definition, name));
  }
  return definition;
}

/// Whether all numbers that a formula starts from are shown.
bool starts_from_shown(Telling& run, const formula::Expr& x) {
  std::map<std::string, bool> known;  // false while a step is looked into: one that leads back to itself
  const std::function<bool(const formula::Expr&)> starts = [&](const formula::Expr& part) {
    const auto operands = formula::operands(part);
    return std::all_of(operands.begin(), operands.end(), [&](const std::string& name) {
      if (run.made.count(name) > 0) return run.sheet().tensor(name).is_whole;
      if (run.hidden.count(name) == 0) return true;
      const auto [found, is_new] = known.emplace(name, false);
      if (is_new) known[name] = starts(run.sheet().definition_of(name)->expr);
      return known[name];
    });
  };
  return starts(x);
}

/// How many numbers an entry is worked out from, all hidden steps written out.
double terms_of(Telling& run, const formula::Expr& x) {
  std::map<std::string, double> known;
  const std::function<double(const formula::Expr&)> terms = [&](const formula::Expr& part) {
    if (run.hidden.count(part->name) > 0 && formula::operands(part).size() > 0) {
      const auto* tensor = run.sheet().find(part->name);
      if (tensor != nullptr && tensor->is_whole) return 1.0;  // which stands there as a number
      if (const auto found = known.find(part->name); found != known.end()) return found->second;
      const auto* const definition = run.sheet().definition_of(part->name);
      known[part->name] = 1.0;
      return known[part->name] = definition == nullptr ? 1.0 : terms(definition->expr);
    }
    if (const auto written_out = formula::expanded(part); written_out && part->op == formula::Op::call)
      return terms(*written_out);
    double all = part->parts.empty() ? 1.0 : 0.0;
    for (const auto& one : part->parts) all += terms(one);
    return part->op == formula::Op::over ? static_cast<double>(run.sheet().size_of(part->axis)) * all : all;
  };
  return terms(x);
}

/// The tensors that a formula takes, and for a hidden one those that it is made of.
std::vector<std::string> shown_operands(Telling& run, const formula::Expr& x) {
  std::vector<std::string> shown;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    const bool is_padded = run.bench().plan.key_tokens().is_padded();
    if ((name != "lengths" || is_padded) && !formula::has(shown, name)) shown.push_back(name);
  };
  const std::function<void(const formula::Expr&)> add_all = [&](const formula::Expr& part) {
    for (const auto& name : formula::operands(part)) {
      if (!seen.insert(name).second) continue;
      const auto made = run.made.find(name);
      if (made != run.made.end())
        std::for_each(made->second.begin(), made->second.end(), add);
      else if (run.hidden.count(name) > 0)
        add_all(run.sheet().definition_of(name)->expr);
      else
        add(name);
    }
  };
  add_all(x);
  return shown;
}

/// An entry of a step that is hidden, or that the trace does not speak of, has no name: it is worked out,
/// too.
void add_words(Telling& run, attn::About& about, const Section& section,
               const formula::Definition& definition) {
  if (about.formula.empty() || run.defined.count(definition.name) > 0)
    add_formula(about, without_hidden(run, definition), run.sheet());
  about.from = shown_operands(run, definition.expr);
  about.distribution = about.distribution || is_shares(definition);
  constexpr double most_terms = 1e5;
  if (!starts_from_shown(run, definition.expr) || most_terms < terms_of(run, definition.expr)) return;
  about.worked = [&run, definition](const attn::Index& at) {
    return run.sheet().worked(definition, at,
                              [&run](const std::string& name) { return run.hidden.count(name) == 0; });
  };
  const auto [follow, scope] = run.outline.follow_of(section);
  if (follow.empty() && run.outline.has(section, section.heading, "with --all")) return;
  auto axes = definition.axes;
  std::erase(axes, Meanings::batch);
  about.worked_at = run.meanings.followed(follow, axes, scope);
}

}  // namespace

attn::About about_rows(Telling& run, const Step& step, attn::About about) {
  const auto& definition = step.definition;
  about.id = definition.name;
  about.axes = shown_axes(definition.axes);
  about.explain = [&run, definition](const attn::AnyTensor& theirs) {
    return formula_behind(definition, run.sheet(), theirs);
  };
  return about;
}

attn::About about_step(Telling& run, const Step& step) {
  const bool is_mute = run.bench().is_mute();
  auto about = about_rows(run, step, is_mute ? attn::About() : about_section(run, *step.section));
  if (!is_mute) add_words(run, about, *step.section, step.definition);
  if (step.is_defined_anew)
    about.note =
        fmt::format("--define put this formula in the place of {}.", formula::page_text(step.in_document));
  return about;
}

namespace {

constexpr std::string_view equals = " = ";

/// "Q, K, V = X @ W_Q, X @ W_K, X @ W_V" for three products of the same matrix that stand one after the
/// other.
std::vector<std::string> with_projections_joined(const std::vector<std::string>& lines) {
  constexpr std::size_t together = 3, widest = 60;
  const auto factor = [&](const std::string& line) {
    const auto begin = line.find(equals) + equals.size(), end = line.find(" @ ", begin);
    return end == line.npos ? "" : line.substr(begin, end - begin);
  };
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string names, values;
    for (std::size_t j = i; j < std::min(i + together, lines.size()) && factor(lines[j]) == factor(lines[i]);
         ++j) {
      const auto* const comma = j == i ? "" : ", ";
      names += comma + lines[j].substr(0, lines[j].find(equals));
      values += comma + lines[j].substr(lines[j].find(equals) + equals.size());
    }
    const bool are_three = std::count(names.begin(), names.end(), ',') + 1 == together;
    if (!are_three || factor(lines[i]).empty() || names.size() + values.size() > widest) {
      joined.push_back(lines[i]);
      continue;
    }
    joined.push_back(names + " = " + values);
    i += together - 1;
  }
  return joined;
}

constexpr std::size_t widest_line = 76;

/// The last place behind one of these signs at which a line of code may be cut: in so many parentheses. 0
/// where there is none.
std::size_t cut_behind(std::string_view signs, int least_depth, int most_depth, const std::string& line) {
  std::size_t cut = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < std::min(widest_line, line.size()); ++i) {
    if (line[i] == '(' || line[i] == '[') ++depth;
    if (line[i] == ')' || line[i] == ']') --depth;
    const bool may_be_cut = least_depth <= depth && depth <= most_depth && line[i + 1] == ' ';
    if (may_be_cut && line[i] != ' ' && signs.find(line[i]) != signs.npos) cut = i + 1;
  }
  return cut;
}

bool is_wide(const std::string& line) {
  return attn::display_width(line) > widest_line;
}

/// A line of NumPy that stays too wide is put in parentheses and cut where it is in as few of them as can be.
void add_in_parentheses(std::vector<std::string>& lines, std::string line) {
  constexpr int deepest = 8;
  const auto value = line.find(equals) + equals.size();
  line.insert(value, 1, '(').push_back(')');
  const auto place_from = [&](int least, std::string_view signs = "+-*/,") {
    std::size_t at = 0;
    for (int most = least; at <= value && most <= deepest; ++most) at = cut_behind(signs, least, most, line);
    return at;
  };
  for (int least = 1; is_wide(line); least = 0) {
    auto at = place_from(least);
    if (at <= value) at = place_from(-deepest);
    if (at <= value) at = place_from(least, "@");
    if (at <= value) break;
    lines.push_back(line.substr(0, at));
    line = std::string(value + 1, ' ') + line.substr(at + 1);
  }
  lines.push_back(line);
}

/// A line that is wider than a page is cut behind the last minus sign in parentheses that fits.
std::vector<std::string> cut_to_page(const std::vector<std::string>& lines) {
  constexpr int deepest = 8;
  std::vector<std::string> all;
  for (const auto& line : lines) {
    const auto open = line.find('('), cut = is_wide(line) ? cut_behind("-", 1, deepest, line) : 0;
    const auto rest = cut == 0 ? "" : std::string(open + 1, ' ') + line.substr(cut + 1);
    const bool is_numpy = line.back() != ';' && line.find(equals) != line.npos;
    if (cut > 0 && (!is_wide(rest) || !is_numpy)) {
      all.push_back(line.substr(0, cut));
      all.push_back(rest);
    } else if (is_wide(line) && is_numpy) {
      add_in_parentheses(all, line);
    } else {
      all.push_back(line);
    }
  }
  return all;
}

/// Names of up to eight letters are filled up with blanks, so that their equals signs stand below each other.
std::vector<std::string> with_aligned_equals(std::vector<std::string> lines) {
  constexpr std::size_t widest = 8;
  std::size_t width = 0;
  const auto name_of = [](const std::string& line) { return line.substr(0, line.find(equals)); };
  for (const auto& line : lines)
    if (const auto name = name_of(line); name.size() <= widest) width = std::max(width, name.size());
  for (auto& line : lines)
    if (const auto name = name_of(line); name.size() < width)
      line.insert(name.size(), width - name.size(), ' ');
  return lines;
}

/// "X" of "from X": the tensors with which the code begins.
std::set<std::string> sources_in(const std::vector<std::string>& results) {
  constexpr std::string_view from = "from ";
  std::set<std::string> sources;
  for (const auto& result : results)
    if (result.starts_with(from)) sources.insert(result.substr(from.size()));
  return sources;
}

/// The steps with which the code ends: those of `results` that the run has, or the last of all.
std::set<std::string> ends_of(const std::vector<formula::Definition>& steps,
                              const std::vector<std::string>& results) {
  std::set<std::string> ends;
  for (const auto& step : steps)
    if (std::find(results.begin(), results.end(), step.name) != results.end()) ends.insert(step.name);
  if (ends.empty() && results.empty() && !steps.empty()) ends.insert(steps.back().name);
  return ends;
}

}  // namespace

void tell_code(Telling& run) {
  auto& bench = run.bench();
  const auto& sheet = run.sheet();
  const auto& results = run.results;
  const auto& steps = sheet.definitions();
  const auto ends = ends_of(steps, results);
  const auto sources = sources_in(results);
  const auto needed = sheet.needed_for([&](const auto& name) { return ends.count(name) > 0; }, sources);
  const auto forward = sheet.needed_for([&](const auto& name) { return sources.count(name) > 0; });
  const auto shown = sheet.needed_for(
      [&](const auto& name) { return run.hidden.count(name) + run.without_code.count(name) == 0; });
  const bool is_xtensor = bench.options.code == "xtensor", is_of_one_sample = bench.plan.is_batched();
  std::map<std::string, std::vector<std::string>> lines, functions;  // by the group of the note
  std::set<std::string> known;
  bool takes_more = false;  // from the forward pass than where the code begins
  for (const auto& step : steps) {
    if (needed.count(step.name) + shown.count(step.name) == 0) continue;
    const bool goes_over_samples = formula::any_part(step.expr, [](const formula::Expr& part) {
      return part->op == formula::Op::over && part->axis == "batch";
    });
    if (is_of_one_sample && goes_over_samples) continue;
    const std::string group = forward.count(step.name) > 0  ? "forward"
                              : needed.count(step.name) > 0 ? ""
                                                            : "rest";
    for (const auto& operand : sheet.operands_with(step))
      takes_more = takes_more || (group.empty() && forward.count(operand) > sources.count(operand));
    auto& list = lines[group];
    if (!is_xtensor)
      for (const auto& line : formula::numpy_functions(step)) functions[group].push_back(line);
    const auto of_step =
        is_xtensor ? formula::xtensor_lines(sheet, step, true) : formula::numpy_lines(sheet, step, true);
    list.insert(list.end(), of_step.begin(), of_step.end());
  }
  for (const std::string group : {"forward", "", "rest"}) {
    auto of_group = lines[group];
    if (of_group.empty()) continue;
    if (!is_xtensor && group != "rest") of_group = with_projections_joined(of_group);
    of_group = cut_to_page(with_aligned_equals(std::move(of_group)));
    std::vector<std::string> called;
    for (const auto& line : functions[group])
      if (known.insert(line).second) called.push_back(line);
    of_group.insert(of_group.begin(), called.begin(), called.end());
    if (group.empty() && takes_more)
      of_group.insert(of_group.begin(), std::string(is_xtensor ? "//" : "#") +
                                            " continues the code before it, which --all shows");
    const auto tell = [&] {
      const auto around = bench.trace.full_id("");
      const auto* language = is_xtensor ? "In xtensor" : "In NumPy (import numpy as np)";
      bench.trace.note("code",
                       language + bench.plan.for_each_sample() +
                           (around.empty() ? "" : ": " + around.substr(0, around.size() - 1)),
                       "", fmt::format("{}", fmt::join(of_group, "\n")));
    };
    group.empty() ? tell() : bench.trace.within(group, tell);
  }
}

}  // namespace lessons
