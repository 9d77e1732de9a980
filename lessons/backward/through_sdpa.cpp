/// Back through attention: the gradient of a loss with respect to every tensor of the forward pass, derived
/// step by step and checked by central differences.
/// Sources: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors"; the
/// formulas of attention as in Dao et al. 2022, "FlashAttention", appendix B.2.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/text/width.hpp"
#include "lessons/backward/attention.hpp"
#include "lessons/backward/loss.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/notices.hpp"
#include "lessons/backward/probe.hpp"
#include "lessons/backward/projections.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

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

void claim_softmax(Workbench& bench, const std::optional<Mask<3>>& mask,
                   const AttentionGradients<3>& gradients) {
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

/// What attention starts from, and what that came from unless it was given.
struct BackwardStart {
  AttentionInputs in;
  std::optional<ProjectedFrom> from;
};

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
  if (from) projections = projection_code(bench, from->X_query.id, from->X_key.id);
  bench.trace.within("forward", [&] { bench.code(attention_code(bench, in.mask, projections)); });

  const double T = bench.options.temperature;
  std::vector<std::string> lines = {
      "# X, Q, K, V, weights and output come from the forward pass (see --all)"};
  if (!bench.plan.is_batched()) lines.push_back("L         = np.sum(output * d_output)");
  lines.insert(lines.end(), {"d_V       = weights.T @ d_output", "d_weights = d_output @ V.T",
                             "average   = np.sum(weights * d_weights, axis=1, keepdims=True)",
                             "d_scaled  = weights * (d_weights - average)",
                             T == 1.0 ? "d_scores  = d_scaled / np.sqrt(Q.shape[1])"
                                      : fmt::format("d_scores  = d_scaled / (np.sqrt(Q.shape[1]) * {})", T),
                             "d_Q, d_K  = d_scores @ K, d_scores.T @ Q"});
  if (from && !bench.plan.is_batched()) {
    lines.push_back(fmt::format("d_W_Q, d_W_K, d_W_V = {0}.T @ d_Q, {1}.T @ d_K, {1}.T @ d_V",
                                from->X_query.id, from->X_key.id));
    add_bias_gradients(bench, lines);
  }
  if (from && from->is_one_text()) lines.push_back("d_X       = d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T");
  if (from && !from->is_one_text())
    lines.insert(lines.end(), {"d_X_target = d_Q @ W_Q.T", "d_X_source = d_K @ W_K.T + d_V @ W_V.T"});
  bench.code(lines);
}

/// The note of the event and where the numbers are that its worked entry takes from elsewhere.
attn::Notice note_with(const std::string& where) {
  return [where](const attn::Event& event) { return event.note + where; };
}

/// Also why d_X has the terms that its line on the page shows.
attn::Notice notice_of_W_Q(const Workbench& bench) {
  const bool is_one_text = bench.plan.sentence.size() > 0;
  return [is_one_text](const attn::Event& d_W_Q) {
    const std::string about_words =
        " (X: --steps X)\nX is used in 3 products, so d_X is a sum of 3 terms. The layer below takes d_X as "
        "its d_output.";
    return notice_of_weight(d_W_Q) + (is_one_text ? about_words : "");
  };
}

void set_backward_page(Workbench& bench) {
  const bool has_projections = starts_from_projections(bench);
  const auto known = [&](const char* id) {
    return has_projections ? attn::in_one_line(id) : attn::OnPage{id};
  };
  bench.trace.page(
      {attn::in_one_line("X"),
       attn::in_one_line("X_target"),
       attn::in_one_line("X_source"),
       known("Q"),
       known("K"),
       known("V"),
       attn::in_one_line("scores"),
       attn::in_one_line("mask"),
       attn::in_one_line("scaled"),
       attn::in_one_line("masked"),
       {"weights", bench.options.model ? who_is_about_whom : nothing_to_notice},
       {"d_output"},
       attn::in_one_line("output"),
       attn::in_one_line("L"),
       {"product-rule"},
       attn::without_table("d_V", nullptr),
       {"d_weights", note_with(" (V: --steps V)")},
       {"softmax-rule"},
       {"d_scaled",
        [is_trained = bench.options.model.has_value()](const attn::Event& d_scaled) {
          return notice_of_scaled(d_scaled) + (is_trained
                                                   ? " Where a weight w is nearly 0 or 1, w − w w is nearly "
                                                     "0: what the model is sure of hardly changes."
                                                   : "");
        }},
       attn::in_one_line("d_scores"),
       {"d_Q",
        [](const auto&) {
          return "A row of d_Q is a sum of the keys, each times its d_score (K: --steps K). In scores = Q Kᵀ "
                 "the B is Kᵀ, so d_K is the transpose of Qᵀ d_scores.";
        }},
       known("d_K"),
       narrow(bench, whole_batch(bench, "d_W_Q", notice_of_W_Q(bench))),
       attn::in_one_line("d_W_K"),
       attn::in_one_line("d_W_V"),
       bench.plan.is_batched() ? attn::without_table("d_X", nullptr) : attn::in_one_line("d_X"),
       {"d_X_target"},
       {"d_X_source"}},
      {"check/d_W_Q", "check/d_X", "check/d_X_target", "rows-of-d_scaled-sum-to-0",
       "hidden-scores-have-no-gradient"});
}

void introduce_backward(Workbench& bench) {
  bench.idea(
      "How does attention learn? Training asks of every parameter x: how much would the loss L grow if x "
      "were a little larger? That is its gradient ∂L/∂x, and training moves x the other way. The chain rule "
      "works backwards, from the gradient of a result to those of its inputs. d_Q holds ∂L/∂x of each x in "
      "Q.");
}

/// The forward pass from what it starts with, a tensor moved: by plain operations, for it runs some thousand
/// times.
Tensor<3> output_again(Workbench& mute, const BackwardStart& start, const Move& move) {
  const auto& [in, from] = start;
  const auto step = [&](const char* id, Tensor<3> x) { return mute.trace.step({.id = id}, std::move(x)); };
  AttentionInputs now;
  if (from) {
    const auto of = [&](const Named& X) { return move(X.id, X.tensor); };
    const auto &X = from->X_query, &Y = from->X_key;
    const ProjectionWeights weights = {move("W_Q", from->weights.W_Q), move("W_K", from->weights.W_K),
                                       move("W_V", from->weights.W_V), move("b_Q", from->weights.b_Q),
                                       move("b_K", from->weights.b_K), move("b_V", from->weights.b_V)};
    now = {step("Q", weights.Q()(of(X))), step("K", weights.K()(of(Y))), step("V", weights.V()(of(Y))),
           in.mask};
  } else {
    now = {move("Q", in.Q), move("K", in.K), move("V", in.V), in.mask};
  }
  const auto scores = step("scores", attn::matmul(now.Q, attn::transpose(now.K)));
  auto scaled = step("scaled", attn::divide(scores, divisor_of(now.Q.shape(2), mute.options.temperature)));
  if (now.mask) scaled = step("masked", attn::apply_mask(std::move(scaled), *now.mask));
  const auto weights = step("weights", attn::softmax(std::move(scaled)));
  return step("output", attn::matmul(weights, now.V));
}

void run_backward_through_sdpa(Workbench& bench) {
  set_backward_page(bench);
  introduce_backward(bench);
  const auto begin = start_of_backward(bench);
  const auto& [in, from] = begin;
  const auto d_output = draw_d_output(bench);
  bench.flow(backward_flow(begin));
  show_backward_code(bench, begin);
  const auto attention = scaled_dot_product_attention(bench, in.Q, in.K, in.V, in.mask);
  show_loss(bench, attention.output, d_output);

  Gradients gradients(bench);
  const AttentionKept<3> kept = {.Q = in.Q,
                                 .K = in.K,
                                 .V = in.V,
                                 .weights = attention.weights,
                                 .mask = in.mask,
                                 .scaled = &attention.scaled};
  const auto of_attention = attention_backward<3>(bench, gradients, kept, d_output);
  if (from)
    projection_backward(bench, gradients, *from, of_attention.d_Q, of_attention.d_K, of_attention.d_V);
  explain_cost(bench.trace, bench.plan);

  const ForwardPass again = {.loss =
                                 [&](Workbench& mute, const Move& move) {
                                   return attn::sum_of_products(output_again(mute, begin, move), d_output);
                                 },
                             .magnitude = magnitude_of_loss(attention.output, d_output),
                             .curved = {"scaled"},
                             .of_its_size = {"output"}};
  claim_by_moving(bench, again, gradients);
  claim_softmax(bench, in.mask, of_attention);
  claim_gradients_of_kernel<3>(bench, kept, d_output, of_attention.d_Q, of_attention.d_K, of_attention.d_V);
  const Proposal temperature =
      bench.options.model ? Proposal{"backward --temperature 10", "the weights are less sure: what of d_Q?"}
                          : Proposal{"backward --temperature 0.1", "one key has nearly all: what of d_Q?"};
  bench.try_next({temperature, {"complexity", "what it costs when the sentence grows"}},
                 {{"backward --through multihead", "through W_O and the heads to X"}});
}

std::vector<Input> sdpa_backward_inputs(const Options& options) {
  const bool is_pair = !options.source.empty() || !options.target.empty();
  std::vector<Input> words = {{"X", {"token", "d_model"}, Draw::embedding}};
  if (is_pair)
    words = {{"X_target", {"target", "d_model"}, Draw::embedding},
             {"X_source", {"source", "d_model"}, Draw::embedding}};
  return joined({words,
                 projection_input_list(),
                 projection_bias_list(),
                 attention_input_list(),
                 {{"d_output", {"query", "d_v"}}}});
}

}  // namespace

Probe probe_of_backward() {
  return {{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
           .d_model = 6,
           .d_k = 5,
           .d_v = 4,
           .window = 3,
           .causal = true},
          sharpen_token,
          {"d_X", "d_Q", "d_K", "d_V", "d_W_Q", "d_W_K", "d_W_V", "L"}};
}

extern const Lesson backward_through_sdpa;
const Lesson backward_through_sdpa = {
    .name = "backward",
    .title = "gradients: from the loss back to the parameters of attention",
    .teaches = "",
    .options = {"sentence", "source", "target", "through", "d-model", "d-k", "d-v", "causal", "window",
                "temperature", "seed", "rng", "draws", "weight-scale", "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"the cat saw the dog"}, .d_model = 4},
    .examples = {},
    .inputs = sdpa_backward_inputs,
    .trained = Trained{.task = "about",
                       .give = give_about,
                       .replaceable = {"d_output"},
                       .reads = Reads::english,
                       .seed_draws = "d_output"},
    .probe = probe_of_backward(),
    .through = "sdpa",
    .run = run_backward_through_sdpa,
};

}  // namespace lessons
