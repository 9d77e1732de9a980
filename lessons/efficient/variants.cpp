#include "lessons/efficient/variants.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attn/layers/attention.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"
#include "lessons/claims.hpp"

namespace lessons {

double error_beyond(double negligible, const Tensor<2>& x, const Tensor<2>& y) {
  const double error = attn::max_abs_difference(x, y);
  return error <= negligible ? 0.0 : error;
}

std::string bytes_of(std::size_t count, const std::string& what) {
  return fmt::format("{} {} · {} bytes", count, what, sizeof(double));
}

void show_result(VariantBench& on, const std::string& variant, const ResultWords& words,
                 const Tensor<2>& output, const attn::Work& work, const Tensor<2>& reference) {
  auto& trace = on.bench.trace;
  auto about = words.output;
  about.id = variant + "/output";
  trace.step(about, output);

  const double error = error_beyond(rounding(on.bench.trace, on.magnitude).bound, output, reference);
  trace.step({.id = variant + "/error",
              .title = "How far off it is",
              .formula = fmt::format("max |{}/output − {}|", variant, words.reference),
              .from = {about.id, words.reference},
              .note = error == 0.0 ? "Nothing: whatever is left is rounding." : ""},
             static_cast<double>(error));
  trace.step({.id = variant + "/multiply_adds",
              .title = "What it computed",
              .formula = words.multiply_adds,
              .from = {"Q", "K", "V"}},
             work.multiply_adds);
  trace.step({.id = variant + "/score_bytes",
              .title = "What it held at one time",
              .formula = words.score_bytes,
              .from = {"Q", "K", "V"}},
             work.score_bytes);
  on.shown.push_back({variant, work, error});
}

void claim_equals_masked(VariantBench& on, const std::string& id, const std::string& claim,
                         const Tensor<2>& output, const Mask<2>& mask) {
  const auto plain = attn::scaled_dot_product_attention(attn::as_batch(on.Q), attn::as_batch(on.K),
                                                        attn::as_batch(on.V), {attn::repeat_mask(mask, 1)});
  on.bench.trace.claim({.id = id,
                        .claim = claim,
                        .formula = "max |output − softmax(masked Q Kᵀ / √d_k) V|",
                        .value = attn::max_abs_difference(output, attn::sample(plain.output, 0)),
                        .limit = rounding(on.bench.trace, on.magnitude)});
}

void claim_equals_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                         const Tensor<2>& output, const attn::KernelOutput<2>& fast,
                         const attn::Limit& limit) {
  on.bench.trace.claim({.id = variant + "-equals-kernel",
                        .claim = claim,
                        .formula = fmt::format("max |{}/output − kernel {}(Q, K, V)|", variant, fast.kernel),
                        .value = attn::max_abs_difference(output, fast.output),
                        .limit = limit});
}

void claim_equals_exact_kernel(VariantBench& on, const std::string& variant, const std::string& claim,
                               const Tensor<2>& output, const Mask<2>& mask) {
  const double divisor = std::sqrt(static_cast<double>(on.K.shape(1)));
  const auto fast = attn::fastest_attention(attn::as_batch(on.Q), attn::as_batch(on.K), attn::as_batch(on.V),
                                            divisor, {attn::repeat_mask(mask, 1)});
  claim_equals_kernel(on, variant, claim, output, {fast.kernel, attn::sample(fast.output, 0)},
                      rounding(on.bench.trace, on.magnitude));
}


}  // namespace lessons
