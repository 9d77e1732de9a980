#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "attn/ops/measure.hpp"
#include "document/prose.hpp"
#include "formula/parse.hpp"
#include "lessons/documents/documents.hpp"
#include "lessons/documents/meanings.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

Sides sides_of(const document::Block& item) {
  const auto& code = item.code.text();
  const std::string equal = " = ", differs = " ≠ ", by = " by ";
  const auto cut = [&](std::size_t at, const std::string& sign, double bound = 0.0) {
    return Sides{.left = item.code.part(0, at),
                 .right = item.code.part(at + sign.size()),
                 .is_exact = sign == equal,
                 .bound = bound};
  };
  if (const auto at = code.find(differs), least = code.find(by); at != code.npos && least != code.npos)
    return {.left = item.code.part(0, at),
            .right = item.code.part(at + differs.size(), least),
            .least = item.code.part(least + by.size())};
  for (const auto& [sign, bound] : {std::pair(" ≈ ", 0.0), {" ≤ ", 1.0}, {" ≥ ", -1.0}})
    if (const auto at = code.find(sign); at != std::string::npos) return cut(at, sign, bound);
  int depth = 0;
  for (std::size_t i = 0; i + equal.size() <= code.size(); ++i) {
    if (code[i] == '(' || code[i] == '[') ++depth;
    if (code[i] == ')' || code[i] == ']') --depth;
    if (depth == 0 && code.compare(i, equal.size(), equal) == 0) return cut(i, equal);
  }
  throw document::Error(
      item.code.text().empty() ? item.place : item.code.place_of(0),
      code.empty() ? "a claim without its formula; valid: `left = right` or `left ≈ right` behind the words"
                   : fmt::format("\"{}\" is no claim; valid: left = right, left ≈ right, left ≤ number, left "
                                 "≥ number, left ≠ right by number",
                                 code));
}

namespace {

double itself(double x) {
  return x;
}

/// What `of` makes of the numbers of a formula, slice by slice, put together as a maximum; `least` where
/// there is no larger one.
template <class Of>
double maximum(const formula::Definition& resolved, const formula::Sheet& sheet, const Of& of,
               double least = 0.0) {
  double most = least;
  sheet.in_slices(resolved, [&](const formula::View& slice) {
    const auto* numbers = static_cast<const double*>(slice.data);
    for (std::size_t i = 0; i < attn::element_count(slice.shape); ++i)
      most = attn::maximum({most, of(numbers[i])});
  });
  return most;
}

/// The largest finite number in size.
double largest(const formula::Definition& resolved, const formula::Sheet& sheet) {
  return maximum(resolved, sheet, [](double x) { return std::isfinite(x) ? std::abs(x) : 0.0; });
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

double largest(const formula::Expr& x, formula::Sheet& sheet) {
  return largest(sheet.resolved({"", formula::free_axes(x), x}), sheet);
}

/// How large the numbers are that a value is rounded at. What is computed again is rounded at the size of
/// what it is computed from, and of the steps on the way, too.
double magnitude(const formula::Expr& x, formula::Sheet& sheet) {
  constexpr double of_itself = 0.9;  // what should be 1 is, rounded to half precision, 1.01
  const double own = largest(with_sizes(x), sheet) * of_itself;
  double most = own;
  const std::function<void(const formula::Expr&)> look_into = [&](const formula::Expr& part) {
    for (const auto& inner : part->parts) look_into(inner);
    if (part->op != formula::Op::again) return;
    for (const auto& from : part->parts) most = std::max(most, magnitude(from, sheet));
    for (const auto& step : sheet.computed_anew(part))
      if (step.name != part->name) most = std::max(most, own * largest(formula::name(step.name), sheet));
  };
  look_into(x);
  return most;
}

/// Tells that no entry of the left side is larger than the number on the right, or smaller where `bound` is
/// −1.
void tell_bound(attn::Trace& trace, const formula::Sheet& sheet, attn::Claim claim,
                const formula::Definition& left, const formula::Definition& right, double bound) {
  const auto extreme_entry = [&](const formula::Definition& side) {
    constexpr double least = -std::numeric_limits<double>::infinity();
    return bound * maximum(
                       side, sheet, [bound](double x) { return bound * x; }, least);
  };
  const bool is_upper = bound > 0.0;
  if (claim.formula.empty())
    claim.formula = (left.axes.empty() ? "" : is_upper ? "max " : "min ") + formula::page_text(left.expr);
  claim.value = extreme_entry(left);
  claim.limit = is_upper ? attn::at_most(extreme_entry(right)) : attn::at_least(extreme_entry(right));
  trace.claim(claim);
}

/// Makes the claim, or says in a note of its id that nothing is claimed: where rounding alone, its limit, may
/// change numbers of size `magnitude` by more than a quarter.
void claim_unless_lost(attn::Trace& trace, const attn::Claim& claim, double magnitude) {
  constexpr double most = 0.25;  // of a number
  if (claim.limit.bound <= most * magnitude || !std::isfinite(magnitude)) return trace.claim(claim);
  trace.note(
      claim.id, "Not claimed: it would be lost in rounding",
      fmt::format("In theory: {}. With the numbers of this run rounding alone may change that by {:g}, "
                  "so whether it holds would say nothing.",
                  claim.claim, claim.limit.bound));
}

}  // namespace

void tell_claim_of(Meanings& meanings, const document::Block& item, const Scope& scope,
                   const std::string& words) {
  const auto sides = sides_of(item);
  const auto settled = [&](const document::Source& side) {
    const auto read = document::read_formula(side);
    return at_place(side, [&] {
      meanings.sheet().resolved({"", {}, meanings.settled(read, scope)});
      return meanings.settled(read, scope);
    });
  };
  auto& sheet = meanings.sheet();
  auto& trace = meanings.bench().trace;
  if (sides.bound != 0.0) {
    const auto limit = sheet.resolved({"", {}, settled(sides.right)});
    for (const auto& axis : limit.axes)
      if (sheet.size_of(axis) > 1)
        throw document::Error(sides.right.place_of(0),
                              fmt::format("the bound changes along {}; valid: one number for all", axis));
    return tell_bound(trace, sheet,
                      {.id = scope.prefix + item.marks.id, .claim = words, .formula = item.marks.written},
                      sheet.resolved({"", {}, settled(sides.left)}), limit, sides.bound);
  }
  const auto difference =
      sheet.resolved({"", {}, formula::call("abs", {settled(sides.left) - settled(sides.right)})});
  const auto& left = difference.expr->parts[0]->parts[0];
  const auto& right = difference.expr->parts[0]->parts[1];
  const formula::Definition left_alone{"", formula::free_axes(left), left},
      right_alone{"", formula::free_axes(right), right};
  const bool is_zero = is_number(right, 0.0);
  attn::Claim claim = {.id = scope.prefix + item.marks.id,
                       .claim = words,
                       .formula = fmt::format("max |{}|", formula::page_text(is_zero ? left : left - right)),
                       .value = maximum(difference, sheet, itself),
                       .limit = attn::exactly(0.0)};
  if (!item.marks.written.empty()) claim.formula = item.marks.written;
  if (sides.is_exact && !is_zero && left_alone.axes.empty() && right_alone.axes.empty()) {
    claim.value = sheet.value(left_alone).at({});
    claim.limit = attn::exactly(sheet.value(right_alone).at({}));
    if (item.marks.written.empty()) claim.formula = formula::page_text(left);
  }
  if (sides.is_exact) return trace.claim(claim);
  if (!sides.least.text().empty()) {
    const double bound = rounding(trace, largest({"", difference.axes, right}, sheet)).bound;
    claim.limit = attn::at_least(bound);
    if (2.0 * bound <= largest(settled(sides.least), sheet)) trace.claim(claim);
    return;
  }
  double size = std::max(magnitude(left, sheet), magnitude(right, sheet));
  if (const auto& rounded = item.marks.rounded_as; !rounded.text().empty())
    size = std::max(size, largest(settled(rounded), sheet));
  claim.limit = rounding(trace, size);
  const double expected = largest({"", difference.axes, right}, sheet);
  expected == 0.0 ? trace.claim(claim) : claim_unless_lost(trace, claim, expected);
}

}  // namespace lessons
