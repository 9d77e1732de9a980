/// Back through attention: the gradient of a loss with respect to every tensor of the forward pass, derived
/// step by step and checked by central differences.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include "lessons/backward.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/linear_backward.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/backward/projection_check.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/worked.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

Tensor<3> draw_d_output(Workbench& bench) {
  return bench.input<3>(
      {.id = "d_output",
       .title = "How the loss changes with the output",
       .note = "A real loss would supply it. Here it is random, and L = Σ output · d_output."});
}

void show_loss(Workbench& bench, const Tensor<3>& output, const Tensor<3>& d_output) {
  bench.trace.step(
      {.id = "L",
       .title = "A loss that has this gradient",
       .formula = "Σ output · d_output",
       .from = {"output", "d_output"},
       .note = "The simplest one. For any other loss with the same d_output all that follows is the same.",
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
             "Row i of C is the sum of Aᵢₖ times row k of B, over all k. So the gradient of Aᵢₖ is the dot "
             "product of row i of d_C and row k of B. In the same way that of Bₖⱼ is the dot product of "
             "column k of A and column j of d_C. All products here go back by this rule.",
             "C = A B,  that is  Cᵢⱼ = Σₖ Aᵢₖ Bₖⱼ\n"
             "∂L/∂Aᵢₖ = Σⱼ d_Cᵢⱼ Bₖⱼ   ⇒   d_A = d_C Bᵀ\n"
             "∂L/∂Bₖⱼ = Σᵢ Aᵢₖ d_Cᵢⱼ   ⇒   d_B = Aᵀ d_C");
}

void derive_softmax(attn::Trace& trace, const std::optional<Mask<3>>& mask) {
  std::string text =
      "Take one row: w = softmax(x), and d is that row of d_weights. exp(xⱼ) stands above the line of wⱼ and "
      "in the sum below the line of every weight. So a score that rises makes its own weight larger and the "
      "others smaller, and its gradient depends on all weights of its row.";
  if (mask)
    text +=
        " A hidden score was replaced by −∞: L does not depend on it, and its gradient is 0. The formula "
        "says so by itself, since its weight is 0.";
  if (mask && attn::has_empty_row(*mask))
    text += " A query that may look at nothing has no weights, and its gradient is 0 throughout.";
  trace.note("softmax-rule", "Back through softmax", text,
             "∂wⱼ/∂xⱼ = wⱼ − wⱼ wⱼ,   ∂wₖ/∂xⱼ = − wₖ wⱼ  for k ≠ j\n"
             "∂L/∂xⱼ  = Σₖ dₖ ∂wₖ/∂xⱼ = wⱼ (dⱼ − Σₖ wₖ dₖ)");
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
       .note = "V is the B of the rule, weights the A.",
       .worked = attn::worked_transpose_matmul({"weights", attention.weights}, {"d_output", d_output})},
      attn::matmul(attn::transpose(attention.weights), d_output));

  std::string note = "weights is the A: the dot product of row i of d_output and value j.";
  if (in.mask)
    note += " Hidden keys have a gradient here, too; the next step multiplies it by their weight, 0.";
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
       .note = "Where d_weights is above the weighted average of its row, d_scaled is positive; below it, "
               "negative. "
               "Where one key has nearly all the weight, nearly no gradient is left.",
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
       .note = "A sum of the keys, each times its d_score (divided as the scores were).",
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
           "a sum of the queries, each times its d_score.",
       .worked = attn::worked_transpose_matmul({"d_scores", d_scores}, {"Q", in.Q})},
      attn::matmul(attn::transpose(d_scores), in.Q));
  return gradients;
}

namespace {

/// "Xᵀ d_Q", and over a batch "Σ Xᵀ d_Q over the samples".
std::string formula_of_weight(const Workbench& bench, const Named& X, const std::string& projection) {
  const auto product = fmt::format("{}ᵀ d_{}", X.id, projection);
  return bench.plan.is_batched() ? fmt::format("Σ {} over the samples", product) : product;
}

Tensor<2> show_d_weight(Workbench& bench, const Named& X, const std::string& projection,
                        const Tensor<3>& d_projection, const std::string& last_axis) {
  const std::string d_id = "d_" + projection;
  return bench.trace.step(
      {.id = "d_W_" + projection,
       .title = "How the loss changes with W_" + projection,
       .formula = formula_of_weight(bench, X, projection),
       .from = {X.id, d_id},
       .axes = {"d_model", last_axis},
       .note = fmt::format("{0} = {1} W_{0}, so W_{0} is the B of the rule: a sum over all words, which "
                           "share it.",
                           projection, X.id),
       .worked = attn::worked_linear_backward_weight({X.id, X.tensor}, {d_id, d_projection})},
      attn::linear_backward_weight(X.tensor, d_projection));
}

/// One of the products that token vectors went into.
struct UseOfVectors {
  std::string projection;
  const Tensor<3>& d_projection;
  const Tensor<2>& W;
};

Tensor<3> show_d_vectors(Workbench& bench, const Named& X, const std::string& axis,
                         const std::vector<UseOfVectors>& uses) {
  std::vector<std::string> terms, from;
  std::vector<std::pair<attn::Known<3>, attn::Known<2>>> products;
  Tensor<3> sum(X.tensor.shape(), 0.0);
  for (const auto& [projection, d_projection, W] : uses) {
    const auto d_id = "d_" + projection, W_id = "W_" + projection;
    terms.push_back(fmt::format("{} {}ᵀ", d_id, W_id));
    from.insert(from.end(), {d_id, W_id});
    products.push_back({{d_id, d_projection}, {W_id, W}});
    sum = attn::add(sum, attn::linear_backward_input(d_projection, W));
  }
  return bench.trace.step(
      {.id = "d_" + X.id,
       .title = "The words",
       .formula = fmt::format("{}", fmt::join(terms, " + ")),
       .from = from,
       .axes = {axis, "d_model"},
       .note = fmt::format(
           "{}The layer below gets it as d_output.",
           uses.size() > 1 ? fmt::format("The gradients of its {} products add up. ", uses.size()) : ""),
       .worked = attn::worked_linear_backward_input(products)},
      sum);
}

}  // namespace

ProjectionGradients projection_backward(Workbench& bench, const ProjectedFrom& from,
                                        const AttentionGradients& gradients) {
  const auto& [X_query, X_key, weights] = from;
  ProjectionGradients result;
  result.d_W_Q = show_d_weight(bench, X_query, "Q", gradients.d_Q, "d_k");
  result.d_W_K = show_d_weight(bench, X_key, "K", gradients.d_K, "d_k");
  result.d_W_V = show_d_weight(bench, X_key, "V", gradients.d_V, "d_v");
  const UseOfVectors Q = {"Q", gradients.d_Q, weights.W_Q}, K = {"K", gradients.d_K, weights.W_K},
                     V = {"V", gradients.d_V, weights.W_V};
  if (from.is_one_text()) {
    result.d_X_query = show_d_vectors(bench, X_query, "token", {Q, K, V});
  } else {
    result.d_X_query = show_d_vectors(bench, X_query, "target", {Q});
    result.d_X_key = show_d_vectors(bench, X_key, "source", {K, V});
  }
  return result;
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

void claim_gradients(attn::Trace& trace, const GradientCheck& check) {
  for (const auto& [name, deviation, allowed] : check.deviations) {
    const auto moved = check.entry_by_entry
                           ? fmt::format("each number of {}", name)
                           : fmt::format("all numbers of {} together, up or down at random,", name);
    const auto difference =
        check.entry_by_entry ? fmt::format("max |(L({0} + h) − L({0} − h)) / 2h − d_{0}|", name)
                             : fmt::format("|(L({0} + h·s) − L({0} − h·s)) / 2h − Σ d_{0}·s|, s = ±1", name);
    trace.claim({.id = "check/d_" + name,
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
               .claim = "each row of d_scaled sums to 0",
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

/// What attention starts from, and what that came from unless it was given.
struct BackwardStart {
  AttentionInputs in;
  std::optional<ProjectedFrom> from;
};

RandomOf streams_of(Workbench& bench) {
  return [&bench](const std::string& id) -> attn::Random& { return bench.random(id); };
}

/// Q, K or V of --input or --set take the place of the projections.
bool starts_from_projections(const Workbench& bench) {
  const auto& trace = bench.trace;
  const bool is_given = trace.is_given("Q") || trace.is_given("K") || trace.is_given("V");
  return !is_given && bench.options.draws == "name";
}

Named input_vectors(Workbench& bench, const std::string& id, const std::string& title) {
  return {id, bench.input<3>({.id = id, .title = title})};
}

BackwardStart project_words(Workbench& bench) {
  const auto& queries = bench.plan.query_tokens();
  const auto& keys = bench.plan.key_tokens();
  const bool is_pair = bench.plan.sentence.size() == 0;
  bench.label({"token", "target", "query"}, queries);
  bench.label({"source", "key"}, keys);
  bench.show_lengths(keys);
  ProjectedFrom from;
  from.X_query = is_pair ? input_vectors(bench, "X_target", "The target sentence as vectors")
                         : input_vectors(bench, "X", "The sentence as vectors");
  from.X_key = is_pair ? input_vectors(bench, "X_source", "The source sentence as vectors") : from.X_query;
  from.weights = draw_projection_weights(bench);
  auto mask = bench.mask(queries, keys);
  auto [Q, K, V] = project(bench, from.X_query, from.X_key, from.weights);
  return {{std::move(Q), std::move(K), std::move(V), std::move(mask)}, std::move(from)};
}

BackwardStart start_of_backward(Workbench& bench) {
  if (starts_from_projections(bench)) return project_words(bench);
  return {attention_inputs(bench), std::nullopt};
}

/// "[5×4]"
std::string shape_of_matrix(const Tensor<3>& x) {
  return fmt::format("[{}×{}]", x.shape(1), x.shape(2));
}

/// Three branches, of which the first two meet before the third: Q and K make the weights.
void draw_branches(std::vector<std::string>& lines, const std::vector<std::string>& branches,
                   const std::string& middle, const std::string& end) {
  std::size_t left = 0;
  for (const auto& branch : branches) left = std::max(left, attn::display_width(branch) + 1);
  std::string line;
  for (std::size_t i = attn::display_width(branches[2]) + 1; i < left + attn::display_width(middle); ++i)
    line += "─";
  lines.push_back(attn::pad_right(branches[0], left) + "┐");
  lines.push_back(attn::pad_right(branches[1], left) + middle + "┐");
  const auto last = branches[2] + " " + line + "┴ ";
  constexpr std::size_t most_columns = 78;
  const bool has_room = attn::display_width(last + end) <= most_columns;
  lines.push_back(last + (has_room ? end : end.substr(0, end.find(" ["))));
}

std::vector<std::string> backward_flow(const BackwardStart& start) {
  const auto& [in, from] = start;
  std::vector<std::string> forward, backward;
  for (const auto& [name, tensor] : {std::pair("Q", &in.Q), std::pair("K", &in.K), std::pair("V", &in.V)}) {
    const auto shape = shape_of_matrix(*tensor);
    const auto X = !from ? "" : *name == 'Q' ? from->X_query.id : from->X_key.id;
    forward.push_back(from ? fmt::format("{0} W_{1} → {1} {2}", X, name, shape)
                           : fmt::format("{} {}", name, shape));
    backward.push_back(from ? fmt::format("d_W_{0} ← d_{0} {1}", name, shape)
                            : fmt::format("d_{} {}", name, shape));
  }
  const auto weights = fmt::format("weights [{}×{}] ", in.Q.shape(1), in.K.shape(1));
  const auto output = fmt::format("output [{}×{}]", in.Q.shape(1), in.V.shape(2));
  std::vector<std::string> lines;
  draw_branches(lines, forward, "┴ scores → scaled → " + weights, output + " → L");
  lines.push_back("");
  draw_branches(lines, backward, "┴ d_scores ← d_scaled ← d_" + weights, "d_" + output);
  if (from)
    lines.emplace_back(from->is_one_text() ? "d_X ← d_Q, d_K, d_V"
                                           : "d_X_target ← d_Q, d_X_source ← d_K, d_V");
  return lines;
}

/// The forward pass is detail: earlier lessons showed its code.
void show_backward_code(Workbench& bench, const BackwardStart& start) {
  const auto& in = start.in;
  const auto& from = start.from;
  std::vector<std::string> projections;
  if (from) projections = {projection_code(from->X_query.id, from->X_key.id)};
  bench.trace.within("forward", [&] { bench.code(attention_code(bench, in.mask, projections)); });

  const double T = bench.options.temperature;
  std::vector<std::string> lines = {
      "# X, Q, K, V, weights, output: those of the lesson self-attention (--all)"};
  if (!bench.plan.is_batched()) lines.push_back("L         = np.sum(output * d_output)");
  lines.insert(lines.end(), {"d_V       = weights.T @ d_output", "d_weights = d_output @ V.T",
                             "average   = np.sum(weights * d_weights, axis=1, keepdims=True)",
                             "d_scaled  = weights * (d_weights - average)",
                             T == 1.0 ? "d_scores  = d_scaled / np.sqrt(Q.shape[1])"
                                      : fmt::format("d_scores  = d_scaled / (np.sqrt(Q.shape[1]) * {})", T),
                             "d_Q, d_K  = d_scores @ K, d_scores.T @ Q"});
  if (from && !bench.plan.is_batched())
    lines.push_back(fmt::format("d_W_Q, d_W_K, d_W_V = {0}.T @ d_Q, {1}.T @ d_K, {1}.T @ d_V",
                                from->X_query.id, from->X_key.id));
  if (from && from->is_one_text()) lines.push_back("d_X       = d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T");
  if (from && !from->is_one_text())
    lines.insert(lines.end(), {"d_X_target = d_Q @ W_Q.T", "d_X_source = d_K @ W_K.T + d_V @ W_V.T"});
  bench.code(lines);
}

/// The entry of a table that is farthest from 0, in the first sample: "d_scaled[dog, the]" and its value.
struct Extreme {
  std::string name;
  double value = 0.0;
};

Extreme extreme_of(const attn::Event& event) {
  const auto& shape = event.tensor->shape;
  const auto rows = shape[shape.size() - 2], columns = shape.back();
  std::size_t at = 0;
  for (std::size_t i = 1; i < rows * columns; ++i)
    if (std::abs(event.tensor->at(i)) > std::abs(event.tensor->at(at))) at = i;
  const auto first = event.axes.size() - 2;
  const auto name = [&](std::size_t axis, std::size_t i) {
    const auto& labels = event.labels[axis];
    return labels.empty() ? name_along(event, axis, i) : attn::numbered_token(labels.of(0), i);
  };
  return {fmt::format("{}[{}, {}]", event.id, name(first, at / columns), name(first + 1, at % columns)),
          event.tensor->at(at)};
}

std::string notice_of_scaled(const attn::Event& d_scaled) {
  const auto [name, value] = extreme_of(d_scaled);
  if (value == 0.0) return d_scaled.note;
  const auto twin = name.find('#') == name.npos ? "" : " (#2: the second)";
  return fmt::format("{} {}{} = {:.4f}: raise that scaled score by 0.01, and L {} by about {:.6f}.",
                     d_scaled.note, name, twin, value, value > 0.0 ? "grows" : "falls",
                     0.01 * std::abs(value));
}

std::string notice_of_weight(const attn::Event& d_W) {
  const auto [name, value] = extreme_of(d_W);
  if (value == 0.0) return d_W.note;
  const auto entry = name.substr(2);
  return fmt::format("{} A training step with the learning rate η sets {} ← {} − η · {}: {} becomes {}.",
                     d_W.note, d_W.id.substr(2), d_W.id.substr(2), d_W.id, entry,
                     value > 0.0 ? fmt::format("smaller by η · {:.4f}", value)
                                 : fmt::format("larger by η · {:.4f}", -value));
}

/// The gradients of parameters are of all samples together.
attn::OnPage whole_batch(const Workbench& bench, const std::string& id, const attn::Notice& notice = {}) {
  return bench.plan.is_batched() ? attn::in_one_line(id) : attn::OnPage{id, notice};
}

void set_backward_page(Workbench& bench) {
  const bool has_projections = starts_from_projections(bench);
  const auto known = [&](const char* id) {
    return has_projections ? attn::in_one_line(id) : attn::OnPage{id};
  };
  bench.trace.page({attn::in_one_line("X"),
                    attn::in_one_line("X_target"),
                    attn::in_one_line("X_source"),
                    known("Q"),
                    known("K"),
                    known("V"),
                    attn::in_one_line("scores"),
                    attn::in_one_line("mask"),
                    attn::in_one_line("scaled"),
                    attn::in_one_line("masked"),
                    {"weights", nothing_to_notice},
                    {"d_output"},
                    attn::in_one_line("output"),
                    attn::in_one_line("L"),
                    {"product-rule"},
                    {"d_V"},
                    {"d_weights"},
                    {"softmax-rule"},
                    {"d_scaled", notice_of_scaled},
                    attn::in_one_line("d_scores"),
                    {"d_Q"},
                    known("d_K"),
                    whole_batch(bench, "d_W_Q", notice_of_weight),
                    attn::in_one_line("d_W_K"),
                    attn::in_one_line("d_W_V"),
                    {"d_X"},
                    {"d_X_target"},
                    {"d_X_source"}},
                   {"check/d_Q", "check/d_W_Q", "check/d_X", "check/d_X_target", "rows-of-d_scaled-sum-to-0",
                    "hidden-scores-have-no-gradient"});
}

void introduce_backward(Workbench& bench) {
  bench.idea(
      "How does attention learn? Training asks of every parameter x: if it were a little larger, how much "
      "would the loss L grow? That is its gradient, ∂L/∂x, and training moves the parameter the other way. "
      "The gradients are found by going through the forward pass backwards: each step turns the gradient of "
      "its result into those of what the result was computed from (the chain rule). d_Q has the shape of Q: "
      "the gradient of each number, here drawn.");
}

void go_back_to_words(Workbench& bench, const ProjectedFrom& from, const AttentionInputs& in,
                      const Attention<3>& attention, const Tensor<3>& d_output,
                      const AttentionGradients& gradients) {
  const auto of_projections = projection_backward(bench, from, gradients);
  claim_gradients(bench.trace,
                  check_projections(from, in, attention, d_output, of_projections, bench.options.temperature,
                                    bench.trace.dtype(), streams_of(bench)));
}

void run_backward(Workbench& bench) {
  auto& trace = bench.trace;
  set_backward_page(bench);
  introduce_backward(bench);
  const auto begin = start_of_backward(bench);
  const auto& [in, from] = begin;
  const auto d_output = draw_d_output(bench);
  bench.flow(backward_flow(begin));
  show_backward_code(bench, begin);
  const auto attention = scaled_dot_product_attention(bench, in.Q, in.K, in.V, in.mask);
  show_loss(bench, attention.output, d_output);

  const auto gradients = attention_backward(bench, in, attention, d_output);
  if (from) go_back_to_words(bench, *from, in, attention, d_output, gradients);
  explain_cost(trace, bench.plan);

  const auto check = check_gradients(in, attention, d_output, gradients, bench.options.temperature,
                                     trace.dtype(), streams_of(bench));
  explain_differences(trace, check.entry_by_entry);
  claim_gradients(trace, check);
  claim_softmax(bench, in.mask, gradients);
  claim_gradients_of_kernel(bench, in, attention, d_output, gradients);
  bench.try_next({{"backward --temperature 0.1", "one key has nearly all: what of d_Q?"},
                  {"training", "what helps the many small steps of training"}});
}

std::vector<Input> backward_inputs(const Options& options) {
  const bool is_pair = !options.source.empty() || !options.target.empty();
  std::vector<Input> words = {{"X", {"token", "d_model"}, Draw::embedding}};
  if (is_pair)
    words = {{"X_target", {"target", "d_model"}, Draw::embedding},
             {"X_source", {"source", "d_model"}, Draw::embedding}};
  return joined({words, projection_input_list(), attention_input_list(), {{"d_output", {"query", "d_v"}}}});
}

}  // namespace

extern const Lesson backward;
const Lesson backward = {
    .name = "backward",
    .title = "gradients: from the loss back to the parameters of attention",
    .teaches =
        "How a gradient finds its way back through attention: the rule for a matrix product, the rule for "
        "softmax, and from them the gradients of V, weights, scores, Q and K, then those of the projections "
        "W_Q, W_K and W_V, which training changes, and of the words. Each is derived, computed and then "
        "checked by moving the numbers and watching the loss. Q, K or V from --input or --set take the place "
        "of X and the projections; so do those that --draws stream draws.",
    .options = {"sentence", "source", "target", "d-model", "d-k", "d-v", "causal", "window", "temperature",
                "seed", "rng", "draws", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"the cat saw the dog"}, .d_model = 4},
    .examples = {"backward --sentence \"the cat slept\" --d-k 4 --d-v 3",
                 "backward --source \"one two three four\" --target \"five six\" --causal"},
    .inputs = backward_inputs,
    .run = run_backward,
};

}  // namespace lessons
