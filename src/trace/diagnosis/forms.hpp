#pragma once

#include <set>
#include <string>
#include <vector>

#include "trace/diagnosis/dump.hpp"

namespace attn {

/// Brings tensors that express the right ones otherwise to the form that the lesson has, where this leaves
/// fewer steps of the dump that differ: axes in another order that shapes do not tell, samples and heads as
/// one axis, the columns of queries and keys permuted alike, queries and keys multiplied by factors that
/// cancel, and scores in base 2, which are log₂ e times as large. Notes in the dump what was done.
void settle_forms(Dump& dump, const std::vector<ExpectedTensor>& expected, const Rerun& rerun,
                  const std::set<std::string>& conventions = {});

}  // namespace attn
