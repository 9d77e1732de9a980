/// Back through attention: the gradient of a loss with respect to every tensor of the forward pass, derived
/// step by step and checked by central differences.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include "lessons/backward.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/backward/gradient_check.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/worked.hpp"

namespace lessons {

namespace {

Tensor<3> draw_d_output(Workbench& bench) {
  return bench.input<3>({.id = "d_output",
                         .title = "What comes back from the layers above",
                         .note =
                             "How much the loss grows with each number of the output. Here it is drawn; in a "
                             "model the next layer hands it down."});
}

void show_loss(Workbench& bench, const Tensor<3>& output, const Tensor<3>& d_output) {
  bench.trace.step(
      {.id = "L",
       .title = "A loss that has this gradient",
       .formula = "Σ output · d_output",
       .from = {"output", "d_output"},
       .note = "The simplest one: each number of the output counts as much as d_output says. For "
               "any other loss with the same d_output all that follows is the same.",
       .worked = worked_of(2 * output.size(),
                           [&](const attn::Index&) {
                             const attn::Known<3> o = {"output", output}, d = {"d_output", d_output};
                             std::vector<attn::Worked> products;
                             for (std::size_t b = 0; b < output.shape(0); ++b)
                               for (std::size_t i = 0; i < output.shape(1); ++i)
                                 for (std::size_t c = 0; c < output.shape(2); ++c)
                                   products.push_back(attn::Worked::product({o({b, i, c}), d({b, i, c})}));
                             return attn::Worked::sum(std::move(products));
                           })},
      attn::sum_of_products(output, d_output));
}

void derive_product(attn::Trace& trace) {
  trace.note("product-rule", "Back through a matrix product",
             "Aᵢₖ times row k of B goes into row i of C. So its gradient is the dot product of that row of B "
             "with that row of d_C, and likewise for B. Four of the six steps below are this rule.",
             "C = A B,  that is  Cᵢⱼ = Σₖ Aᵢₖ Bₖⱼ\n"
             "∂L/∂Aᵢₖ = Σⱼ d_Cᵢⱼ Bₖⱼ   ⇒   d_A = d_C Bᵀ\n"
             "∂L/∂Bₖⱼ = Σᵢ Aᵢₖ d_Cᵢⱼ   ⇒   d_B = Aᵀ d_C");
}

void derive_softmax(attn::Trace& trace, const std::optional<Mask<3>>& mask) {
  std::string text =
      "Take one row: w = softmax(x), and d is the row of d_weights. A score that rises lifts its own weight "
      "and lowers all others of its row, for they share a sum of 1. So the gradient of every score depends "
      "on every weight of the row. The sum over them is a single number for the whole row, and the Jacobian "
      "diag(w) − w wᵀ need never be written down.";
  if (mask)
    text +=
        " A hidden score was replaced by −∞: L does not depend on it, and its gradient is 0. The formula "
        "says so by itself, since its weight is 0.";
  if (mask && attn::has_empty_row(*mask))
    text += " A query that may look at nothing has no weights, and its gradient is 0 throughout.";
  trace.note("softmax-rule", "Back through softmax", text,
             "wₖ = exp(xₖ) / Σₘ exp(xₘ)\n"
             "∂wⱼ/∂xⱼ = wⱼ − wⱼ wⱼ\n"
             "∂wₖ/∂xⱼ =    − wₖ wⱼ   for k ≠ j\n"
             "∂L/∂xⱼ  = Σₖ dₖ ∂wₖ/∂xⱼ = dⱼ wⱼ − Σₖ dₖ wₖ wⱼ = wⱼ (dⱼ − Σₖ wₖ dₖ)");
}

}  // namespace

AttentionGradients attention_backward(Workbench& bench, const AttentionInputs& in,
                                      const Attention<3>& attention, const Tensor<3>& d_output) {
  auto& trace = bench.trace;
  AttentionGradients gradients;
  auto& [d_V, d_weights, d_scaled, d_scores, d_Q, d_K] = gradients;

  derive_product(trace);
  d_V = trace.step(
      {.id = "d_V",
       .title = "Back to the values",
       .formula = "weightsᵀ d_output",
       .from = {"weights", "d_output"},
       .axes = {"key", "d_v"},
       .note =
           "output = weights V, so V is the B of the rule. Value j went into output i with weight ij; with "
           "the same weight it gets back d_output of query i, and that from all queries together. A value "
           "that nobody looked at gets 0: it learns nothing.",
       .worked = attn::worked_transpose_matmul({"weights", attention.weights}, {"d_output", d_output})},
      attn::matmul(attn::transpose(attention.weights), d_output));

  std::string note =
      "The same product; weights is the A of the rule. A little more of weight ij puts a little more of "
      "value j into output i, and L moves by the dot product of d_output i with value j.";
  if (in.mask)
    note +=
        " Hidden keys have numbers, too: what L would do if there were a weight. They go no further; the "
        "next step is 0 for them.";
  d_weights = trace.step({.id = "d_weights",
                          .title = "Back to the weights",
                          .formula = "d_output Vᵀ",
                          .from = {"d_output", "V"},
                          .axes = {"query", "key"},
                          .note = note,
                          .worked = attn::worked_matmul_transposed(attn::Known{"d_output", d_output},
                                                                   attn::Known<3>{"V", in.V})},
                         attn::matmul(d_output, attn::transpose(in.V)));

  derive_softmax(trace, in.mask);
  const double temperature = bench.options.temperature;
  const double divisor = std::sqrt(static_cast<double>(in.Q.shape(2))) * temperature;
  d_scaled = trace.step(
      {.id = "d_scaled",
       .title = "Back through softmax, row by row",
       .formula = "weights · (d_weights − Σⱼ weights · d_weights)",
       .from = {"weights", "d_weights"},
       .axes = {"query", "key"},
       .note =
           "Σⱼ weights · d_weights is the average of the row of d_weights, as attention weighs it. Keys "
           "above the average get a positive gradient, keys below it a negative one, and the row sums to 0. "
           "All is multiplied by the weight: where one key has nearly everything, nearly nothing gets "
           "through (see the lesson scaling).",
       .worked = attn::worked_softmax_backward({"weights", attention.weights}, {"d_weights", d_weights})},
      attn::softmax_backward(attention.weights, d_weights));
  d_scores = trace.step(
      {.id = "d_scores",
       .title = "Back through the scale",
       .formula = temperature == 1.0 ? fmt::format("d_scaled / √d_k = d_scaled / {:.4g}", divisor)
                                     : fmt::format("d_scaled / (√d_k · T) = d_scaled / {:.4g}", divisor),
       .from = {"d_scaled"},
       .axes = {"query", "key"},
       .note = "scaled is scores divided by a constant, so a score counts for only that fraction.",
       .worked = attn::worked_divide(attn::Known{"d_scaled", d_scaled}, attn::Worked(divisor))},
      attn::divide(d_scaled, divisor));

  d_Q = trace.step(
      {.id = "d_Q",
       .title = "Back to the queries",
       .formula = "d_scores K",
       .from = {"d_scores", "K"},
       .axes = {"query", "d_k"},
       .note =
           "scores = Q Kᵀ, so Q is the A of the rule and Kᵀ the B: d_Q = d_scores (Kᵀ)ᵀ. The gradient of a "
           "query is a mixture of the keys, some with a minus sign.",
       .worked = attn::worked_matmul(attn::Known{"d_scores", d_scores}, attn::Known<3>{"K", in.K})},
      attn::matmul(d_scores, in.K));
  d_K = trace.step(
      {.id = "d_K",
       .title = "Back to the keys",
       .formula = "d_scoresᵀ Q",
       .from = {"d_scores", "Q"},
       .axes = {"key", "d_k"},
       .note =
           "For Kᵀ the rule gives Qᵀ d_scores; K is its transpose, and so is d_K. The gradient of a key is "
           "a mixture of the queries.",
       .worked = attn::worked_transpose_matmul({"d_scores", d_scores}, {"Q", in.Q})},
      attn::matmul(attn::transpose(d_scores), in.Q));
  return gradients;
}

namespace {

double multiply_adds(const Plan& plan) {
  const auto& keys = plan.key_tokens();
  return static_cast<double>(keys.size() * plan.query_tokens().length() * keys.length()) *
         static_cast<double>(*plan.options.d_k + *plan.options.d_v);
}

void explain_cost(attn::Trace& trace, const Plan& plan) {
  trace.note(
      "cost", "What going back costs",
      fmt::format("Forward takes two matrix products, Q Kᵀ and weights V: {:.0f} multiply-adds here. "
                  "Backward takes two for each of them: {:.0f}. And it needs Q, K, V and weights from the "
                  "forward pass, which have to be kept until then. weights grows with the square of the "
                  "length; gradient checkpointing and FlashAttention compute it a second time instead.",
                  multiply_adds(plan), 2.0 * multiply_adds(plan)));
}

void explain_differences(attn::Trace& trace, bool entry_by_entry) {
  std::string text =
      "Whether a gradient is right can be seen without any derivation: move a number a little up, then a "
      "little down, run forward both times and see how L changes. That leaves an error of the size of h², "
      "but a much smaller h is no better, because L is rounded. So it is done in float64, with an h that "
      "moves no scaled score by more than 0.00001. V and weights, in which L is a straight line, may move by "
      "1. Each tensor is moved where it stands in the forward pass.";
  if (!entry_by_entry)
    text +=
        " Here there are too many numbers to move one by one, so those of a tensor move together, each up or "
        "down by the sign of a random number. Those of V are drawn normal(0, 1) as check/d_V, and so on.";
  trace.note("differences", "A check that knows no formula", text,
             "dL/dx = (L(x + h) − L(x − h)) / 2h + O(h²)");
}

void claim_gradients(Workbench& bench, const AttentionInputs& in, const Attention<3>& attention,
                     const Tensor<3>& d_output, const AttentionGradients& gradients) {
  const auto check =
      check_gradients(in, attention, d_output, gradients, bench.options.temperature, bench.trace.dtype(),
                      [&](const std::string& id) -> attn::Random& { return bench.random(id); });
  explain_differences(bench.trace, check.entry_by_entry);
  for (const auto& [name, deviation, allowed] : check.deviations) {
    const auto moved = check.entry_by_entry
                           ? fmt::format("each number of {}", name)
                           : fmt::format("all numbers of {} together, up or down at random,", name);
    const auto difference =
        check.entry_by_entry ? fmt::format("max |(L({0} + h) − L({0} − h)) / 2h − d_{0}|", name)
                             : fmt::format("|(L({0} + h·s) − L({0} − h·s)) / 2h − Σ d_{0}·s|, s = ±1", name);
    bench.trace.claim({.id = "check/d_" + name,
                       .claim = fmt::format("moving {} changes L as d_{} says", moved, name),
                       .formula = difference,
                       .value = deviation,
                       .limit = roughly_at_most(allowed)});
  }
}

void claim_softmax(Workbench& bench, const std::optional<Mask<3>>& mask,
                   const AttentionGradients& gradients) {
  auto& trace = bench.trace;
  trace.claim({.id = "rows-of-d_scaled-sum-to-0",
               .claim = "each row of d_scaled sums to 0: moving all scores of a row together changes nothing",
               .formula = "max |Σⱼ d_scaled|",
               .value = attn::max_abs_row_sum(gradients.d_scaled),
               .limit = rounding(bench.trace, attn::max_abs(gradients.d_weights))});
  if (!mask) return;
  trace.claim({.id = "hidden-scores-have-no-gradient",
               .claim = "d_scaled is exactly 0 wherever the mask hides a key",
               .formula = "max |d_scaled| where mask is false",
               .value = attn::largest_hidden_weight(gradients.d_scaled, *mask),
               .limit = attn::exactly(0.0)});
}

void claim_gradients_of_kernel(Workbench& bench, const AttentionInputs& in, const Attention<3>& attention,
                               const Tensor<3>& d_output, const AttentionGradients& gradients) {
  const double divisor = std::sqrt(static_cast<double>(bench.d_k())) * bench.options.temperature;
  const auto magnitudes = gradient_magnitudes(in, attention, d_output, bench.options.temperature);
  const double largest = attn::maximum(
      {attn::max_abs(magnitudes.d_Q), attn::max_abs(magnitudes.d_K), attn::max_abs(magnitudes.d_V)});
  const double rounding =
      16.0 * unit_roundoff(bench.trace.dtype()) * magnitude_of_scores(in.Q, in.K, divisor);
  const auto limit = roughly_at_most(rounding * largest);
  claim_equals_kernel(
      bench.trace,
      {.id = "gradients-equal-kernel",
       .claim = "the fast kernel, which does not store the weights and computes them again, gives the same "
                "gradients",
       .formula = "max |d_Q, d_K, d_V − those of kernel {}|",
       .limit = limit},
      attn::maximum(
          {attn::max_abs(gradients.d_Q), attn::max_abs(gradients.d_K), attn::max_abs(gradients.d_V)}),
      with_rule(bench,
                [&](const auto& visible) {
                  return attn::fast::attention_backward(in.Q, in.K, in.V, divisor, visible, d_output);
                }),
      [&](const auto& fast) {
        auto mute = bench.trace.mute();
        return attn::maximum({attn::max_abs_difference(mute.step({}, fast.d_Q), gradients.d_Q),
                              attn::max_abs_difference(mute.step({}, fast.d_K), gradients.d_K),
                              attn::max_abs_difference(mute.step({}, fast.d_V), gradients.d_V)});
      });
}

void run_backward(Workbench& bench) {
  auto& trace = bench.trace;
  trace.note(
      "idea", "The idea",
      "Training asks of every number: if it were a little larger, how much would the loss L grow? That is "
      "its gradient, and training moves the number the other way. Gradients are found by walking the forward "
      "pass backwards. Each step is handed the gradient of its result, and passes on the gradient of what "
      "the result was computed from: the chain rule. d_X stands for ∂L/∂X and has the shape of X. A gradient "
      "says which way and how much, one number at a time.",
      "forward    Q, K → scores → scaled → weights; weights, V → output → L\n"
      "backward   d_Q, d_K ← d_scores ← d_scaled ← d_weights, d_V ← d_output");

  const auto in = attention_inputs(bench);
  const auto d_output = draw_d_output(bench);
  const auto attention = scaled_dot_product_attention(bench, in.Q, in.K, in.V, in.mask);
  show_loss(bench, attention.output, d_output);

  const auto gradients = attention_backward(bench, in, attention, d_output);
  explain_cost(trace, bench.plan);
  claim_gradients(bench, in, attention, d_output, gradients);
  claim_softmax(bench, in.mask, gradients);
  claim_gradients_of_kernel(bench, in, attention, d_output, gradients);
}

std::vector<Input> backward_inputs(const Options&) {
  return joined({attention_input_list(), {{"d_output", {"query", "d_v"}}}});
}

}  // namespace

extern const Lesson backward;
const Lesson backward = {
    .name = "backward",
    .title = "gradients: back through attention, step by step",
    .teaches =
        "How a gradient finds its way back through attention: the rule for a matrix product, the rule for "
        "softmax, and from them d_V, d_weights, d_scaled, d_scores, d_Q and d_K. Each is derived, computed "
        "and then checked by moving the numbers and watching the loss.",
    .options = {"sentence", "source", "target", "d-k", "d-v", "causal", "window", "temperature", "seed",
                "rng", "draws", "dtype"},
    .defaults = {.sentence = {"the cat sat on the mat"}, .d_k = 8, .d_v = 8},
    .examples = {"backward --sentence \"the cat sat\" --d-k 4 --d-v 3",
                 "backward --source \"one two three four\" --target \"five six\" --causal"},
    .inputs = backward_inputs,
    .run = run_backward,
};

}  // namespace lessons
