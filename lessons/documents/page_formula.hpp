#pragma once

#include <set>
#include <string>
#include <vector>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What the page says of the formula of a step, as text and as MathML: "scores / √d_k = scores / √4 = scores
/// / 2", "Q: [5×16] → [5×2×8] → [2×5×8]".
void add_formula(attn::About& about, const formula::Definition& definition, const formula::Sheet& sheet);

/// Whether rows of the step are shares that follow from softmax over its last axis.
bool is_shares(const formula::Definition& definition);

/// "scaled = scores / d_k": a formula close to that of the step, which gives somebody's numbers; empty where
/// none is found, or where their numbers are too coarse to tell.
std::string formula_behind(const formula::Definition& definition, const formula::Sheet& sheet,
                           const attn::AnyTensor& theirs);

/// The page's code behind the last step: the formulas that lead to those of `results` that the run has, or to
/// its last step; with "from X" among these from X on, and what leads to X under `forward`; the others under
/// `rest`. Steps that are hidden are there only where others need them.
void tell_code_of(Workbench& bench, const formula::Sheet& sheet, const std::vector<std::string>& results,
                  const std::set<std::string>& hidden);

}  // namespace lessons
