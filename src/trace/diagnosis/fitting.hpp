#pragma once

#include <set>
#include <string>
#include <vector>

#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/replay.hpp"

namespace attn {

/// Brings each tensor to the expected shape where there is one way to do so (layout.hpp, masks.hpp), and
/// finds for undecided ones the only id whose shape they have; what could be several steps remains undecided.
/// Nothing is broadcast but masks. Several masks of one id hide what any of them hides. `arithmetic` and
/// `decimals` become those of the steps.
void fit(Dump& dump, const std::vector<ExpectedTensor>& expected, MaskTrue mask_true);

/// Takes undecided tensors for the step that they are right as, else, `by_mistakes`, for one in which a
/// mistake gives them, else for the first that they could be.
void settle_names(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions = {}, bool by_mistakes = true);

/// Takes a dump for one of half precision where one of its steps is the right one rounded to that, however
/// few numbers it has.
void settle_arithmetic(Dump& dump, const Rerun& rerun, const std::set<std::string>& conventions);

/// Brings tensors that express the right ones otherwise to the form that the lesson has, where this leaves
/// fewer steps of the dump that differ: axes in another order that shapes do not tell, samples and heads as
/// one axis, the columns of queries and keys permuted alike, queries and keys multiplied by factors that
/// cancel, and scores in base 2, which are log₂ e times as large. Notes in the dump what was done.
void settle_forms(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions = {});

}  // namespace attn
