/// Memory for time: what the forward pass keeps for the backward pass, and what may be computed again.
/// Sources: gradient checkpointing: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; Dao et
/// al. 2022, "FlashAttention", algorithm 4.

#include "lessons/backward/recomputation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attn/ops/measure.hpp"
#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// The bytes of tensors that a forward pass keeps until the backward pass reads them.
void show_kept(DocumentRun& run, const std::string& id, const std::string& title,
               const std::vector<std::string>& names) {
  auto& trace = run.bench().trace;
  const auto size = attn::item_size(trace.dtype());
  std::size_t bytes = 0;
  std::vector<attn::Worked> counts;
  for (const auto& name : names) {
    const auto count = attn::element_count(run.sheet().tensor(name).shape);
    counts.emplace_back(static_cast<double>(count));
    bytes += count * size;
  }
  const auto worked = [&](const attn::Index&) {
    return attn::Worked::product({attn::Worked(static_cast<double>(size)), attn::Worked::sum(counts)});
  };
  trace.step({.id = id,
              .title = title,
              .formula = fmt::format("{} bytes · numbers in {}", size, fmt::join(names, ", ")),
              .from = names,
              .worked = worked},
             static_cast<std::int64_t>(bytes));
}

/// The gradients on the sheet, all steps computed again, with `instead` in the place of the step of that
/// name.
Gradients gradients_again(formula::Sheet sheet, const std::string& step = "",
                          const formula::View& instead = {}) {
  for (const auto& one : sheet.definitions())
    sheet.set(one.name, one.name == step ? instead : sheet.rounded_value(one));
  return gradients_on(sheet);
}

double largest_difference(const Gradients& a, const Gradients& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].elements.size(); ++j)
      largest = attn::maximum({largest, std::abs(a[i].elements[j] - b[i].elements[j])});
  return largest;
}

double largest_number(const Gradients& gradients) {
  double largest = 0.0;
  for (const auto& gradient : gradients)
    for (const double x : gradient.elements) largest = attn::maximum({largest, std::abs(x)});
  return largest;
}

/// log_sum_exp, each finite number moved by more than rounding moves it: how far the gradients then move
/// bounds what rounding may do. In float64 by at least 1e-12, so that the bound is the same on every machine.
Tensor<3> nudged(const attn::Trace& trace, Tensor<3> log_sum_exp) {
  for (double& x : log_sum_exp)
    if (const double size = 1.0 + std::abs(x); std::isfinite(x))
      x += std::max(8.0 * attn::largest_rounding_error(trace.dtype(), size), 1e-12 * size);
  return log_sum_exp;
}

void claim_checkpointing(DocumentRun& run, const ToClaim& claim) {
  const auto& sheet = run.sheet();
  run.bench().trace.claim({.id = claim.id,
                           .claim = claim.words,
                           .formula = "max |gradients, all computed again from the input − those above|",
                           .value = largest_difference(gradients_on(sheet), gradients_again(sheet)),
                           .limit = attn::exactly(0.0)});
}

void claim_flash(DocumentRun& run, const ToClaim& claim, const std::string& group) {
  auto& bench = run.bench();
  const auto& sheet = run.sheet();
  const auto scores = run.copy_of<double, 4>(sheet.stands_for(group + "masked"));
  const auto log_sum_exp = run.copy_of<double, 3>(group + "flash/log_sum_exp");
  const auto gradients_from = [&](const Tensor<3>& sums) {
    auto mute = bench.mute();
    const auto weights = mute.trace.step({}, attn::softmax_from(scores, sums));
    const auto view = formula::view_of(sheet.tensor(group + "weights").axes, attn::view_of(weights));
    return gradients_again(sheet, group + "weights", view);
  };
  const auto shown = gradients_on(sheet), again = gradients_from(log_sum_exp),
             from_nudged = gradients_from(nudged(bench.trace, log_sum_exp));
  claim_unless_lost(bench.trace,
                    {.id = claim.id,
                     .claim = claim.words,
                     .formula = "max |gradients with weights = exp(scaled − log_sum_exp) − those above|",
                     .value = largest_difference(shown, again),
                     .limit = roughly_at_most(largest_difference(again, from_nudged))},
                    largest_number(shown));
}

}  // namespace

void add_recomputation(Functions& functions, const std::vector<std::string>& everything,
                       const std::string& group) {
  auto with_flash = everything;
  std::replace(with_flash.begin(), with_flash.end(), group + "weights", group + "flash/log_sum_exp");
  const auto add = [&](const std::string& id, const std::string& title,
                       const std::vector<std::string>& names) {
    functions.actions[id] = [=](DocumentRun& run) { show_kept(run, id, title, names); };
  };
  add("kept/everything", "Bytes kept where nothing is computed again", everything);
  add("kept/flash", "Bytes kept by flash", with_flash);
  add("kept/checkpoint", "Bytes kept by gradient checkpointing", {everything.front()});
  functions.claims["checkpointing-gives-the-same"] = claim_checkpointing;
  functions.claims["flash-gives-the-same"] = [group](DocumentRun& run, const ToClaim& claim) {
    claim_flash(run, claim, group);
  };
}

}  // namespace lessons
