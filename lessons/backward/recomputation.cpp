/// Memory for time: what the forward pass keeps for the backward pass, and what may be computed again.
/// Sources: gradient checkpointing: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; Dao et
/// al. 2022, "FlashAttention", algorithm 4.

#include "lessons/backward/recomputation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "attn/ops/precision.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

/// A tensor that a forward pass keeps until the backward pass reads it.
struct KeptTensor {
  std::string id;
  std::size_t numbers;
};

attn::Worked worked_bytes(const std::vector<KeptTensor>& kept, std::size_t bytes_of_a_number) {
  std::vector<attn::Worked> terms;
  for (const auto& tensor : kept) terms.emplace_back(static_cast<double>(tensor.numbers));
  return attn::Worked::product(
      {attn::Worked(static_cast<double>(bytes_of_a_number)), attn::Worked::sum(std::move(terms))});
}

constexpr std::array<std::pair<const char*, const char*>, 3> titles_of_kept = {
    {{"kept/everything", "Bytes kept where nothing is computed again"},
     {"kept/flash", "Bytes kept by flash"},
     {"kept/checkpoint", "Bytes kept by gradient checkpointing"}}};

void show_kept(Workbench& bench, const std::pair<const char*, const char*>& id_and_title,
               const std::vector<KeptTensor>& kept) {
  const auto size = attn::item_size(bench.trace.dtype());
  std::vector<std::string> names;
  std::size_t numbers = 0;
  for (const auto& tensor : kept) {
    names.push_back(tensor.id);
    numbers += tensor.numbers;
  }
  bench.trace.step({.id = id_and_title.first,
                    .title = id_and_title.second,
                    .formula = fmt::format("{} bytes · numbers in {}", size, fmt::join(names, ", ")),
                    .from = names,
                    .worked = [&](const attn::Index&) { return worked_bytes(kept, size); }},
                   static_cast<std::int64_t>(numbers * size));
}

/// log_sum_exp, each finite number moved by more than rounding moves it: how far the gradients then move
/// bounds what rounding may do. In float64 by at least 1e-12, so that the bound is the same on every machine.
Tensor<3> nudged(const attn::Trace& trace, Tensor<3> log_sum_exp) {
  for (double& x : log_sum_exp)
    if (const double size = 1.0 + std::abs(x); std::isfinite(x))
      x += std::max(8.0 * attn::largest_rounding_error(trace.dtype(), size), 1e-12 * size);
  return log_sum_exp;
}

void claim_checkpointing(attn::Trace& trace, const Gradients& shown, const Gradients& again) {
  trace.claim({.id = "checkpointing-gives-the-same",
               .claim = "checkpointing gives the same gradients, bit for bit",
               .formula = "max |gradients, all computed again from the input − those above|",
               .value = largest_difference(shown, again),
               .limit = attn::exactly(0.0)});
}

void claim_flash(attn::Trace& trace, const Gradients& shown, const Gradients& again,
                 const Gradients& from_nudged) {
  claim_unless_lost(trace,
                    {.id = "flash-gives-the-same",
                     .claim = "weights made again from log_sum_exp give the same gradients",
                     .formula = "max |gradients with weights = exp(scaled − log_sum_exp) − those above|",
                     .value = largest_difference(shown, again),
                     .limit = roughly_at_most(largest_difference(again, from_nudged))},
                    largest_number(shown));
}

void claim_checkpointing_of(DocumentRun& run) {
  const auto& sheet = run.sheet();
  claim_checkpointing(run.bench().trace, gradients_on(sheet), gradients_again(sheet));
}

void claim_flash_of(DocumentRun& run, const std::string& group) {
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
  claim_flash(bench.trace, gradients_on(sheet), gradients_from(log_sum_exp),
              gradients_from(nudged(bench.trace, log_sum_exp)));
}

}  // namespace

void add_recomputation(Functions& functions, const std::vector<std::string>& everything,
                       const std::string& group) {
  auto flash = everything;
  std::replace(flash.begin(), flash.end(), group + "weights", group + "flash/log_sum_exp");
  const std::vector<std::string> kept[] = {everything, flash, {everything.front()}};
  for (std::size_t i = 0; i < titles_of_kept.size(); ++i)
    functions.actions[titles_of_kept[i].first] = [i, names = kept[i]](DocumentRun& run) {
      std::vector<KeptTensor> tensors;
      for (const auto& name : names)
        tensors.push_back({name, attn::element_count(run.sheet().tensor(name).shape)});
      show_kept(run.bench(), titles_of_kept[i], tensors);
    };
  functions.actions["checkpointing-gives-the-same"] = claim_checkpointing_of;
  functions.actions["flash-gives-the-same"] = [group](DocumentRun& run) { claim_flash_of(run, group); };
}

}  // namespace lessons
