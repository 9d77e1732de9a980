/// Scaled dot-product attention on its own: no words, no weight matrices, only Q, K and V. The lesson is the
/// document sdpa.md, which has its source.

#include "lessons/sdpa.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "fast/attention.hpp"
#include "lessons/documents/front_matter.hpp"
#include "lessons/trained/layers.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

double divisor_of(std::size_t d_k, double temperature) {
  return std::sqrt(static_cast<double>(d_k)) * temperature;
}

namespace {

void claim_equals_fused_kernel(const DocumentRun& run, const ToClaim& claim) {
  const auto& bench = run.bench();
  if (const auto& softcap = bench.options.softcap)
    return bench.trace.note(claim.id, "Not compared: code that stores no scores (lesson efficient)",
                            fmt::format("It does not know --softcap {}.", *softcap));
  const bool has_heads = run.sheet().find("Q_heads") != nullptr;
  const auto of_all_heads = [&](const std::string& name) {
    return attn::repeat_heads(run.in_heads(has_heads ? name + "_heads" : name), bench.heads());
  };
  const auto Q = of_all_heads("Q"), K = of_all_heads("K"), V = of_all_heads("V");
  const bool has_dropout = run.sheet().definition_of("dropped") != nullptr;
  const auto output =
      has_dropout ? attn::matmul(run.in_heads("weights"), V) : run.in_heads(has_heads ? "heads" : "output");
  const double divisor = divisor_of(Q.shape().back(), bench.options.temperature);
  claim_equals_kernel(
      bench.trace,
      {.id = claim.id,
       .claim = claim.words,
       .formula = "max |output − kernel {}(Q, K, V)|",
       .limit = rounding(bench.trace, magnitude_of_scores(Q, K, divisor) * attn::max_abs(V))},
      attn::max_abs(V),
      with_rule(bench, [&](const auto& visible) { return attn::fast::attention(Q, K, V, divisor, visible); }),
      [&](const auto& fast) {
        return attn::max_abs_difference(bench.trace.mute().step({}, fast.output), output);
      });
}

}  // namespace

void add_fused_kernel(Functions& functions) {
  functions.claims["equals-fused-kernel"] = claim_equals_fused_kernel;
}

namespace {

/// The queries, keys and values of one head of the model, for each word of the sentence.
void give_head_of_about(ModelInputs& inputs) {
  const auto X = input_of_second_layer(inputs);
  for (const std::string id : {"Q", "K", "V"})
    inputs.give_rows(id, attn::linear(X, inputs.columns_of_head("layer=2/attention/W_" + id, 0)));
}

}  // namespace

const LessonCode sdpa_code = {.give = give_head_of_about, .sharpen = sharpen_queries_and_keys};

}  // namespace lessons
