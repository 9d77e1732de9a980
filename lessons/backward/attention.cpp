/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include "lessons/backward/attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/dropout.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/backward/mistakes.hpp"
#include "lessons/backward/unit_roundoff.hpp"
#include "lessons/sdpa.hpp"
#include "lessons/workbench/claims.hpp"

namespace lessons {

namespace {

void derive_product(attn::Trace& trace) {
  trace.note("product-rule", "Back through a matrix product",
             "Aᵢₖ is used only in row i of C, each time multiplied by a number of row k of B. So its "
             "gradient is row i of d_C times row k of B. Likewise Bₖⱼ is used only in column j of C. Every "
             "product here goes back by this rule.",
             "C = A B,  that is  Cᵢⱼ = Σₖ Aᵢₖ Bₖⱼ\n"
             "∂L/∂Aᵢₖ = Σⱼ d_Cᵢⱼ Bₖⱼ   ⇒   d_A = d_C Bᵀ\n"
             "∂L/∂Bₖⱼ = Σᵢ Aᵢₖ d_Cᵢⱼ   ⇒   d_B = Aᵀ d_C");
}

void derive_softmax(attn::Trace& trace, const std::optional<Mask<3>>& mask) {
  std::string text =
      "Take one row: x its scaled scores, w = softmax(x) its weights, d its row of d_weights. If xⱼ rises, "
      "wⱼ rises and all other weights fall. So xⱼ changes L through every weight of its row.";
  if (mask)
    text +=
        " A hidden score was replaced by −∞, so L does not depend on it and its gradient is 0. The formula "
        "says so too, since its weight is 0.";
  if (mask && attn::has_empty_row(*mask))
    text += " A query that may look at nothing has no weights, and its gradient is 0 throughout.";
  text += " The quotient rule gives:";
  trace.note("softmax-rule", "Back through softmax", text,
             "∂wⱼ/∂xⱼ = wⱼ − wⱼ wⱼ,   ∂wₖ/∂xⱼ = − wₖ wⱼ  for k ≠ j\n"
             "∂L/∂xⱼ  = Σₖ dₖ ∂wₖ/∂xⱼ = dⱼ wⱼ − Σₖ dₖ wₖ wⱼ = wⱼ (dⱼ − Σₖ wₖ dₖ)");
}

/// The keys or values of each query head: shared ones once for each that reads them.
template <std::size_t N>
Tensor<N> for_each_query_head(const Tensor<N>& x, const Tensor<N>& Q) {
  if constexpr (N == 4)
    return attn::repeat_heads(x, Q.shape(1));
  else
    return x;
}

/// The gradient of keys or values that query heads share, from those of the query heads.
template <std::size_t N>
Tensor<N> add_up_shared(const Tensor<N>& d, const Tensor<N>& x) {
  if constexpr (N == 4)
    return attn::repeat_heads_backward(d, x.shape(1));
  else
    return d;
}

template <std::size_t N>
attn::WorkedOut worked_shared(const attn::WorkedOut& worked, std::size_t readers) {
  if constexpr (N == 4)
    if (readers > 1) return attn::worked_repeat_heads_backward(worked, readers);
  return worked;
}

/// What a query head reads of a tensor with fewer heads, by the head that it has there.
template <std::size_t N>
attn::WorkedOut worked_readers(attn::WorkedOut worked, const std::string& shared, std::size_t readers) {
  if (N == 3 || readers == 1) return worked;
  return [=](const attn::Index& at) {
    auto result = worked(at);
    result.for_each_operand([&](attn::Operand& operand) {
      if (operand.tensor == shared) operand.index[1] /= readers;
    });
    return result;
  };
}

/// A weight that was dropped has no gradient; that of one that was kept grows as the weight did.
template <std::size_t N>
Tensor<N> back_through_dropout(Workbench& bench, Gradients& gradients, const Tensor<N>& d_dropped,
                               const Integers<N>& mask) {
  const double p = bench.options.dropout;
  return gradients.show(
      "weights",
      {.title = "Back through dropout",
       .formula = fmt::format("d_dropped · dropout_mask / {:g}", 1.0 - p),
       .from = {"d_dropped", "dropout_mask"},
       .axes = N == 4 ? std::vector<std::string>{"head", "query", "key"}
                      : std::vector<std::string>{"query", "key"},
       .note =
           "A weight that was dropped has no gradient. That of one that was kept grows as the weight did.",
       .worked = attn::worked_dropout(attn::Known<N>{"d_dropped", d_dropped}, "dropout_mask", mask, p)},
      attn::dropout(d_dropped, mask, p));
}

}  // namespace

template <std::size_t N>
AttentionGradients<N> attention_backward(Workbench& bench, Gradients& gradients, const AttentionKept<N>& kept,
                                         const Tensor<N>& d_output) {
  constexpr bool has_heads = N == 4;
  const std::string suffix = has_heads ? "_heads" : "", result = has_heads ? "heads" : "output";
  const std::string Q_id = "Q" + suffix, K_id = "K" + suffix, V_id = "V" + suffix;
  const auto d_result = "d_" + result;
  const auto axes = [&](std::vector<std::string> last, const char* heads = "head") {
    if (has_heads) last.insert(last.begin(), heads);
    return last;
  };
  const std::size_t readers = has_heads ? kept.Q.shape(1) / kept.K.shape(1) : 1;
  const char* const kv_heads = readers > 1 ? "kv_head" : "head";
  const auto over_readers = [&](const std::string& formula) {
    return readers > 1 ? fmt::format("Σ {} over {} heads", formula, readers) : formula;
  };
  const auto K = for_each_query_head(kept.K, kept.Q), V = for_each_query_head(kept.V, kept.Q);
  const auto& weights = kept.weights;
  const auto& used_weights = kept.used_weights();
  const std::string used = kept.dropped != nullptr ? "dropped" : "weights";
  AttentionGradients<N> d;

  derive_product(bench.trace);
  const attn::Known<N> known_weights{"weights", weights}, known_used{used, used_weights};
  const attn::Known<N> known_output{d_result, d_output};
  d.d_V = gradients.show(
      V_id,
      {.title = "Back to the values",
       .formula = over_readers(used + "ᵀ " + d_result),
       .from = {used, d_result},
       .axes = axes({"key", "d_v"}, kv_heads),
       .note = fmt::format("In {} = {} {} the rule has A = {} and B = {}.", result, used, V_id, used, V_id),
       .worked = worked_shared<N>(attn::worked_transpose_matmul(known_used, known_output), readers)},
      add_up_shared(attn::matmul(attn::transpose(used_weights), d_output), kept.V),
      mistakes_of_d_V(kept, d_output));

  std::string note = fmt::format(
      "In {0} = {1} {2}, {1} is A. So the gradient of its entry (i, j) is row i of {3} times row j of {2}.",
      result, used, V_id, d_result);
  if (kept.mask)
    note += " Hidden keys have a gradient here too, but the next step multiplies it by their weight, 0.";
  d.d_weights = gradients.show(
      used,
      {.title = "Back to the weights",
       .formula = fmt::format("{} {}ᵀ", d_result, V_id),
       .from = {d_result, V_id},
       .axes = axes({"query", "key"}),
       .note = note,
       .worked = worked_readers<N>(attn::worked_matmul_transposed(known_output, attn::Known<N>{V_id, V}),
                                   V_id, readers)},
      attn::matmul(d_output, attn::transpose(V)), mistakes_of_d_weights(bench, d_output, V));
  if (kept.dropped != nullptr)
    d.d_weights = back_through_dropout(bench, gradients, d.d_weights, *kept.dropout_mask);

  derive_softmax(bench.trace, kept.mask);
  const double temperature = bench.options.temperature;
  const double divisor = divisor_of(kept.Q.shape(N - 1), temperature);
  d.d_scaled = gradients.show(
      "scaled",
      {.title = "Back through softmax, row by row",
       .formula = "weights · (d_weights − Σⱼ weights · d_weights)",
       .from = {"weights", "d_weights"},
       .axes = axes({"query", "key"}),
       .note = "The sum is the weighted average of a row of d_weights. An entry above it gives a positive "
               "d_scaled, one below it a negative one.",
       .worked = attn::worked_softmax_backward(known_weights, attn::Known<N>{"d_weights", d.d_weights})},
      attn::softmax_backward(weights, d.d_weights), mistakes_of_d_scaled(bench, kept, d.d_weights, divisor));
  d.d_scores = gradients.show(
      "scores",
      {.title = "Back through the scale",
       .formula = temperature == 1.0 ? fmt::format("d_scaled / √d_k = d_scaled / {:.4g}", divisor)
                                     : fmt::format("d_scaled / (√d_k · T) = d_scaled / {:.4g}", divisor),
       .from = {"d_scaled"},
       .axes = axes({"query", "key"}),
       .note = "scaled is scores divided by a constant, so a score counts for only that fraction.",
       .worked = attn::worked_divide(attn::Known<N>{"d_scaled", d.d_scaled}, attn::Worked(divisor))},
      attn::divide(d.d_scaled, divisor), mistakes_of_d_scores(bench, d.d_scaled, kept.Q.shape(N - 1)));

  const attn::Known<N> known_scores{"d_scores", d.d_scores};
  d.d_Q = gradients.show(Q_id,
                         {.title = "Back to the queries",
                          .formula = "d_scores " + K_id,
                          .from = {"d_scores", K_id},
                          .axes = axes({"query", "d_k"}),
                          .note = "A sum of the keys, each times its d_score (divided as the scores were).",
                          .worked = worked_readers<N>(
                              attn::worked_matmul(known_scores, attn::Known<N>{K_id, K}), K_id, readers)},
                         attn::matmul(d.d_scores, K), mistakes_of_d_Q(bench, kept, d.d_scores, K));
  d.d_K = gradients.show(
      K_id,
      {.title = "Back to the keys",
       .formula = over_readers("d_scoresᵀ " + Q_id),
       .from = {"d_scores", Q_id},
       .axes = axes({"key", "d_k"}, kv_heads),
       .note = "For Kᵀ the rule gives Qᵀ d_scores; K is its transpose, and so is d_K. The gradient of a key "
               "is a sum of the queries, each times its d_score.",
       .worked = worked_shared<N>(attn::worked_transpose_matmul(known_scores, attn::Known<N>{Q_id, kept.Q}),
                                  readers)},
      add_up_shared(attn::matmul(attn::transpose(d.d_scores), kept.Q), kept.K),
      mistakes_of_d_K(kept, d.d_scores, K, divisor));
  return d;
}

template <std::size_t N>
void claim_gradients_of_kernel(Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d_output,
                               const Tensor<N>& d_Q, const Tensor<N>& d_K, const Tensor<N>& d_V) {
  const double divisor = divisor_of(kept.Q.shape(N - 1), bench.options.temperature);
  const double largest_vector = attn::maximum({attn::max_abs(kept.Q), attn::max_abs(kept.K)});
  const double terms = static_cast<double>(kept.weights.shape(N - 2)) * attn::max_abs(d_output) *
                       (1.0 + attn::max_abs(kept.V) * largest_vector);
  const auto dtype = bench.trace.dtype();
  const std::string suffix = N == 4 ? "_heads" : "";
  claim_equals_kernel(
      bench.trace,
      {.id = "gradients-equal-kernel",
       .claim = "the fast kernel, which stores no weights, gives the same gradients",
       .formula = fmt::format("max |d_Q{0}, d_K{0}, d_V{0} − those of kernel {{}}|", suffix),
       .limit = roughly_at_most(16.0 * unit_roundoff(dtype) * (terms + smallest_normal(dtype)) *
                                magnitude_of_scores(kept.Q, for_each_query_head(kept.K, kept.Q), divisor))},
      attn::maximum({attn::max_abs(d_Q), attn::max_abs(d_K), attn::max_abs(d_V)}),
      with_rule(bench,
                [&](const auto& visible) {
                  return attn::fast::attention_backward(kept.Q, kept.K, kept.V, divisor, visible, d_output);
                }),
      [&](const auto& fast) {
        auto mute = bench.trace.mute();
        return attn::maximum({attn::max_abs_difference(mute.step({}, fast.d_Q), d_Q),
                              attn::max_abs_difference(mute.step({}, fast.d_K), d_K),
                              attn::max_abs_difference(mute.step({}, fast.d_V), d_V)});
      });
}

template AttentionGradients<3> attention_backward(Workbench&, Gradients&, const AttentionKept<3>&,
                                                  const Tensor<3>&);
template AttentionGradients<4> attention_backward(Workbench&, Gradients&, const AttentionKept<4>&,
                                                  const Tensor<4>&);
template void claim_gradients_of_kernel(Workbench&, const AttentionKept<3>&, const Tensor<3>&,
                                        const Tensor<3>&, const Tensor<3>&, const Tensor<3>&);
template void claim_gradients_of_kernel(Workbench&, const AttentionKept<4>&, const Tensor<4>&,
                                        const Tensor<4>&, const Tensor<4>&, const Tensor<4>&);

}  // namespace lessons
