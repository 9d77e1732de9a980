#include "lessons/documents/document_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attn/ops/dropout.hpp"
#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "document/flow.hpp"
#include "document/prose.hpp"
#include "formula/edits.hpp"
#include "formula/functions.hpp"
#include "formula/numpy.hpp"
#include "formula/parse.hpp"
#include "formula/text.hpp"
#include "lessons/documents/step_mistakes.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"

namespace lessons {

namespace {

constexpr const char* batch = "batch";
constexpr std::size_t most_parts_deep = 8;

/// What `act` returns; what is wrong with a formula in it is said with its place in the document.
template <class Act>
auto at_place(const document::Place& place, const Act& act) {
  try {
    return act();
  } catch (const formula::Error& error) {
    throw document::Error(place, error.what());
  }
}

/// The same of a formula's text, of which the place is the beginning.
template <class Act>
auto at_formula(const document::Block& block, const Act& act) {
  try {
    return act();
  } catch (const document::Error&) {
    throw;
  } catch (const formula::Error& error) {
    auto place = block.place;
    place.column += formula::place_of(block.code, std::min(error.at(), block.code.size())).column - 1;
    throw document::Error(place, error.what());
  }
}

/// What a document calls by a name. Throws document::Error where the lesson has none of it.
template <class Map>
const auto& named(const Map& functions, const std::string& name, const document::Place& place) {
  const auto found = functions.find(name);
  if (found != functions.end()) return found->second;
  std::vector<std::string> valid;
  for (const auto& one : functions) valid.push_back(one.first);
  throw document::Error(
      place, fmt::format("{} is no function of the lesson; valid: {}", name, fmt::join(valid, ", ")));
}

const std::string& first_of(const document::Call& call, const document::Place& place) {
  if (call.arguments.empty())
    throw document::Error(place, fmt::format("{} of what? It stands alone", call.name));
  return call.arguments.front();
}

/// What a step or an axis is called where a part is used.
const std::string& named_in(const std::map<std::string, std::string>& others, const std::string& name) {
  const auto found = others.find(name);
  return found == others.end() ? name : found->second;
}

bool is_number(const formula::Expr& x, double number) {
  return x->op == formula::Op::number && x->number == number;
}

/// x · 1 and x / 1 as x, √4 as 2 where `with_numbers`.
formula::Expr simplified(const formula::Expr& x) {
  const auto simple = formula::with_parts(x, simplified);
  if (simple->op != formula::Op::call || simple->parts.size() != 2) return simple;
  const auto& [left, right] = std::pair(simple->parts[0], simple->parts[1]);
  if (simple->name == "*" && is_number(left, 1.0)) return right;
  if ((simple->name == "+" || simple->name == "-") && is_number(right, 0.0)) return left;
  if ((simple->name == "*" || simple->name == "/") && is_number(right, 1.0)) return left;
  return simple;
}

/// The formula with the constants' numbers in the place of their names.
formula::Expr without_symbols(const formula::Expr& x) {
  if (x->op == formula::Op::number) return x->number;
  return formula::with_parts(x, without_symbols);
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
/// made of numbers alone computed, as far as these differ.
std::vector<formula::Expr> forms_on_page(const formula::Expr& x, const formula::Sheet& sheet) {
  std::vector<formula::Expr> forms = {x};
  const auto numbers = formula::with_lengths(x, sheet);
  if (!formula::same(numbers, without_symbols(x))) forms.push_back(numbers);
  const auto computed = with_constants_computed(numbers, sheet);
  if (!formula::page_text(forms.back()).ends_with(formula::page_text(computed))) forms.push_back(computed);
  return forms;
}

/// "scores / √d_k = scores / √4 = scores / 2", "Q: [5×16] → [5×2×8] → [2×5×8]".
void add_formula(attn::About& about, const formula::Definition& definition, const formula::Sheet& sheet) {
  about.formula = shapes_on_page(definition, sheet);
  if (!about.formula.empty()) return;
  for (const auto& form : forms_on_page(definition.expr, sheet)) {
    if (!about.formula.empty()) about.formula += " = ", about.mathml += "<mo>=</mo>";
    about.formula += formula::page_text(form);
    about.mathml += formula::mathml(form);
  }
}

bool is_shares(const formula::Definition& definition) {
  return definition.expr->op == formula::Op::over && definition.expr->name == "softmax" &&
         definition.expr->axis == definition.axes.back();
}

/// The largest finite number in size.
double largest(const formula::View& view) {
  const auto* numbers = static_cast<const double*>(view.data);
  double most = 0.0;
  for (std::size_t i = 0; i < attn::element_count(view.shape); ++i)
    if (std::isfinite(numbers[i])) most = std::max(most, std::abs(numbers[i]));
  return most;
}

double largest(const formula::Definition& resolved, const formula::Sheet& sheet) {
  double most = 0.0;
  sheet.in_slices(resolved, [&](const formula::View& slice) { most = std::max(most, largest(slice)); });
  return most;
}

double largest(const formula::Expr& x, formula::Sheet& sheet) {
  return largest(sheet.resolved({"", {}, x}), sheet);
}

/// The formula with the size of each term in the place of the term: what cancels is rounded all the same.
formula::Expr with_sizes(const formula::Expr& x) {
  const bool is_linear =
      x->op == formula::Op::over
          ? x->name == "sum"
          : x->op == formula::Op::call &&
                (x->name == "+" || x->name == "-" || x->name == "*" || x->name == "/" || x->name == "neg");
  if (!is_linear) return formula::call("abs", {x});
  formula::Node node = *formula::with_parts(x, with_sizes);
  if (node.name == "-") node.name = "+";
  return node.name == "neg" ? node.parts[0] : formula::Expr(std::move(node));
}

/// How large the numbers are that a value is rounded at. What is computed again from other numbers is rounded
/// at their size, too.
double magnitude(const formula::Expr& x, formula::Sheet& sheet) {
  constexpr double of_itself = 0.9;  // what should be 1 is, rounded to half precision, 1.01
  double most = largest(with_sizes(x), sheet) * of_itself;
  if (x->op == formula::Op::again)
    for (const auto& part : x->parts) most = std::max(most, magnitude(part, sheet));
  return most;
}

/// The two sides of `left = right` or `left ≈ right`.
struct Sides {
  std::string left, right;
  bool is_exact;
};

Sides sides_of(const document::Block& item) {
  const auto& code = item.code;
  const std::string about = " ≈ ", equal = " = ";
  if (const auto at = code.find(about); at != std::string::npos)
    return {code.substr(0, at), code.substr(at + about.size()), false};
  int depth = 0;
  for (std::size_t i = 0; i + equal.size() <= code.size(); ++i) {
    if (code[i] == '(' || code[i] == '[') ++depth;
    if (code[i] == ')' || code[i] == ']') --depth;
    if (depth == 0 && code.compare(i, equal.size(), equal) == 0)
      return {code.substr(0, i), code.substr(i + equal.size()), true};
  }
  throw document::Error(item.place,
                        fmt::format("\"{}\" is no claim; valid: left = right, left ≈ right", code));
}

/// The tensor that a formula changes: the first operand, and of `where` what is chosen where the condition
/// holds.
std::string changed_by(const formula::Expr& x) {
  if (x->op != formula::Op::call && x->op != formula::Op::over) return x->name;
  return changed_by(x->parts[x->name == "where" ? 1 : 0]);
}

/// "Q, K, V = X @ W_Q, X @ W_K, X @ W_V" for three products of the same matrix that stand one after the
/// other.
std::vector<std::string> with_projections_joined(const std::vector<std::string>& lines) {
  constexpr std::size_t together = 3, widest = 60;
  const auto at_equals = [](const std::string& line) { return line.find(" = "); };
  const auto factor = [&](const std::string& line) {
    const auto begin = at_equals(line) + 3, end = line.find(" @ ", begin);
    return end == line.npos ? "" : line.substr(begin, end - begin);
  };
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string names, values;
    for (std::size_t j = i; j < std::min(i + together, lines.size()) && factor(lines[j]) == factor(lines[i]);
         ++j) {
      const auto* const comma = j == i ? "" : ", ";
      names += comma + lines[j].substr(0, at_equals(lines[j]));
      values += comma + lines[j].substr(at_equals(lines[j]) + 3);
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

/// Names of up to eight letters are filled up with blanks, so that their equals signs stand below each other.
std::vector<std::string> with_aligned_equals(std::vector<std::string> lines) {
  constexpr std::size_t widest = 8;
  std::size_t width = 0;
  const auto name_of = [](const std::string& line) { return line.substr(0, line.find(" = ")); };
  for (const auto& line : lines)
    if (const auto name = name_of(line); name.size() <= widest) width = std::max(width, name.size());
  for (auto& line : lines)
    if (const auto name = name_of(line); name.size() < width)
      line.insert(name.size(), width - name.size(), ' ');
  return lines;
}

/// A line of code that is wider than a page is cut behind the last minus sign in brackets that fits.
std::vector<std::string> cut_to_page(const std::vector<std::string>& lines) {
  constexpr std::size_t widest = 76;
  std::vector<std::string> cut;
  for (const auto& line : lines) {
    const auto open = line.find('('), end = line.rfind(" - ", widest - 3);
    const bool is_wide =
        attn::display_width(line) > widest && open != line.npos && end != line.npos && open < end;
    if (!is_wide) {
      cut.push_back(line);
      continue;
    }
    cut.push_back(line.substr(0, end + 2));
    cut.push_back(std::string(open + 1, ' ') + line.substr(end + 3));
  }
  return cut;
}

/// Whether a single entry of it takes as many steps as a table has entries, which are faster computed
/// together.
bool goes_through_much(const formula::Expr& x, const formula::Sheet& sheet, std::size_t times = 1) {
  constexpr std::size_t few = 2000;
  if (x->op == formula::Op::over) times *= sheet.size_of(x->axis);
  return times > few || std::any_of(x->parts.begin(), x->parts.end(), [&](const formula::Expr& part) {
           return goes_through_much(part, sheet, times);
         });
}

/// A tensor of these axes whose elements are nothing yet: one 0, again and again.
formula::View foreseen_view(const formula::Axes& axes, const formula::Sheet& sheet) {
  static constexpr double nothing = 0.0;
  formula::View view{.axes = axes, .strides = std::vector<std::ptrdiff_t>(axes.size()), .data = &nothing};
  for (const auto& axis : axes) view.shape.push_back(sheet.size_of(axis));
  return view;
}

std::string slug(const std::string& title) {
  std::string id;
  for (const char c : title)
    if (std::isalnum(static_cast<unsigned char>(c)))
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!id.empty() && id.back() != '-')
      id += '-';
  if (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

}  // namespace

/// A heading and what follows it up to the next.
struct DocumentRun::Section {
  Scope scope;
  const document::Block* heading = nullptr;
  bool is_left_out = false;
  std::vector<const document::Block*> blocks{};

  std::vector<const document::Block*> of(document::Block::Kind kind) const {
    std::vector<const document::Block*> all;
    std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(all),
                 [&](const auto* block) { return block->kind == kind; });
    return all;
  }
};

DocumentRun::DocumentRun(Workbench& bench, const Functions& functions)
    : bench_(bench), functions_(functions), sheet_([&bench](formula::Numbers& numbers) {
        const auto dtype = bench.trace.dtype();
        if (dtype != attn::Dtype::float64)
          std::transform(numbers.begin(), numbers.end(), numbers.begin(),
                         [dtype](double number) { return attn::round_to(dtype, number); });
      }) {
  const auto& options = bench.options;
  const auto& keys = bench.plan.key_tokens();
  const bool is_padded = keys.size() > 0 && keys.is_padded();
  set("trained", options.model.has_value());
  set("batched", bench.plan.is_batched());
  set("padded", is_padded);
  set("words", keys.size() > 0 ? static_cast<double>(keys.lengths().front()) : 0.0);
  set("has_mask", options.causal || options.window || is_padded || bench.trace.is_given("mask"));
  set("many_heads", 0.0);
  set("defined", !options.define.empty());
}

void DocumentRun::set_mask(const std::optional<Mask<3>>& mask) {
  set("has_mask", mask.has_value());
  if (!mask) return;
  auto view = formula::view_of({batch, "query", "key"}, attn::view_of(*mask));
  for (std::size_t i = 2; i-- > 0;)
    if (view.shape[i] == 1 && sheet_.size_of(view.axes[i]) != 1) {
      view.axes.erase(view.axes.begin() + static_cast<std::ptrdiff_t>(i));
      view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(i));
      view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(i));
    }
  set("mask", std::move(view));
}

std::optional<double> DocumentRun::setting(const std::string& name) const {
  const auto found = settings_.find(name);
  return found != settings_.end() ? found->second : option_in_formulas(bench_.options, name);
}

void DocumentRun::tell(const document::Document& document) {
  const Scope scope;
  settle_axes(document);
  settle_front(document);
  for (const auto& name : document::cut_at_commas(document.front("code")))
    results_.push_back(step_of_remark(name));
  tell_definitions();
  const auto sections = sections_of(document.blocks, scope);
  require_steps_of_remarks();
  settle_page(sections);
  std::size_t last_step = 0;
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (!sections[i].of(document::Block::Kind::formula).empty()) last_step = i;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    tell(sections[i], std::span(sections).subspan(i + 1));
    if (i == last_step) {
      require_all_defined();
      tell_code();
    }
  }
}

void DocumentRun::settle_axes(const document::Document& document) {
  const auto& plan = bench_.plan;
  const auto lengths = plan.key_tokens().lengths();
  axis(batch, std::max<std::size_t>(1, lengths.size()));
  if (!lengths.empty()) {
    auto counts = Integers<1>::from_shape({lengths.size()});
    std::copy(lengths.begin(), lengths.end(), counts.begin());
    keep_whole("lengths", {batch}, counts);
  }
  for (const auto& declared : declared_in(document))
    for (const auto& name : declared.block->definition->axes) {
      const auto extent = extent_of(name, *plan.lesson, bench_.options);
      const auto length = length_of(extent, plan).value_or(0);
      if (length == 0) continue;
      axis(name, length);
      if (const auto* tokens = lessons::text_of(extent.dimension, plan)) bench_.label({name}, *tokens);
    }
}

void DocumentRun::settle_front(const document::Document& document) {
  for (std::size_t i = 0; i < document.front_matter.size(); ++i)
    at_place(document.front_places[i],
             [&] { settle_front(document.front_matter[i].first, document.front_matter[i].second); });
}

void DocumentRun::settle_front(const std::string& key, const std::string& value) {
  const std::string condition = " if ";
  const auto end = std::min(key.find(condition), key.size());
  const auto word = key.substr(0, end);
  const bool is_known = word == "follow" || word == "axes" || word == "set" || word == "page";
  if (!is_known || (end < key.size() && !holds(formula::parse(key.substr(end + condition.size())), {})))
    return;
  for (const auto& one : document::cut_at_commas(value)) {
    const auto definition = formula::parse_definition(one);
    if (word == "follow") follow(definition);
    if (word == "axes")
      axis(definition.name, static_cast<std::size_t>(number_at_followed(definition.expr, {})));
    if (word == "set") set(definition.name, number_at_followed(definition.expr, {}));
    if (word == "page") alias(definition.name, of_page_[definition.name] = definition.expr->name);
  }
}

void DocumentRun::follow(const formula::Definition& axis) {
  const auto found = std::find_if(follow_.begin(), follow_.end(),
                                  [&](const auto& known) { return known.first == axis.name; });
  if (found == follow_.end())
    follow_.push_back({axis.name, {axis.expr}});
  else
    found->second.push_back(axis.expr);
}

void DocumentRun::tell_part(const std::string& file, const std::vector<std::string>& renamed) {
  document::Block use;
  use.call.arguments = renamed;
  const auto& part = document_named(file);
  settle_front(part);
  for (const auto& section : sections_of(part.blocks, scope_of(use, {}))) tell(section);
}

std::vector<DocumentRun::Section> DocumentRun::sections_of(const std::vector<document::Block>& blocks,
                                                           const Scope& scope) {
  std::vector<Section> sections = {{scope}};
  add_sections(sections, blocks, scope);
  return sections;
}

void DocumentRun::add_sections(std::vector<Section>& sections, const std::vector<document::Block>& blocks,
                               const Scope& scope) {
  for (const auto& block : blocks) at_place(block.place, [&] { add_block(sections, block, scope); });
}

void DocumentRun::add_block(std::vector<Section>& sections, const document::Block& block,
                            const Scope& scope) {
  switch (block.kind) {
    case document::Block::Kind::heading:
      sections.push_back({scope, &block, !holds(block.marks.condition, scope)});
      break;
    case document::Block::Kind::choice: {
      const auto& branches = block.choice->branches;
      const auto chosen = std::find_if(branches.begin(), branches.end(),
                                       [&](const auto& branch) { return holds(branch.condition, scope); });
      if (chosen != branches.end()) add_sections(sections, chosen->content, scope);
      break;
    }
    case document::Block::Kind::use: {
      const auto inner = scope_of(block, scope);
      if (inner.depth > most_parts_deep)
        throw document::Error(block.place,
                              fmt::format("parts use one another more than {} deep", most_parts_deep));
      sections.push_back({inner});
      settle_front(document_named(block.call.name));
      add_sections(sections, document_named(block.call.name).blocks, inner);
      sections.push_back({scope});
      break;
    }
    case document::Block::Kind::call:
    case document::Block::Kind::flow:
      sections.push_back({scope});
      sections.back().blocks.push_back(&block);
      break;
    case document::Block::Kind::remark:
      remarks_.push_back({scope.prefix + block.call.name, &block, scope});
      break;
    case document::Block::Kind::formula:
      steps_.insert(id_of(block, scope));
      if (sections.back().heading == nullptr)
        throw document::Error(block.place, "a formula without a heading; valid: ## and a title above it");
      if (const auto& word = sections.back().heading->marks.drawn_as; !word.empty())
        drawn_as_[id_of(block, scope)] = word;
      [[fallthrough]];
    default:
      sections.back().blocks.push_back(&block);
  }
}

DocumentRun::Scope DocumentRun::scope_of(const document::Block& use, const Scope& around) const {
  Scope scope = around;
  ++scope.depth;
  scope.marks.words.insert(use.marks.words.begin(), use.marks.words.end());
  for (const auto& argument : use.call.arguments) {
    if (argument.starts_with("under ")) {
      scope.prefix += argument.substr(6);
      continue;
    }
    const auto equals = argument.find(" = ");
    if (equals == std::string::npos)
      throw document::Error(use.place, fmt::format("\"{}\" is neither NAME = … nor under PREFIX/", argument));
    const auto name = argument.substr(0, equals);
    const auto other = document::read_formula(use.place, argument.substr(equals + 3));
    if (other->op == formula::Op::name) scope.results[name] = other->name;
    scope.renamed.insert_or_assign(name, settled(other, around));
  }
  return scope;
}

void DocumentRun::settle_page(const std::vector<Section>& sections) {
  std::vector<attn::OnPage> page;
  std::vector<std::string> claims;
  for (const auto& section : sections) {
    if (section.is_left_out) continue;
    settle_section(section, page, claims);
    for (const auto* call : section.of(document::Block::Kind::call))
      if (!has(section, call, "all"))
        page.push_back({.id = call->call.name, .in_one_line = has(section, call, "one line")});
  }
  bench_.trace.page(std::move(page), std::move(claims));
}

bool DocumentRun::has(const Section& section, const document::Block* block, const std::string& word) {
  std::vector<const document::Marks*> all = {&section.scope.marks};
  if (block != nullptr) all.push_back(&block->marks);
  for (const auto& [id, remark, scope] : remarks_)
    if (block != nullptr && block == section.heading && is_about(id, section)) all.push_back(&remark->marks);
  return std::any_of(all.begin(), all.end(), [&](const auto* marks) {
    const auto found = marks->words.find(word);
    return found != marks->words.end() && holds(found->second, section.scope);
  });
}

bool DocumentRun::is_about(const std::string& id_of_remark, const Section& section) const {
  const auto formulas = section.of(document::Block::Kind::formula);
  return std::any_of(formulas.begin(), formulas.end(), [&](const auto* formula) {
    return id_of(*formula, section.scope) == step_of_remark(id_of_remark);
  });
}

std::string DocumentRun::step_of_remark(const std::string& id) const {
  return named_in(of_page_, id);
}

void DocumentRun::settle_section(const Section& section, std::vector<attn::OnPage>& page,
                                 std::vector<std::string>& claims) {
  if (section.heading == nullptr || has(section, section.heading, "all") ||
      has(section, section.heading, "hidden"))
    return;
  const auto formulas = section.of(document::Block::Kind::formula);
  for (const auto* item : section.of(document::Block::Kind::item))
    if (!has(section, item, "all") && !item->marks.id.empty()) claims.push_back(item->marks.id);
  const auto& id_of_note = section.heading->marks.id;
  if (formulas.empty() && !id_of_note.empty() && id_of_note != "idea") page.push_back({id_of_note});
  for (const auto* formula : formulas) {
    const auto id = id_of(*formula, section.scope);
    attn::OnPage on_page = {.id = id,
                            .in_one_line = has(section, section.heading, "one line"),
                            .has_table = !has(section, section.heading, "no table")};
    if (const auto* remark = remark_on(id))
      on_page.notice = [this, &prose = *remark, scope = section.scope](const attn::Event& event) {
        return text_of(prose, scope, &event);
      };
    else if (paragraphs(section, true) != paragraphs(section, false))
      on_page.notice = [text = paragraphs(section, true)](const attn::Event&) { return text; };
    page.push_back(std::move(on_page));
  }
}

void DocumentRun::stand_in(const document::Block& formula, const Scope& scope) {
  const auto& definition = *formula.definition;
  const auto name = scope.prefix + definition.name;
  const auto changed = changed_by(settled(definition.expr, scope));
  if (sheet_.find(name) == nullptr && sheet_.find(changed) != nullptr) sheet_.alias(name, changed);
}

void DocumentRun::tell(const Section& section, std::span<const Section> to_come) {
  const auto formulas = section.of(document::Block::Kind::formula);
  const auto items = section.of(document::Block::Kind::item);
  if (section.is_left_out) {
    for (const auto* formula : formulas) stand_in(*formula, section.scope);
    return;
  }
  for (const auto* formula : formulas)
    at_formula(*formula,
               [&] { formula->is_input ? tell_input(section, *formula) : tell_step(section, *formula); });
  if (formulas.empty() && section.heading != nullptr && items.empty()) tell_note(section);
  if (!items.empty() && items.front()->code.starts_with("attnlab ")) return tell_next(section);
  for (const auto* item : items)
    at_place(item->place, [&] {
      if (holds(item->marks.condition, section.scope)) tell_claim(*item);
    });
  for (const auto* call : section.of(document::Block::Kind::call)) {
    at_place(call->place, [&] { named(functions_.actions, call->call.name, call->place)(*this); });
  }
  for (const auto* flow : section.of(document::Block::Kind::flow))
    at_place(flow->place, [&] { tell_flow(*flow, to_come); });
}

std::string DocumentRun::id_of(const document::Block& formula, const Scope& scope) {
  return scope.prefix + named_in(scope.results, formula.definition->name);
}

void DocumentRun::require_steps_of_remarks() const {
  for (const auto& remark : remarks_)
    if (steps_.count(step_of_remark(remark.id)) == 0)
      throw document::Error(remark.block->place, fmt::format("{{at {}}}: there is no such step; valid: {}",
                                                             remark.id, fmt::join(steps_, ", ")));
}

void DocumentRun::require_new_name(const std::string& name, const document::Place& place) {
  if (name.empty()) throw document::Error(place, "a claim without a name; valid: {#rows-sum-to-1} behind it");
  if (!told_.insert(name).second)
    throw document::Error(place, fmt::format("{{#{}}} is the name of another claim or part", name));
}

const document::Prose* DocumentRun::remark_on(const std::string& id) {
  const document::Prose* last = nullptr;
  for (const auto& remark : remarks_)
    if (step_of_remark(remark.id) == id && !remark.block->prose.empty() &&
        holds(remark.block->marks.condition, remark.scope))
      last = &remark.block->prose;
  return last;
}

std::string DocumentRun::paragraphs(const Section& section, bool short_page) {
  std::string text;
  for (const auto* block : section.of(document::Block::Kind::paragraph)) {
    if (short_page && block->marks.words.count("all") > 0) continue;
    text += (text.empty() ? "" : "\n") + text_of(block->prose, section.scope);
  }
  return text;
}

/// Throws formula::Error where a tensor of that name is there already.
void DocumentRun::require_new(const std::string& id) const {
  if (sheet_.tensors().count(id) > 0)
    throw formula::Error(0, fmt::format("there are two tensors of the name {}", id));
}

void DocumentRun::tell_input(const Section& section, const document::Block& block) {
  const auto id = id_of(block, section.scope);
  const attn::About about = {
      .id = id, .title = text_of(section.heading->prose, section.scope), .note = paragraphs(section, false)};
  if (block.draw == "lengths") return tell_lengths(about);
  require_new(id);
  if (block.draw == "mask") return tell_mask(about);
  if (block.draw == "dropout") return tell_dropout_mask(about, section.scope.prefix + "weights");
  const auto& lesson = *bench_.plan.lesson;
  const auto input = find_input(lesson, bench_.options, id);
  if (!input)
    throw document::Error(block.place, fmt::format("{} is no input of the lesson; valid: {}", id,
                                                   describe_inputs(lesson, bench_.options)));
  if (input->draw == Draw::given && !bench_.has_given(id)) return set(id, 0.0);
  formula::Axes axes;
  if (has_batch(input->draw)) axes.emplace_back(batch);
  for (const auto& extent : extents_of(lesson, *input, bench_.options)) axes.push_back(extent.name);
  if (axes.size() == 1) return keep(id, axes, bench_.input<1>(about));
  if (axes.size() == 2) return keep(id, axes, bench_.input<2>(about));
  keep(id, axes, bench_.input<3>(about));
}

void DocumentRun::tell_lengths(attn::About about) {
  about.axes = {batch};
  bench_.trace.settled_input(about, Integers<1>(xt::cast<std::int64_t>(copy_of<double, 1>("lengths"))));
}

void DocumentRun::tell_mask(const attn::About& about) {
  const auto& plan = bench_.plan;
  mask_ = bench_.mask(plan.query_tokens(), plan.key_tokens(), about.title);
  set_mask(mask_);
}

namespace {

/// Which weights of that shape survive: 1 for those that are kept.
template <std::size_t N>
Integers<N> draw_dropout_mask(Workbench& bench, const attn::About& about, const attn::Shape& of_weights) {
  std::array<std::size_t, N> shape;
  std::copy(of_weights.begin(), of_weights.end(), shape.begin());
  auto mask =
      bench.trace.input(about, attn::dropout_mask<N>(bench.random(about.id), bench.options.dropout, shape));
  if (std::any_of(mask.begin(), mask.end(), [](std::int64_t kept) { return kept != 0 && kept != 1; }))
    throw attn::Error(fmt::format("{} has other elements than 0 and 1; valid: 1 for a weight that is kept",
                                  bench.trace.given_name(about.id)));
  return mask;
}

}  // namespace

void DocumentRun::tell_dropout_mask(const attn::About& words, const std::string& weights) {
  const auto [axes, shape] = std::pair(sheet_.tensor(weights).axes, sheet_.tensor(weights).shape);
  auto about = words;
  about.axes.assign(axes.begin() + 1, axes.end());
  about.formula = fmt::format("binomial(1, 1 − p), p = {:g}", bench_.options.dropout);
  if (axes.size() == 3) keep_whole(about.id, axes, draw_dropout_mask<3>(bench_, about, shape));
  if (axes.size() == 4) keep_whole(about.id, axes, draw_dropout_mask<4>(bench_, about, shape));
}

formula::Definition DocumentRun::definition_of(const document::Block& formula, const Scope& scope) {
  auto axes = formula.definition->axes;
  for (auto& axis : axes) axis = named_in(scope.results, axis);
  return sheet_.resolved({id_of(formula, scope), axes, settled(formula.definition->expr, scope)});
}

void DocumentRun::carry_batch(formula::Definition& definition) const {
  if (sheet_.has_axis(batch) && !formula::has(definition.axes, batch))
    definition.axes.insert(definition.axes.begin(), batch);
}

void DocumentRun::tell_step(const Section& section, const document::Block& formula) {
  const auto& scope = section.scope;
  const auto& named = formula.definition->name;
  const auto id = id_of(formula, scope);
  require_new(id);
  auto definition = definition_of(formula, scope);
  const auto in_document = definition.expr;
  const bool is_defined_anew = define_anew(definition, scope);
  carry_batch(definition);

  if (has(section, section.heading, "hidden")) {
    hidden_.insert(id);
    return sheet_.keep(definition, sheet_.value(definition));
  }
  auto value = formula::owned_alone(sheet_.value(definition));
  const auto shape = value.shape;
  auto* const elements = const_cast<void*>(value.data);
  const bool is_truth = value.is_truth;
  sheet_.keep(definition, std::move(value));

  const formula::Axes shown(definition.axes.begin() + (definition.axes.front() == batch),
                            definition.axes.end());
  attn::About about = {.id = id, .axes = shown, .explain = [this, definition](const attn::AnyTensor& theirs) {
                         return formula_behind(definition, theirs);
                       }};
  if (!bench_.is_mute()) {
    add_words(about, section, definition);
    if (is_defined_anew)
      about.note =
          fmt::format("--define put this formula in the place of {}.", formula::page_text(in_document));
  }
  const auto of_step = bench_.trace.is_watched() ? mistakes_of(named, definition, scope) : attn::Mistakes{};
  if (is_truth)
    bench_.trace.step(about, shape, static_cast<bool*>(elements), of_step);
  else
    bench_.trace.step(about, shape, static_cast<double*>(elements), of_step);
}

void DocumentRun::add_words(attn::About& about, const Section& section,
                            const formula::Definition& definition) {
  about.title = text_of(section.heading->prose, section.scope);
  add_formula(about, definition, sheet_);
  about.from = shown_operands(definition.expr);
  about.note = paragraphs(section, false);
  about.distribution = section.heading->marks.words.count("shares") > 0 || is_shares(definition);
  about.worked = [this, definition](const attn::Index& at) { return worked(definition, at); };
  if (!has(section, section.heading, "all")) about.worked_at = followed(section, about.axes);
}

attn::Mistakes DocumentRun::mistakes_of(const std::string& step, const formula::Definition& definition,
                                        const Scope& scope) {
  auto all = mistakes_of_step(
      bench_, {step, definition, {std::shared_ptr<void>(), &sheet_}, [&](const formula::Expr& x) {
                 return settled(x, scope);
               }});
  const auto in_code = functions_.mistakes.find(named_in(scope.results, step));
  if (in_code != functions_.mistakes.end())
    for (auto& mistake : in_code->second(*this, definition.name)) all.push_back(std::move(mistake));
  return all;
}

bool DocumentRun::define_anew(formula::Definition& definition, const Scope& scope) {
  for (const auto& text : bench_.options.define) try {
      const auto other = formula::parse_definition(text);
      if (other.name != definition.name) continue;
      const formula::Axes axes = other.axes.empty() ? definition.axes : other.axes;
      auto anew = sheet_.resolved({definition.name, axes, settled(other.expr, scope)});
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

void DocumentRun::tell_definitions() const {
  const auto& anew = bench_.options.define;
  if (anew.empty() || bench_.is_mute()) return;
  bench_.trace.note(
      "defined", "Not as the lesson has it",
      fmt::format("--define puts this formula in the place of the lesson's, and what follows, follows: {}.",
                  fmt::join(anew, "; ")));
}

void DocumentRun::require_all_defined() const {
  for (const auto& text : bench_.options.define) {
    const auto name = formula::parse_definition(text).name;
    if (defined_.count(name) > 0) continue;
    std::vector<std::string> steps;
    for (const auto& step : sheet_.definitions()) steps.push_back(step.name);
    throw attn::Error(fmt::format("--define '{}': {} is no step of this run; valid: {}", text, name,
                                  fmt::join(steps, ", ")));
  }
}

void DocumentRun::tell_flow(const document::Block& block, std::span<const Section> to_come) {
  if (bench_.is_mute()) return;
  document::Flow flow = {.words = drawn_as_, .hidden = hidden_};
  for (const auto& section : to_come)
    if (has(section, section.heading, "hidden"))
      for (const auto* formula : section.of(document::Block::Kind::formula))
        flow.hidden.insert(id_of(*formula, section.scope));
  const auto sheet = foreseen(to_come);
  for (const auto& name : defined_) flow.words.erase(name);
  const std::string from = "from ";
  bool is_source = false;
  for (const auto& argument : block.call.arguments) {
    is_source = is_source || argument.starts_with(from);
    const auto name = step_of_remark(argument.starts_with(from) ? argument.substr(from.size()) : argument);
    if (sheet.find(name) == nullptr && steps_.count(name) > 0) return;  // its own place tells what is wrong
    sheet.tensor(name);
    (is_source ? flow.sources : flow.results).push_back(name);
  }
  for (const auto& name : results_)
    if (block.call.arguments.empty() && sheet.definition_of(name) != nullptr) flow.results.push_back(name);
  if (sheet.definitions().empty()) return;
  if (flow.results.empty()) flow.results = {sheet.definitions().back().name};
  bench_.flow(document::drawn(document::layout_of(document::graph_of(sheet, flow))));
}

formula::Sheet DocumentRun::foreseen(std::span<const Section> to_come) {
  auto sheet = sheet_;
  for (const auto& section : to_come)
    for (const auto* formula : section.of(document::Block::Kind::formula)) try {
        section.is_left_out ? stand_in(*formula, section.scope) : foresee(*formula, section.scope);
      } catch (const attn::Error&) {  // which is told where the step is
      }
  std::swap(sheet, sheet_);
  return sheet;
}

void DocumentRun::foresee(const document::Block& block, const Scope& scope) {
  if (block.is_input) return foresee_input(*block.definition);
  foresee_inputs_in(settled(block.definition->expr, scope));
  auto definition = definition_of(block, scope);
  define_anew(definition, scope);
  carry_batch(definition);
  auto view = foreseen_view(definition.axes, sheet_);
  view.is_truth = formula::is_truth(definition.expr);
  sheet_.keep(std::move(definition), std::move(view));
}

void DocumentRun::foresee_inputs_in(const formula::Expr& x) {
  const bool is_unknown = (x->op == formula::Op::name || x->op == formula::Op::entry) &&
                          sheet_.find(x->name) == nullptr && !sheet_.has_axis(x->name);
  if (is_unknown) foresee_input({x->name, {}, 0.0});
  for (const auto& part : x->parts) foresee_inputs_in(part);
}

void DocumentRun::foresee_input(const formula::Definition& declaration) {
  const auto& lesson = *bench_.plan.lesson;
  const auto input = find_input(lesson, bench_.options, declaration.name);
  if (!input) return;
  if (input->draw == Draw::given && !bench_.has_given(declaration.name)) return set(declaration.name, 0.0);
  const auto extents = extents_of(lesson, *input, bench_.options);
  auto axes = declaration.axes;
  if (axes.empty())
    for (const auto& extent : extents) axes.push_back(extent.name);
  for (std::size_t i = 0; i < std::min(axes.size(), extents.size()); ++i)
    if (const auto length = length_of(extents[i], bench_.plan); length && !sheet_.has_axis(axes[i]))
      sheet_.axis(axes[i], *length);
  if (has_batch(input->draw)) axes.insert(axes.begin(), batch);
  auto view = foreseen_view(axes, sheet_);
  view.is_whole = input->draw == Draw::page;  // a mask, which the page makes itself
  sheet_.set(declaration.name, std::move(view));
}

std::string DocumentRun::formula_behind(const formula::Definition& definition,
                                        const attn::AnyTensor& theirs) const {
  const auto view = formula::view_of(definition.axes, theirs.view());
  const bool is_exact = theirs.dtype() == attn::Dtype::float64;
  if (!is_exact && theirs.dtype() != attn::Dtype::float32) return "";
  const auto found = formula::formulas_of(sheet_, definition, view, is_exact ? 1e-9 : 1e-5);
  if (found.empty()) return "";
  const auto on_page = formula::page_text(found.front().expr);
  const bool says_it = on_page != formula::page_text(definition.expr);
  return fmt::format("{} = {}", definition.name, says_it ? on_page : formula::text(found.front().expr));
}

void DocumentRun::tell_note(const Section& section) {
  if (bench_.is_mute()) return;
  const auto title = text_of(section.heading->prose, section.scope);
  std::string drawn;
  for (const auto* fence : section.of(document::Block::Kind::fence))
    drawn += (drawn.empty() ? "" : "\n") + text_of(fence->prose, section.scope);
  const auto id = section.heading->marks.id.empty() ? slug(title) : section.heading->marks.id;
  require_new_name(id, section.heading->place);
  if (id == "idea") return bench_.idea(paragraphs(section, false), drawn);
  bench_.trace.note(id, title, paragraphs(section, false), drawn);
}

void DocumentRun::tell_claim(const document::Block& item) {
  require_new_name(item.marks.id, item.place);
  if (bench_.is_mute()) return;
  if (item.code.starts_with("do ") && !bench_.options.define.empty())
    return bench_.trace.note(
        item.marks.id, "Not compared: " + text_of(item.prose, {}),
        "The other code computes the lesson's formulas, and --define put another one in their place.");
  if (item.code.starts_with("do ")) return named(functions_.actions, item.code.substr(3), item.place)(*this);
  const auto sides = sides_of(item);
  const Scope scope;
  const auto left = settled(document::read_formula(item.place, sides.left), scope);
  const auto right = settled(document::read_formula(item.place, sides.right), scope);
  const auto difference = sheet_.resolved({"", {}, formula::call("abs", {left - right})});
  double value = 0.0;
  sheet_.in_slices(difference, [&](const formula::View& slice) {
    const auto* numbers = static_cast<const double*>(slice.data);
    for (std::size_t i = 0; i < attn::element_count(slice.shape); ++i)
      value = attn::maximum({value, numbers[i]});
  });
  const auto& sides_resolved = difference.expr->parts[0]->parts;
  attn::Claim claim = {.id = item.marks.id,
                       .claim = text_of(item.prose, scope),
                       .formula = fmt::format("max |{} − {}|", formula::page_text(sides_resolved[0]),
                                              formula::page_text(sides_resolved[1])),
                       .value = value,
                       .limit = attn::exactly(0.0)};
  if (sides.is_exact) return bench_.trace.claim(claim);
  claim.limit = rounding(
      bench_.trace, std::max(magnitude(sides_resolved[0], sheet_), magnitude(sides_resolved[1], sheet_)));
  const double expected = largest({"", difference.axes, sides_resolved[1]}, sheet_);
  expected == 0.0 ? bench_.trace.claim(claim) : claim_unless_lost(bench_.trace, claim, expected);
}

void DocumentRun::tell_next(const Section& section) {
  std::vector<Proposal> proposals, spare;
  for (const auto* item : section.of(document::Block::Kind::item)) {
    if (!item->code.starts_with("attnlab "))
      throw document::Error(item->place, fmt::format("\"{}\" is no command; valid: attnlab …", item->code));
    if (!holds(item->marks.condition, section.scope)) continue;
    auto& list = item->marks.words.count("spare") > 0 ? spare : proposals;
    list.push_back({item->code.substr(std::string("attnlab ").size()), text_of(item->prose, section.scope)});
  }
  bench_.try_next(proposals, spare);
}

void DocumentRun::tell_code() {
  const auto& steps = sheet_.definitions();
  const auto last = std::find_if(steps.rbegin(), steps.rend(), [&](const auto& step) {
    return results_.empty() || std::find(results_.begin(), results_.end(), step.name) != results_.end();
  });
  std::set<std::string> needed;
  for (auto step = last; step != steps.rend(); ++step) {
    const bool is_needed = step == last || needed.count(step->name) > 0;
    if (!is_needed) continue;
    needed.insert(step->name);
    for (const auto& operand : formula::operands(step->expr)) needed.insert(operand);
  }
  std::vector<std::string> lines, others;
  for (const auto& step : steps) {
    auto& list = needed.count(step.name) > 0 ? lines : others;
    const auto of_step = bench_.options.code == "xtensor" ? formula::xtensor_lines(sheet_, step, true)
                                                          : formula::numpy_lines(sheet_, step, true);
    list.insert(list.end(), of_step.begin(), of_step.end());
  }
  if (bench_.options.code != "xtensor") lines = with_projections_joined(lines);
  if (!lines.empty()) bench_.code(cut_to_page(with_aligned_equals(std::move(lines))));
  if (!others.empty())
    bench_.trace.within("rest", [&] { bench_.code(cut_to_page(with_aligned_equals(std::move(others)))); });
}

attn::Worked DocumentRun::worked(const formula::Definition& definition, const attn::Index& at) const {
  return sheet_.worked(definition, at, [this](const std::string& name) {
    return hidden_.count(name) == 0 && bench_.trace.speaks_of(name);
  });
}

std::vector<std::string> DocumentRun::shown_operands(const formula::Expr& x) const {
  std::vector<std::string> shown;
  for (const auto& name : formula::operands(x)) {
    const bool is_hidden = hidden_.count(name) > 0;
    for (const auto& one : is_hidden ? shown_operands(sheet_.definition_of(name)->expr) : std::vector{name})
      if (std::find(shown.begin(), shown.end(), one) == shown.end()) shown.push_back(one);
  }
  return shown;
}

formula::Expr DocumentRun::settled(const formula::Expr& x, const Scope& scope) const {
  const auto within = [&](const std::string& name) {
    return sheet_.find(scope.prefix + name) != nullptr ? scope.prefix + name : name;
  };
  const auto renamed = [&](const formula::Expr& named) -> formula::Expr {
    formula::Node node = *named;
    if (node.op == formula::Op::over) node.axis = named_in(scope.results, node.axis);
    if (node.op == formula::Op::size) node.name = named_in(scope.results, node.name);
    for (auto& name : node.changed) name = within(name);
    const bool is_named =
        node.op == formula::Op::name || node.op == formula::Op::entry || node.op == formula::Op::again;
    if (!is_named) return formula::Expr(std::move(node));
    const auto found = scope.renamed.find(node.name);
    if (found != scope.renamed.end() && node.op == formula::Op::name) return found->second;
    if (found != scope.renamed.end()) node.name = found->second->name;
    node.name = within(node.name);
    if (node.op == formula::Op::name && sheet_.find(node.name) == nullptr && !sheet_.has_axis(node.name))
      if (const auto number = setting(node.name))
        return formula::Expr(formula::Node{.op = formula::Op::number, .number = *number, .name = node.name});
    return formula::Expr(std::move(node));
  };
  const std::function<formula::Expr(const formula::Expr&)> settle = [&](const formula::Expr& part) {
    const auto whole = formula::with_parts(part, settle);
    const bool has_names = whole->op != formula::Op::number && whole->op != formula::Op::call &&
                           whole->op != formula::Op::position;
    return has_names ? renamed(whole) : whole;
  };
  return simplified(settle(x));
}

bool DocumentRun::holds(const std::optional<formula::Expr>& condition, const Scope& scope) {
  if (!condition) return true;
  return number_at_followed(*condition, scope) != 0.0;
}

double DocumentRun::number_at_followed(const formula::Expr& x, const Scope& scope) {
  const auto definition = sheet_.resolved({"", {}, settled(x, scope)});
  attn::Index at;
  for (const auto& axis : definition.axes) at.push_back(followed_place(axis).value_or(0));
  return goes_through_much(definition.expr, sheet_) ? sheet_.value(definition).at(at)
                                                    : sheet_.worked(definition, at).value();
}

std::vector<double> DocumentRun::numbers_along(const std::string& axis, const formula::Expr& x,
                                               const Scope& scope) {
  const auto definition = sheet_.resolved({"", {}, settled(x, scope)});
  std::vector<double> numbers;
  for (std::size_t i = 0; i < sheet_.size_of(axis); ++i) {
    attn::Index at;
    for (const auto& other : definition.axes)
      at.push_back(other == axis ? i : followed_place(other).value_or(0));
    numbers.push_back(sheet_.worked(definition, at).value());
  }
  return numbers;
}

std::optional<std::size_t> DocumentRun::followed_place(const std::string& axis) {
  auto& known = followed_[axis];
  if (known.steps == sheet_.definitions().size()) return known.place;
  known.steps = sheet_.definitions().size();
  for (const auto& [name, places] : follow_) {
    if (name != axis) continue;
    for (const auto& place : places) try {
        return known.place = static_cast<std::size_t>(number_at_followed(place, {}));
      } catch (const formula::Error&) {  // of a step that is not computed yet
      }
  }
  return known.place = std::nullopt;
}

std::optional<attn::Index> DocumentRun::followed(const Section& section, const formula::Axes& axes) {
  std::map<std::string, formula::Expr> own;
  for (const auto& one : document::cut_at_commas(section.heading->marks.follow)) {
    const auto definition = formula::parse_definition(one);
    own.emplace(named_in(section.scope.results, definition.name), definition.expr);
  }
  attn::Index at;
  for (const auto& axis : axes) {
    const auto found = own.find(axis);
    const auto place = found == own.end()
                           ? followed_place(axis)
                           : static_cast<std::size_t>(number_at_followed(found->second, section.scope));
    if (!place) return std::nullopt;
    at.push_back(*place);
  }
  return at;
}

std::string DocumentRun::label(const std::string& axis, std::size_t place) const {
  if (!sheet_.has_axis(axis) || place >= sheet_.size_of(axis))
    throw formula::Error(0, fmt::format("the axis {} has no entry {}", axis, place));
  if (!bench_.trace.has_labels(axis)) return fmt::format("{}", place);
  const auto& labels = bench_.trace.labels(axis).of(0);
  return place < labels.size() ? labels[place] : "<pad>";
}

std::string DocumentRun::text_of(const document::Prose& prose, const Scope& scope, const attn::Event* event) {
  std::string text;
  for (const auto& piece : prose) text += text_of(piece, scope, event);
  text.erase(text.find_last_not_of('\n') + 1);  // where a last part says nothing
  return text;
}

std::string DocumentRun::text_of(const document::Piece& piece, const Scope& scope, const attn::Event* event) {
  try {
    if (piece.choice) {
      for (const auto& branch : piece.choice->branches)
        if (holds(branch.condition, scope)) return text_of(branch.content, scope, event);
      return "";
    }
    if (piece.call) return text_of(*piece.call, piece.place, scope, event);
    if (!piece.value) return piece.text;
    const double number = number_at_followed(*piece.value, scope);
    if (!piece.format.empty()) return fmt::format(fmt::runtime("{:" + piece.format + "}"), number);
    return number == std::floor(number) && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number)
                                                                   : fmt::format("{:.4f}", number);
  } catch (const formula::Error& error) {
    throw document::Error(piece.place, error.what());
  }
}

std::string DocumentRun::text_of(const document::Call& call, const document::Place& place, const Scope& scope,
                                 const attn::Event* event) {
  const auto argument = [&](std::size_t i) {
    if (i >= call.arguments.size()) throw document::Error(place, fmt::format("{} of what?", call.name));
    return document::read_formula(place, call.arguments[i]);
  };
  if (call.name == "call")
    if (const auto found = functions_.texts.find(first_of(call, place)); found != functions_.texts.end())
      return found->second(*this);
  if (call.name == "call") {
    const auto& remark = named(functions_.remarks, first_of(call, place), place);
    if (event == nullptr)
      throw document::Error(place, "a remark on a step stands in the text after {at STEP}");
    return remark(*event);
  }
  if (call.name == "token") {
    const auto& axis = first_of(call, place);
    return label(axis, call.arguments.size() == 1
                           ? followed_place(axis).value_or(0)
                           : static_cast<std::size_t>(number_at_followed(argument(1), scope)));
  }
  if (call.name == "shape") {
    const auto& tensor = sheet_.tensor(first_of(call, place));
    const attn::Shape shape(tensor.shape.begin() + (tensor.axes.front() == batch), tensor.shape.end());
    return attn::to_string(shape);
  }
  std::vector<std::string> numbers;
  for (const double number : numbers_along(first_of(call, place), argument(1), scope))
    numbers.push_back(fmt::format("{:.4f}", number));
  return fmt::format("{}", fmt::join(numbers, ", "));
}

}  // namespace lessons
