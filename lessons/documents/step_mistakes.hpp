#pragma once

#include <functional>
#include <memory>
#include <string>

#include "formula/sheet.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/mistake.hpp"

namespace lessons {

/// Of a step that is computed place by place (formula::Recurrence), the place that it has come to.
struct RowPlace {
  std::string axis;
  std::size_t place = 0;
};

/// A step of a run and all that is known when it is computed.
struct StepOnSheet {
  std::string name;                ///< as documents name it: "masked"; data may have either name
  formula::Definition definition;  ///< as the sheet has it: "causal/masked"
  std::shared_ptr<const formula::Sheet> sheet;
  /// What a formula of a document says on the sheet; none where it is the same.
  std::function<formula::Expr(const formula::Expr&)> settled{};
  std::shared_ptr<const RowPlace> row{};  ///< mistakes make that row alone; null where they make all
};

/// The mistakes in a step that data/mistakes/ has formulas of, as far as the run has the names in them.
/// Formulas may speak of tensors, axes and settings of the run and of these numbers: `kv_heads`,
/// `temperature`, `many_heads`, `has_mask`, `writes` (the lesson writes word by word), `projected`,
/// `split` and `joined` (there are steps Q, Q_heads and concat), `in_heads` (the step has an axis of heads),
/// `crosses` (keys are of other tokens than queries), the axes `d_model` and `batch_key` (the keys of all
/// samples), `target_lengths[batch]`, `unmasked` (the tensor that the mask hides entries of, or that softmax
/// takes where nothing is hidden), and what a mask in a step `masked` is made of: `hides_future`,
/// `hides_padding`, `reach` (the window; inf without one), `offset` (query i sits at position i + offset),
/// `allowed[query, key]` by the rule on positions, `real[batch, key]`, which is no padding. Of Q, K
/// and V, where their weights lie side by side: `fused_W[d_model, fused]`, `fused_b[fused]`, `width_Q`,
/// `width_K` and `width_V`, `column` of the step, `groups` of heads, `by_group[fused]`, the column of these
/// that a weight packed group by group has there, and `in_thirds[fused]`, the inverse. The mistakes may be
/// asked as long as `settled` and the tensors live.
attn::Mistakes mistakes_of_step(const Workbench& bench, const StepOnSheet& step);

}  // namespace lessons
