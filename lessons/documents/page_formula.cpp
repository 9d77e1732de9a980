#include "lessons/documents/page_formula.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attn/text/width.hpp"
#include "formula/edits.hpp"
#include "formula/numpy.hpp"
#include "formula/text.hpp"

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
  formula::Node node =
      *formula::with_parts(x, [&](const formula::Expr& part) { return without_group(part, group); });
  if (!group.empty() && node.name.starts_with(group)) node.name.erase(0, group.size());
  node.axis.erase(0, node.axis.rfind('/') + 1);
  if (node.op == formula::Op::size || node.op == formula::Op::position)
    node.name.erase(0, node.name.rfind('/') + 1);
  return formula::Expr(std::move(node));
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

bool is_shares(const formula::Definition& definition) {
  return definition.expr->op == formula::Op::over && definition.expr->name == "softmax" &&
         definition.expr->axis == definition.axes.back();
}

std::string formula_behind(const formula::Definition& definition, const formula::Sheet& sheet,
                           const attn::AnyTensor& theirs) {
  const auto view = formula::view_of(definition.axes, theirs.view());
  const bool is_exact = theirs.dtype() == attn::Dtype::float64;
  if (!is_exact && theirs.dtype() != attn::Dtype::float32) return "";
  const auto found = formula::formulas_of(sheet, definition, view, is_exact ? 1e-9 : 1e-5);
  if (found.empty()) return "";
  const auto on_page = formula::page_text(found.front().expr);
  const bool says_it = on_page != formula::page_text(definition.expr);
  return fmt::format("{} = {}", definition.name, says_it ? on_page : formula::text(found.front().expr));
}

}  // namespace lessons
