/// The lesson backward through the lesson multihead: see lessons/backward/multihead.cpp for the backward
/// pass.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attn/ops/heads.hpp"
#include "attn/ops/measure.hpp"
#include "fast/attention.hpp"
#include "lessons/backward/loss.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/multihead.hpp"
#include "lessons/backward/notices.hpp"
#include "lessons/backward/projections.hpp"
#include "lessons/backward/recomputation.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

void choose_multihead_backward_page(Workbench& bench) {
  using attn::in_one_line;
  bench.trace.page({in_one_line("X"),
                    in_one_line("Q"),
                    in_one_line("K"),
                    in_one_line("V"),
                    in_one_line("mask"),
                    in_one_line("scaled"),
                    in_one_line("masked"),
                    attn::without_table("weights"),
                    in_one_line("heads"),
                    in_one_line("output"),
                    narrow(bench, {"d_output"}),
                    in_one_line("L"),
                    narrow(bench, whole_batch(bench, "d_W_O", notice_of_weight)),
                    attn::without_table("d_concat"),
                    in_one_line("d_heads"),
                    attn::without_table("d_V_heads"),
                    attn::without_table("d_weights"),
                    {"d_scaled", notice_of_scaled},
                    in_one_line("d_scores"),
                    in_one_line("d_Q_heads"),
                    in_one_line("d_K_heads"),
                    in_one_line("d_Q"),
                    in_one_line("d_K"),
                    in_one_line("d_V"),
                    bench.plan.is_batched() ? in_one_line("d_W_Q") : attn::without_table("d_W_Q"),
                    in_one_line("d_W_K"),
                    in_one_line("d_W_V"),
                    narrow(bench, {"d_X", nothing_to_notice}),
                    {"recomputation"},
                    {"flash/log_sum_exp"},
                    in_one_line("kept/everything"),
                    in_one_line("kept/flash"),
                    in_one_line("kept/checkpoint")},
                   {"check/d_W_O", "check/d_W_Q", "check/d_X", "checkpointing-gives-the-same",
                    "flash-gives-the-same", "gradients-equal-kernel"});
}

std::vector<std::string> multihead_backward_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length(), h = bench.heads();
  const auto whole = fmt::format("[{}×{}]", n, h * bench.d_k());
  const auto merged = fmt::format("[{}×{}]", n, h * bench.d_v());
  const auto result = fmt::format("[{}×{}]", n, bench.d_model());
  const auto heads = fmt::format("[{}×{}×{}]", h, n, bench.d_v());
  const auto pairs = fmt::format("[{}×{}×{}]", h, n, n);
  return {fmt::format("X {} → Q, K, V {} → split → Q_heads, K_heads, V_heads", result, whole),
          fmt::format("  → weights {} → heads {} → merge → concat {}", pairs, heads, merged),
          fmt::format("  → W_O → output {} → L", result),
          "",
          fmt::format("d_output {} → d_W_O, d_concat {} → split → d_heads {}", result, merged, heads),
          fmt::format("  → d_V_heads, d_weights {} → d_scaled → d_scores", pairs),
          "  → d_Q_heads, d_K_heads → merge → d_Q, d_K, d_V",
          "  → d_W_Q, d_W_K, d_W_V, d_X"};
}

/// The forward pass is detail: the lesson multihead showed its code.
void show_multihead_backward_code(Workbench& bench, const std::optional<Mask<3>>& mask) {
  bench.trace.within("forward", [&] { bench.code(multihead_code(bench, mask)); });
  const auto n = bench.plan.sentence.length(), h = bench.heads(), kv = bench.kv_heads();
  const auto shared = h == kv ? "" : fmt::format(".repeat({}, axis=0)", h / kv);
  const auto add_up = [&](const std::string& product, std::size_t d) {
    if (h == kv) return product;
    return fmt::format("({}).reshape({}, {}, {}, {}).sum(axis=1)", product, kv, h / kv, n, d);
  };
  const double T = bench.options.temperature;
  const bool is_one_sample = !bench.plan.is_batched();
  std::vector<std::string> lines = {
      "# X, Q_heads, …, weights, concat: those of the lesson multihead (--all)"};
  if (is_one_sample) lines.emplace_back("d_W_O     = concat.T @ d_output");
  if (is_one_sample && bench.has_given("b_O")) lines.emplace_back("d_b_O     = d_output.sum(axis=0)");
  lines.insert(lines.end(),
               {"d_concat  = d_output @ W_O.T",
                fmt::format("d_heads   = d_concat.reshape({}, {}, {}).swapaxes(0, 1)", n, h, bench.d_v()),
                "d_V_heads = " + add_up("weights.swapaxes(1, 2) @ d_heads", bench.d_v()),
                fmt::format("d_weights = d_heads @ V_heads{}.swapaxes(1, 2)", shared),
                "average   = np.sum(weights * d_weights, axis=2, keepdims=True)",
                "d_scaled  = weights * (d_weights - average)",
                fmt::format("d_scores  = d_scaled / np.sqrt({}){}", bench.d_k(),
                            T == 1.0 ? "" : fmt::format(" / {}", T)),
                fmt::format("d_Q_heads = d_scores @ K_heads{}", shared),
                "d_K_heads = " + add_up("d_scores.swapaxes(1, 2) @ Q_heads", bench.d_k()),
                "d_Q, d_K, d_V = map(np.hstack, (d_Q_heads, d_K_heads, d_V_heads))"});
  if (is_one_sample) {
    lines.emplace_back("d_W_Q, d_W_K, d_W_V = X.T @ d_Q, X.T @ d_K, X.T @ d_V");
    add_bias_gradients(bench, lines);
  }
  lines.push_back("d_X       = d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T");
  lines.push_back(
      fmt::format("flash_log_sum_exp = np.logaddexp.reduce({}, axis=2)", mask ? "masked" : "scaled"));
  bench.code(lines);
}

/// From the same Q_heads, K_heads, V_heads and d_heads.
void claim_kernel_of_heads(Workbench& bench, const MultiHeadKept& kept, const Gradients& gradients) {
  const auto gradient = [&](const char* id, const Tensor<4>& like) {
    Tensor<4> d(like.shape());
    const auto& numbers = gradients.of(id);
    std::copy(numbers.begin(), numbers.end(), d.begin());
    return d;
  };
  claim_gradients_of_kernel<4>(
      bench,
      {.Q = kept.Q_heads, .K = kept.K_heads, .V = kept.V_heads, .weights = kept.weights, .mask = kept.mask},
      gradient("heads", kept.heads), gradient("Q_heads", kept.Q_heads), gradient("K_heads", kept.K_heads),
      gradient("V_heads", kept.V_heads));
}

void run_backward_through_multihead(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  choose_multihead_backward_page(bench);
  bench.idea(
      "How do several heads learn? Through a single attention each step turned the gradient of its result "
      "into those of what the result was computed from. Several heads add two steps that compute nothing: "
      "splitting a row into heads and merging them. What only moves numbers moves their gradients back: "
      "splitting goes back by merging, merging by splitting. In between each head goes back by itself, and "
      "as all heads read the same X, their gradients add up there. Products go back by the rule that the "
      "lesson backward derives:",
      "C = A B   ⇒   d_A = d_C Bᵀ,   d_B = Aᵀ d_C");
  bench.flow(multihead_backward_flow(bench));
  bench.show_lengths(sentence);
  const Named X = {"X", bench.input<3>({.id = "X", .title = "The sentence as vectors"})};
  const auto weights = draw_multihead_weights(bench);
  const auto mask = bench.mask(sentence, sentence);
  const auto d_output = draw_d_output(bench);
  show_multihead_backward_code(bench, mask);
  const auto forward = multihead_attention(bench, X, X, weights, mask);
  show_loss(bench, forward.output, d_output);

  Gradients gradients(bench);
  const auto kept = MultiHeadKept::of(X, X, forward, mask);
  multihead_backward(bench, gradients, kept, weights, d_output);

  const ForwardPass again = {.loss =
                                 [&](Workbench& mute, const Move& move) {
                                   const Named x = {"X", move("X", X.tensor)};
                                   return attn::sum_of_products(
                                       multihead_attention(mute, x, x, moved(move, weights), mask).output,
                                       d_output);
                                 },
                             .magnitude = magnitude_of_loss(forward.output, d_output),
                             .curved = {"scaled"},
                             .of_its_size = {"output"}};
  claim_by_moving(bench, again, gradients);

  const auto log_sum_exp = show_log_sum_exp(bench, forward.attention);
  show_recomputation(
      bench, gradients,
      {.everything = kept_by_attention(kept),
       .flash = kept_by_flash(kept, log_sum_exp),
       .checkpoint = {{"X", X.tensor.size()}},
       .log_sum_exp = log_sum_exp,
       .from_checkpoint =
           [&](Workbench& mute, Gradients& all) {
             const auto once_more = multihead_attention(mute, X, X, weights, mask);
             multihead_backward(mute, all, MultiHeadKept::of(X, X, once_more, mask), weights, d_output);
           },
       .from_flash =
           [&](Workbench& mute, Gradients& all, const Tensor<3>& kept_sums) {
             const auto made_again = weights_again(mute, kept, kept_sums);
             multihead_backward(
                 mute, all, {X, X, kept.Q_heads, kept.K_heads, kept.V_heads, made_again, kept.heads, mask},
                 weights, d_output);
           }});
  claim_kernel_of_heads(bench, kept, gradients);
  bench.try_next({{"backward --through multihead --kv-heads 1", "what of d_K_heads?"},
                  {"backward --through transformer-block", "and through layer norm"},
                  {"training", "what helps the many small steps of training"}});
}

std::vector<Input> multihead_backward_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 multihead_input_list(),
                 multihead_bias_list(),
                 {{"mask", {"query", "key"}, Draw::page}, {"d_output", {"query", "d_model"}}}});
}

}  // namespace

extern const Lesson backward_through_multihead;
const Lesson backward_through_multihead = {
    .name = "backward",
    .title = "gradients: back through several heads",
    .teaches = "",
    .options = {"sentence", "through", "d-model", "d-k", "d-v", "heads", "kv-heads", "causal", "window",
                "temperature", "seed", "rng", "draws", "weight-scale", "embeddings", "model", "dtype"},
    .defaults = {.sentence = {"the cat slept"}, .d_model = 4, .heads = 2, .through = "multihead"},
    .examples = {},
    .inputs = multihead_backward_inputs,
    .trained = Trained{.task = "about",
                       .give = give_about_heads,
                       .replaceable = {"d_output"},
                       .reads = Reads::english,
                       .seed_draws = "d_output"},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 4,
                    .heads = 4,
                    .kv_heads = 2,
                    .causal = true,
                    .through = "multihead"},
                   sharpen_token,
                   {"d_X", "d_W_O", "d_W_Q", "d_W_K", "d_W_V", "L"}},
    .through = "multihead",
    .run = run_backward_through_multihead,
};

}  // namespace lessons
