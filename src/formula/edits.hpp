#pragma once

#include <vector>

#include "formula/sheet.hpp"

namespace formula {

/// All formulas that differ from a resolved one in one place, each once, simplest first: a factor or term
/// left out or doubled, another operand of that shape, all operands of another group, another axis, an index
/// shifted, reversed or exchanged, another constant, a condition turned round, a function before or after
/// another or not at all, a tensor of the result's shape added, the numbers of an operand cut into other
/// rows; the same in functions that are written out, such as softmax. Each is resolved.
std::vector<Definition> edits_of(const Sheet& sheet, const Definition& definition);

/// Those that reproduce `theirs` to within `tolerance` of its largest number, simplest first: single ones,
/// those with one constant that is solved for, unless `theirs` is a single number; where there are none, one
/// that is made in a part alone (a sample, a head, some rows), or 0 there; then single ones of the formula
/// with operands written out, and operands of these; then pairs. None where `theirs` is what the formula
/// gives. Gives up after `seconds` of the processor.
std::vector<Definition> formulas_of(const Sheet& sheet, const Definition& definition, const View& theirs,
                                    double tolerance, double seconds = 2.0);

/// The formula with that step's own in place of its entries: `softmax(key) where(mask, scaled, -inf)` for
/// `softmax(key) masked`. The same formula where the sheet has no definition of the step.
Definition with_written_out(const Sheet& sheet, const Definition& definition, const std::string& step);

}  // namespace formula
