/// Attention to a few mixtures of the keys.
/// Source: Wang et al. 2020.

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient/mistakes.hpp"
#include "lessons/efficient/variants.hpp"

namespace lessons {

Tensor<2> linformer_attention(attn::Trace& trace, const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                              const Tensor<2>& E, const Tensor<2>& F, CostCounter& counter) {
  require_fitting("linformer_attention", Q, K, V);
  if (E.shape(0) != F.shape(0))
    throw attn::shape_mismatch("linformer_attention", "E", E, "F", F, "the numbers of rows must match");
  const auto projected_K =
      trace.step({.id = "linformer/projected_K",
                  .title = "The mixtures of keys",
                  .formula = "E K",
                  .from = {"linformer/E", "K"},
                  .axes = {"feature", "d_k"},
                  .worked = attn::worked_matmul(attn::Known<2>{"linformer/E", E}, attn::Known<2>{"K", K})},
                 counter.matmul(E, K));
  const auto projected_V =
      trace.step({.id = "linformer/projected_V",
                  .title = "The mixtures of values",
                  .formula = "F V",
                  .from = {"linformer/F", "V"},
                  .axes = {"feature", "d_v"},
                  .worked = attn::worked_matmul(attn::Known<2>{"linformer/F", F}, attn::Known<2>{"V", V})},
                 counter.matmul(F, V), {{"wrong-projection:FE", [&] { return attn::matmul(E, V); }}});
  const auto scores = attn::divide(counter.matmul(Q, attn::transpose(projected_K)),
                                   std::sqrt(static_cast<double>(Q.shape(1))));
  const auto held = counter.hold(scores.size());
  const auto weights =
      trace.step({.id = "linformer/weights",
                  .title = "Shares of the mixtures",
                  .formula = "softmax(Q (E K)ᵀ / √d_k)",
                  .from = {"Q", "linformer/projected_K"},
                  .axes = {"query", "feature"},
                  .distribution = true,
                  .worked = attn::worked_softmax(
                      worked_pair_scores({"Q", Q}, {"linformer/projected_K", projected_K}), E.shape(0))},
                 attn::softmax(scores), mistakes_of_scale(K.shape(1), [&](double factor) {
                   return attn::softmax(attn::divide(scores, 1.0 / factor));
                 }));
  auto output =
      trace.step({.id = "linformer/output",
                  .title = "What each query takes from the mixtures",
                  .formula = "linformer/weights (F V)",
                  .from = {"linformer/weights", "linformer/projected_V"},
                  .axes = {"query", "d_v"},
                  .worked = attn::worked_matmul(attn::Known<2>{"linformer/weights", weights},
                                                attn::Known<2>{"linformer/projected_V", projected_V})},
                 counter.matmul(weights, projected_V));

  std::vector<CostCounter::Node> all_keys(K.shape(0));
  std::iota(all_keys.begin(), all_keys.end(), std::size_t{0});
  const auto mixing = counter.operation(all_keys);
  for (std::size_t i = 0; i < Q.shape(0); ++i) counter.output(counter.operation({mixing}), i);
  return output;
}

void show_linformer(VariantBench& on) {
  auto& trace = on.bench.trace;
  const auto n = on.n(), r = *on.bench.options.rank;
  trace.note("linformer/idea", "Linformer: a few mixtures of the keys",
             fmt::format("The n = {} keys are mixed into r = {}, and so are the values; attention then goes "
                         "over these mixtures. What distinguishes keys of one mixture is lost. E and F are "
                         "learned; here they are drawn, so the error is large. They are as wide as the "
                         "longest sequence that the model is made for. Every mixture has later tokens in it, "
                         "so Linformer cannot be causal.",
                         n, r),
             "softmax(Q (E K)ᵀ / √d_k) (F V)");
  const auto E = on.bench.input<2>(
      {.id = "linformer/E", .title = "How the keys are mixed", .formula = fmt::format("normal(0, 1/√{})", r)},
      {r, n});
  const auto F = on.bench.input<2>({.id = "linformer/F",
                                    .title = "How the values are mixed",
                                    .formula = fmt::format("normal(0, 1/√{})", r)},
                                   {r, n});
  show_code(
      on, "linformer",
      {"linformer_projected_K = linformer_E @ K", "linformer_projected_V = linformer_F @ V",
       "scaled = Q @ linformer_projected_K.T / np.sqrt(Q.shape[1])", "linformer_weights = softmax(scaled)",
       "linformer_output = linformer_weights @ linformer_projected_V"});
  auto counter = on.counter();
  const auto output = linformer_attention(trace, on.Q, on.K, on.V, E, F, counter);
  show_result(on, "linformer",
              {.multiply_adds = fmt::format("{0} · {1} · (d_k + d_v) to mix + {1} · {0} · (d_k + d_v)", r, n),
               .score_bytes = on.bytes_of(n * r, fmt::format("scores ({} × {})", n, r)),
               .worked_multiply_adds = attn::Worked::sum({worked_pairs(on, r * n), worked_pairs(on, n * r)}),
               .worked_score_bytes =
                   worked_bytes(on, attn::Worked::product({static_cast<double>(n), static_cast<double>(r)}))},
              output, counter.cost(), on.full);

  Tensor<2> identity({n, n}, 0.0);
  for (std::size_t i = 0; i < n; ++i) identity(i, i) = 1.0;
  auto mute = trace.mute();
  auto uncounted = on.counter();
  const auto unmixed = linformer_attention(mute, on.Q, on.K, on.V, identity, identity, uncounted);
  claim_equals_masked(on, "linformer-without-mixing", "with E = F = I and r = n Linformer is full attention",
                      unmixed, on.visible_mask());
}

}  // namespace lessons
