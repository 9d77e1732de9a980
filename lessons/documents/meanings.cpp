#include "lessons/documents/meanings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "attn/ops/precision.hpp"
#include "document/prose.hpp"
#include "formula/functions.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/claims.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The number that a formula of numbers alone is.
std::optional<double> constant(const formula::Expr& x) {
  return formula::number_in(x, [](const formula::Expr&) { return std::nullopt; });
}

/// x · 1 and x / 1 as x, and of `where` what is chosen whatever the run computes.
formula::Expr simplified(const formula::Expr& x) {
  const auto simple = formula::with_parts(x, simplified);
  if (formula::is_call(simple, "where"))
    if (const auto chosen = constant(simple->parts[0])) return simple->parts[*chosen != 0.0 ? 1 : 2];
  if (simple->op != formula::Op::call || simple->parts.size() != 2) return simple;
  const auto& [left, right] = std::pair(simple->parts[0], simple->parts[1]);
  if (simple->name == "*" && is_number(left, 1.0)) return right;
  if ((simple->name == "+" || simple->name == "-") && is_number(right, 0.0)) return left;
  if ((simple->name == "*" || simple->name == "/") && is_number(right, 1.0)) return left;
  return simple;
}

/// Whether a single entry of it takes as many steps as a table has entries, which are faster computed
/// together. So are those of a step that is computed again.
bool goes_through_much(const formula::Expr& x, const formula::Sheet& sheet, std::size_t times = 1) {
  constexpr std::size_t few = 200;
  if (x->op == formula::Op::over) times *= sheet.size_of(x->axis);
  if (x->op == formula::Op::again) return true;
  return times > few || std::any_of(x->parts.begin(), x->parts.end(), [&](const formula::Expr& part) {
           return goes_through_much(part, sheet, times);
         });
}

formula::Sheet::Round rounding_to(const Workbench& bench) {
  return [&bench](formula::Numbers& numbers) {
    const auto dtype = bench.trace.dtype();
    if (dtype != attn::Dtype::float64)
      std::transform(numbers.begin(), numbers.end(), numbers.begin(),
                     [dtype](double number) { return attn::round_to(dtype, number); });
  };
}

/// How long an axis is of which a given tensor may have more. Of a table whose rows another input names it
/// may have fewer, too.
std::size_t length_in_use(const Workbench& bench, const Input& input, const Extent& extent) {
  const auto inputs = bench.plan.lesson->inputs(bench.options);
  const bool is_free =
      bench.has_given(input.id) && std::any_of(inputs.begin(), inputs.end(), [&](const Input& other) {
        return other.rows_of == input.id && bench.has_given(other.id);
      });
  const auto least = is_free ? 1 : length_of(extent, bench.plan).value_or(1);
  return bench.length_of_given(input.id, extent.name, least);
}

constexpr std::string_view given = "=given";

/// The axes whose lengths the front matter says.
std::set<std::string> axes_said_by(const document::Document& document) {
  std::set<std::string> axes;
  for (const auto& [key, value] : document.front_matter)
    if (key == "axes" || key.starts_with("axes if "))
      for (const auto& one : document::cut_at_commas(value.text()))
        axes.insert(formula::parse_definition(one).name);
  return axes;
}

}  // namespace

Meanings::Meanings(Workbench& bench) : bench_(bench), sheet_(rounding_to(bench)) {
  const auto& options = bench.options;
  const auto& keys = bench.plan.key_tokens();
  const bool is_padded = keys.size() > 0 && keys.is_padded();
  set("trained", options.model.has_value());
  set("given", options.gives_tensors());
  const bool were_drawn = options.numbers.starts_with("drawn");  // in the run whose trace is given
  set("drawn", !options.model && (were_drawn || !bench.plan.inputs_to_draw().empty()));
  set("batched", bench.plan.is_batched());
  set("padded", is_padded);
  set("words", keys.size() > 0 ? static_cast<double>(keys.lengths().front()) : 0.0);
  set("has_mask", options.causal || options.window || is_padded || bench.trace.is_given("mask"));
  set("many_heads", 0.0);
  set("defined", !options.define.empty());
  set("set", !options.set.empty());
  set("rounding", rounding(bench.trace).bound);
  const auto set_format = [&](const std::string& group, attn::Dtype format) {
    set(group + "bytes", static_cast<double>(attn::item_size(format)));
    set(group + "unit_roundoff", attn::largest_rounding_error(format, 1.0));
    set(group + "largest_number", attn::largest_number(format));
    set(group + "exp_overflows_above", attn::exp_overflows_above(format));
    set(group + "exp_vanishes_below", attn::exp_vanishes_below(format));
  };
  using attn::Dtype;
  for (const auto format : {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16})
    set_format(fmt::format("{}/", attn::name_of(format)), format);
  for (const std::string of_run : {"", "run/"}) set_format(of_run, bench.trace.dtype());
}

void Meanings::read_axes(const document::Document& document) {
  if (document.front("rounded") == "no") sheet_ = formula::Sheet();
  const auto& plan = bench_.plan;
  const bool has_batch = document.front("sentences") != "one";
  const auto lengths = has_batch ? plan.key_tokens().lengths() : std::vector<std::size_t>();
  if (has_batch) sheet_.axis(batch, std::max<std::size_t>(1, lengths.size()));
  if (!lengths.empty()) sheet_.set("lengths", owned_view(lengths, {batch}));
  const auto inputs = plan.lesson->inputs(bench_.options);
  const auto is_said = [said = axes_said_by(document)](const auto& axis) { return said.count(axis) > 0; };
  for (const auto& declared : declared_in(document, &bench_.options)) {
    const auto& axes = declared.axes;
    if (const auto key = declared.origin.option; !key.empty()) {
      const auto counts = counts_of_option(bench_.options, key);
      if (!axes.empty()) sheet_.axis(axes[0], counts.size());
      if (axes.empty() && !counts.empty()) set(declared.id, static_cast<double>(counts[0]));
      continue;
    }
    const auto input =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& one) { return one.id == declared.id; });
    if (input != inputs.end()) {
      const auto extents = extents_of(*plan.lesson, *input, bench_.options);
      for (std::size_t i = 0; i < std::min(axes.size(), extents.size()); ++i)
        if (extents[i].may_be_longer ||
            (has_own_length(axes[i]) && !is_said(axes[i]) && bench_.has_given(input->id)))
          sheet_.axis(axes[i], length_in_use(bench_, *input, extents[i]));
    }
    for (const auto& axis : axes) {
      if (has_own_length(axis) && axis == without_length(axis)) continue;
      const auto extent = extent_of(axis, *plan.lesson, bench_.options);
      const auto name = without_length(axis);
      const auto length = length_of(extent, plan).value_or(0);
      if (length == 0) continue;
      sheet_.axis(name, length);
      if (const auto* tokens = text_of(extent.dimension, plan)) bench_.label({name}, *tokens);
    }
  }
}

void Meanings::read_front(const document::Document& document, const Scope& scope) {
  for (const auto& [key, value] : document.front_matter) read_front(key, value, scope);
}

void Meanings::read_front(const std::string& key, const document::Source& value, const Scope& scope) {
  const std::string condition = " if ";
  const auto end = std::min(key.find(condition), key.size());
  const auto word = key.substr(0, end);
  const bool is_known = word == "follow" || word == "axes" || word == "set" || word == "page";
  if (!is_known) return;
  const bool is_left_out = end < key.size() && !at_place(value.place_of(0), [&] {
                             return holds(formula::parse(key.substr(end + condition.size())), scope);
                           });
  if (is_left_out) return;
  for (const auto& one : document::cut_at_commas(value.text()))
    at_place(value.part(value.text().find(one)),
             [&] { read_setting(word, formula::parse_definition(one), scope); });
}

void Meanings::read_setting(const std::string& word, const formula::Definition& definition,
                            const Scope& scope) {
  const auto own = scope.prefix + definition.name, name = scope.name_of(definition.name);
  const auto& value = definition.expr;
  if (word == "follow") follow_[name].emplace_back(value, scope);
  if (word == "set" && settled_.count(own) == 0) set(own, number(value, scope));
  if (word == "page") sheet_.alias(own, of_page_[own] = scope.prefix + with_values(value->name, scope));
  if (word != "axes") return;
  const auto* tokens = text_of(value->name, bench_.plan);
  sheet_.axis(name, tokens != nullptr ? tokens->length() : static_cast<std::size_t>(number(value, scope)));
  if (tokens != nullptr) bench_.label({name}, *tokens);
}

std::string Meanings::step_named(const std::string& id) const {
  const auto found = of_page_.find(id);
  return found == of_page_.end() ? id : found->second;
}

std::optional<double> Meanings::setting(const std::string& name) const {
  const auto found = settings_.find(name);
  if (const auto id = name.substr(0, name.rfind(given)); name.ends_with(given))
    if (find_input(*bench_.plan.lesson, bench_.options, id)) return bench_.has_given(id);
  return found != settings_.end() ? found->second : option_in_formulas(bench_.options, name);
}

formula::Expr Meanings::settled(const formula::Expr& x, const Scope& scope) const {
  const std::function<formula::Expr(const formula::Expr&)> settle = [&](const formula::Expr& part) {
    return renamed(formula::with_parts(part, settle), scope);
  };
  return simplified(settle(counted(x, scope)));
}

formula::Expr Meanings::stacked(const formula::Expr& x, const Scope& scope) const {
  auto here = scope;
  std::vector<formula::Expr> entries;
  const double last = number_of_run(x->parts[3], scope);
  for (double value = number_of_run(x->parts[2], scope); value <= last; ++value) {
    here.counters[x->axis] = value;
    entries.push_back(counted(x->parts[1], here));
  }
  if (entries.empty()) throw formula::Error(x->at, "stack of nothing; valid: for t from 0 to 0, or to more");
  return formula::stack(x->parts[0], entries);
}

formula::Expr Meanings::chosen(const formula::Expr& x, const Scope& scope) const {
  const bool is_choice = formula::is_call(x, "where");
  const auto condition = is_choice ? constant(settled(x->parts[0], scope)) : std::nullopt;
  return condition ? chosen(x->parts[*condition != 0.0 ? 1 : 2], scope) : x;
}

namespace {

/// Whether it speaks of a counter, or has names that do.
bool speaks_of_counters(const formula::Expr& x, const Scope& scope) {
  const auto has_formulas = [](const std::string& name) { return formula::has_formulas(name); };
  return formula::any_part(x, [&](const formula::Expr& part) {
    const bool is_counter = part->op == formula::Op::name && scope.counters.count(part->name) > 0;
    return is_counter || formula::is_call(part, "stack") || has_formulas(part->name) ||
           has_formulas(part->axis) || std::any_of(part->changed.begin(), part->changed.end(), has_formulas);
  });
}

}  // namespace

formula::Expr Meanings::counted(const formula::Expr& x, const Scope& scope) const {
  if (!speaks_of_counters(x, scope)) return x;
  using formula::Op;
  struct Counted {
    formula::Expr expr;
    bool is_counter;  // or made of counters and numbers alone
  };
  const std::function<Counted(const formula::Expr&)> count = [&](const formula::Expr& part) -> Counted {
    const auto counter = scope.counters.find(part->name);
    if (part->op == Op::name && counter != scope.counters.end()) return {counter->second, true};
    if (part->op == Op::call && part->name == "stack") return {stacked(part, scope), false};
    bool has_counter = false;
    formula::Node node = *formula::with_parts(part, [&](const formula::Expr& inner) {
      const auto [expr, is_counter] = count(inner);
      has_counter = has_counter || is_counter;
      return expr;
    });
    for (auto* name : {&node.name, &node.axis}) *name = with_values(*name, scope);
    for (auto& name : node.changed) name = with_values(name, scope);
    const formula::Expr result(std::move(node));
    if (const auto number = has_counter ? constant(result) : std::nullopt) return {*number, true};
    return {result, false};
  };
  return simplified(count(x).expr);
}

double Meanings::number_of_run(const formula::Expr& x, const Scope& scope) const {
  const auto length = [this](const formula::Expr& part) -> std::optional<double> {
    if (!sheet_.has_axis(part->name)) return std::nullopt;
    return static_cast<double>(sheet_.size_of(part->name));
  };
  if (const auto number = formula::number_in(settled(x, scope), length)) return *number;
  throw formula::Error(x->at,
                       "this is not known before the run; valid: counters, options, lengths and names of the "
                       "front matter");
}

std::string Meanings::with_values(const std::string& name, const Scope& scope) const {
  if (!formula::has_formulas(name)) return name;
  return formula::with_values(name, [&](const formula::Expr& x) { return number_of_run(x, scope); });
}

formula::Expr Meanings::renamed(const formula::Expr& part, const Scope& scope) const {
  using formula::Op;
  if (part->op == Op::number || part->op == Op::call || part->op == Op::position) return part;
  const auto with = [&](std::string formula::Node::*member, const std::string& name) {
    if (name == (*part).*member) return part;
    return formula::edited(part, [&](formula::Node& node) { node.*member = name; });
  };
  if (part->op == Op::over) return with(&formula::Node::axis, scope.name_of(part->axis));
  if (part->op == Op::size) return with(&formula::Node::name, scope.name_of(part->name));
  const auto within = [&](const std::string& name) {
    if (scope.prefix.empty()) return name;
    const auto own = scope.prefix + name;
    const bool is_own = sheet_.find_form(own) != nullptr || settings_.count(own) > 0 ||
                        of_page_.count(own) > 0 || (own.ends_with(given) && setting(own));
    return is_own ? own : name;
  };
  const auto found = scope.renamed.find(part->name);
  const bool is_renamed = found != scope.renamed.end(), is_name = part->op == Op::name;
  if (is_renamed && is_name && found->second->op != Op::name)  // with steps that came to be since it was said
    return with_prefix(found->second, scope.prefix, [&](const std::string& name) {
      const bool is_known = sheet_.find_form(name) != nullptr || sheet_.has_axis(name);
      return !is_known && sheet_.find_form(scope.prefix + name) != nullptr;
    });
  auto name = is_renamed ? found->second->name : part->name;
  if (!is_renamed || !is_name || sheet_.find_form(name) == nullptr) name = within(name);
  const bool is_number = is_name || settings_.count(name) > 0;  // `b[key]` of one that is not given
  if (is_number && sheet_.find_form(name) == nullptr && !sheet_.has_axis(name))
    if (const auto number = setting(name))
      return formula::Expr(formula::Node{.op = Op::number, .number = *number, .name = name});
  if (part->changed.empty()) return with(&formula::Node::name, name);
  return formula::edited(part, [&](formula::Node& node) {
    node.name = name;
    for (auto& changed : node.changed) {
      const auto other = scope.renamed.find(changed);
      const bool is_other = other != scope.renamed.end() && other->second->op == Op::name;
      changed = within(is_other ? other->second->name : changed);
    }
  });
}

bool Meanings::holds(const std::optional<formula::Expr>& condition, const Scope& scope) {
  const std::function<formula::Expr(const formula::Expr&)> with_options = [&](const formula::Expr& x) {
    if (x->op == formula::Op::over) return x;
    const bool is_axis = x->op == formula::Op::name && sheet_.has_axis(x->name);
    const auto option = is_axis ? option_in_formulas(bench_.options, x->name) : std::nullopt;
    return option ? formula::Expr(*option) : formula::with_parts(x, with_options);
  };
  return !condition || number(with_options(*condition), scope) != 0.0;
}

formula::Axes Meanings::with_heads_there(formula::Axes axes) const {
  if (!sheet_.has_axis("head")) std::erase(axes, "head");
  return axes;
}

double Meanings::number(const formula::Expr& x, const Scope& scope) {
  const auto formula = settled(x, scope);
  if (const auto number = constant(formula)) return *number;
  formula::Axes axes;
  for (const auto& [axis, place] : here_) axes.push_back(axis);
  const auto definition = sheet_.resolved({"", axes, formula});
  attn::Index at;
  for (const auto& axis : definition.axes) at.push_back(place_on_page(axis));
  return goes_through_much(definition.expr, sheet_) ? sheet_.value(definition).at(at)
                                                    : sheet_.worked(definition, at).value();
}

std::vector<double> Meanings::numbers_along(const std::string& axis, const formula::Expr& x,
                                            const Scope& scope) {
  const auto definition = sheet_.resolved({"", {}, settled(x, scope)});
  std::vector<double> numbers;
  for (std::size_t i = 0; i < sheet_.size_of(axis); ++i) {
    attn::Index at;
    for (const auto& other : definition.axes) at.push_back(other == axis ? i : place_on_page(other));
    numbers.push_back(sheet_.worked(definition, at).value());
  }
  return numbers;
}

std::string Meanings::label(const std::string& axis, std::size_t place) const {
  if (!sheet_.has_axis(axis) || place >= sheet_.size_of(axis))
    throw formula::Error(0, fmt::format("the axis {} has no entry {}", axis, place));
  if (!bench_.trace.has_labels(axis)) return fmt::format("{}", place);
  const auto& labels = bench_.trace.labels(axis).of(0);
  return place < labels.size() ? labels[place] : "<pad>";
}

std::optional<std::size_t> Meanings::followed_place(const std::string& axis) {
  if (const auto here = here_.find(axis); here != here_.end()) return here->second;
  auto& known = followed_[axis];
  if (known.steps == sheet_.definitions().size()) return known.place;
  known.steps = sheet_.definitions().size();
  for (const auto& [place, scope] : follow_[axis]) try {
      return known.place = std::min(static_cast<std::size_t>(number(place, scope)), last_place(axis));
    } catch (const formula::Error&) {  // of a step that is not computed yet
    }
  return known.place = std::nullopt;
}

std::size_t Meanings::place_on_page(const std::string& of_group) {
  if (const auto place = followed_place(of_group)) return *place;
  const auto axis = name_on_page(of_group);
  const bool asks = axis == "query" || axis == "token" || axis == "target" || axis == "position";
  const bool answers = axis == "key" || axis == "source";
  if (!asks && !answers) return 0;
  return std::min<std::size_t>(last_place(of_group), asks ? 2 : 1);
}

std::size_t Meanings::last_place(const std::string& axis) const {
  std::size_t length = sheet_.has_axis(axis) ? sheet_.size_of(axis) : 0;
  if (bench_.trace.has_labels(axis)) {
    const auto& tokens = bench_.trace.labels(axis).of(0);
    const auto words =
        tokens.size() - static_cast<std::size_t>(std::count(tokens.begin(), tokens.end(), "<pad>"));
    length = std::min(length, words);
  }
  return std::max<std::size_t>(length, 1) - 1;
}

std::optional<attn::Index> Meanings::followed(const std::string& follow, const formula::Axes& axes,
                                              const Scope& scope) {
  std::map<std::string, formula::Expr> own;
  const std::string condition = " if ";
  const auto end = std::min(follow.find(condition), follow.size());
  const bool counts =
      end == follow.size() || holds(formula::parse(follow.substr(end + condition.size())), scope);
  for (const auto& one : document::cut_at_commas(counts ? follow.substr(0, end) : "")) {
    const auto definition = formula::parse_definition(one);
    own.emplace(scope.name_of(definition.name), definition.expr);
  }
  attn::Index at;
  for (const auto& axis : axes) {
    const auto found = own.find(axis);
    if (found != own.end())
      at.push_back(static_cast<std::size_t>(number(found->second, scope)));
    else if (const auto place = own.empty() ? followed_place(axis) : place_on_page(axis))
      at.push_back(*place);
    else
      return std::nullopt;
  }
  return at;
}

}  // namespace lessons
