/// The lesson backward through the lesson transformer-block: see lessons/backward/transformer_block.cpp for
/// the backward pass.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/ops/measure.hpp"
#include "attn/text/width.hpp"
#include "lessons/backward/loss.hpp"
#include "lessons/backward/moved.hpp"
#include "lessons/backward/notices.hpp"
#include "lessons/backward/recomputation.hpp"
#include "lessons/backward/transformer_block.hpp"
#include "lessons/lesson.hpp"
#include "lessons/workbench/notice.hpp"
#include "lessons/workbench/sharpen.hpp"

namespace lessons {

namespace {

std::string zeros_of_relu(const attn::Event& d_linear) {
  const auto& tensor = *d_linear.tensor;
  const auto count = attn::element_count(tensor.shape);
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < count; ++i) zeros += tensor.at(i) == 0.0 ? 1 : 0;
  return fmt::format("{} {} of its {} numbers are 0.", d_linear.note, zeros, count);
}

void choose_block_backward_page(Workbench& bench) {
  using attn::in_one_line;
  using attn::without_table;
  const bool is_relu = activation_of(bench) == attn::Activation::relu;
  const auto sized = [&](const char* id, const attn::Notice& notice = nothing_to_notice) {
    return bench.plan.is_batched() ? in_one_line(id) : without_table(id, notice);
  };
  std::vector<attn::OnPage> page = {in_one_line("X"),          in_one_line("attention/mask"),
                                    in_one_line("norm_1"),     in_one_line("attention/output"),
                                    in_one_line("residual_1"), in_one_line("norm_2"),
                                    in_one_line("ffn/hidden"), in_one_line("residual_2"),
                                    in_one_line("output"),     narrow(bench, {"d_output"}),
                                    in_one_line("L")};
  const std::vector<attn::OnPage> attention = {
      without_table("attention/d_output"), in_one_line("attention/d_W_O"), in_one_line("attention/d_weights"),
      in_one_line("attention/d_scaled"),   in_one_line("attention/d_W_Q"), in_one_line("attention/d_W_K"),
      in_one_line("attention/d_W_V"),      in_one_line("attention/d_X"),   in_one_line("attention/d_norm_1")};
  const std::vector<attn::OnPage> network = {
      in_one_line("ffn/d_output"),
      sized("d_W_2"),
      in_one_line("d_b_2"),
      without_table("ffn/d_hidden"),
      without_table("ffn/d_linear", is_relu ? zeros_of_relu : attn::Notice(nothing_to_notice)),
      sized("d_W_1"),
      in_one_line("d_b_1")};
  const auto add = [&](const std::vector<attn::OnPage>& steps) {
    page.insert(page.end(), steps.begin(), steps.end());
  };
  const auto note_of = [](const attn::Event& event) { return event.note; };
  if (is_pre_norm(bench)) {
    add({{"d_residual_2", note_of}});
    add(network);
    add({without_table("d_norm_2"), sized("norm_2/d_gain"), in_one_line("norm_2/d_bias"), {"d_residual_1"}});
    add(attention);
    add({in_one_line("norm_1/d_gain"), in_one_line("norm_1/d_bias"), {"d_X", nothing_to_notice}});
  } else {
    add({sized("norm_2/d_gain"), in_one_line("norm_2/d_bias"), narrow(bench, {"d_residual_2"})});
    add(network);
    add({narrow(bench, {"d_norm_1"}), in_one_line("norm_1/d_gain"), in_one_line("norm_1/d_bias"),
         without_table("d_residual_1")});
    add(attention);
    add({narrow(bench, {"d_X"})});
  }
  add({{"recomputation"},
       in_one_line("kept/everything"),
       in_one_line("kept/flash"),
       in_one_line("kept/checkpoint")});
  bench.trace.page(page, {"check/attention/d_W_Q", "check/d_W_1", "check/norm_1/d_gain", "check/d_X",
                          "checkpointing-gives-the-same", "flash-gives-the-same"});
}

/// A gradient that goes on in two ways, which meet in `end`.
void add_fork(std::vector<std::string>& lines, const std::string& begin, const std::string& way,
              const std::string& end) {
  const std::string straight = "straight on ";
  const auto joint = std::max(attn::display_width(straight), attn::display_width(way));
  const auto dashes = [&](const std::string& text) {
    std::string line;
    for (auto i = attn::display_width(text); i <= joint; ++i) line += "─";
    return line;
  };
  lines.push_back(begin + "┬ " + straight + dashes(straight) + "┐");
  lines.push_back(std::string(attn::display_width(begin), ' ') + "└ " + way + dashes(way) + "┴ " + end);
}

std::vector<std::string> block_backward_flow(const Workbench& bench) {
  const auto n = bench.plan.sentence.length();
  const auto rows = fmt::format("[{}×{}]", n, bench.d_model());
  const auto hidden = fmt::format("[{}×{}]", n, *bench.options.d_ff);
  std::vector<std::string> lines;
  if (is_pre_norm(bench)) {
    add_fork(lines, "d_output = d_residual_2 ", "ffn → d_norm_2 → LN ", "d_residual_1 " + rows);
    add_fork(lines, "d_residual_1 ", "attention → d_norm_1 → LN ", "d_X " + rows);
  } else {
    add_fork(lines, "d_output " + rows + " → LN → d_residual_2 ", "ffn ", "d_norm_1 " + rows);
    add_fork(lines, "d_norm_1 " + rows + " → LN → d_residual_1 ", "attention ", "d_X " + rows);
  }
  lines.push_back(fmt::format("ffn: d_W_2, ffn/d_hidden {} → ffn/d_linear → d_W_1, {}", hidden,
                              is_pre_norm(bench) ? "d_norm_2" : "d_norm_1"));
  return lines;
}

/// What the code of the page calls.
std::vector<std::string> backward_functions(const Workbench& bench) {
  const auto kv_heads = bench.kv_heads(), group = bench.heads() / kv_heads;
  const auto as_heads = group == 1 ? std::string() : fmt::format(", {}", kv_heads);
  const bool takes_biases = !given_biases(bench, "attention/").empty();
  auto lines = softmax_code();
  std::vector<std::string> begin = {
      "",
      fmt::format("def split(x, heads={}):", bench.heads()),
      "    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)",
      "",
      "def LN_back(d_y, x, gain):",
      "    centred = x - x.mean(axis=1, keepdims=True)",
      "    sigma = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)",
      "    s, d = centred / sigma, d_y * gain",
      "    d_x = d - d.mean(axis=1, keepdims=True) - s * (d * s).mean(axis=1, keepdims=True)",
      "    return d_x / sigma, (d_y * s).sum(axis=0), d_y.sum(axis=0)",
      "",
      fmt::format("def multihead_back(d_output, x, W_Q, W_K, W_V, W_O, mask=True{}):",
                  takes_biases ? ", b_Q=0, b_K=0, b_V=0" : ""),
      takes_biases
          ? fmt::format("    Q, K = split(x @ W_Q + b_Q), split(x @ W_K + b_K{0})\n"
                        "    V = split(x @ W_V + b_V{0})",
                        as_heads)
          : fmt::format("    Q, K, V = split(x @ W_Q), split(x @ W_K{0}), split(x @ W_V{0})", as_heads)};
  if (group > 1)
    begin.push_back(fmt::format("    K, V = K.repeat({0}, axis=0), V.repeat({0}, axis=0)", group));
  lines.insert(lines.end(), begin.begin(), begin.end());
  const std::vector<std::string> rest = {
      "    weights = softmax(np.where(mask, Q @ K.transpose(0, 2, 1) / np.sqrt(Q.shape[2]), -np.inf))",
      "    d_heads = split(d_output @ W_O.T)",
      "    d_weights = d_heads @ V.transpose(0, 2, 1)",
      "    d_scaled = weights * (d_weights - (weights * d_weights).sum(axis=2, keepdims=True))",
      "    d_scores = d_scaled / np.sqrt(Q.shape[2])",
      group == 1 ? "    d_Q, d_K = np.hstack(d_scores @ K), np.hstack(d_scores.transpose(0, 2, 1) @ Q)"
                 : fmt::format("    def add_up(x): return x.reshape({}, {}, *x.shape[1:]).sum(axis=1)\n"
                               "    d_Q = np.hstack(d_scores @ K)\n"
                               "    d_K = np.hstack(add_up(d_scores.transpose(0, 2, 1) @ Q))",
                               kv_heads, group),
      group == 1 ? "    d_V = np.hstack(weights.transpose(0, 2, 1) @ d_heads)"
                 : "    d_V = np.hstack(add_up(weights.transpose(0, 2, 1) @ d_heads))",
      "    d_W = x.T @ d_Q, x.T @ d_K, x.T @ d_V, np.hstack(weights @ V).T @ d_output",
      takes_biases ? "    d_b = [d.sum(axis=0) for d in (d_Q, d_K, d_V, d_output)]\n"
                     "    return d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T, d_W, d_b"
                   : "    return d_Q @ W_Q.T + d_K @ W_K.T + d_V @ W_V.T, d_W"};
  lines.insert(lines.end(), rest.begin(), rest.end());
  if (activation_of(bench) == attn::Activation::gelu)
    lines.insert(lines.end(), {"", "def GELU_slope(z):",
                               "    Phi = np.vectorize(lambda x: (1 + math.erf(x / np.sqrt(2))) / 2)(z)",
                               "    return Phi + z * np.exp(-z**2 / 2) / np.sqrt(2 * np.pi)"});
  return lines;
}

/// "d_x, NORM_d_gain, NORM_d_bias = LN_back(d_y, x, NORM_gain)"; the gradients of parameters are those of one
/// sample only where there is one.
std::vector<std::string> norm_lines(const Workbench& bench, const std::string& d_x, const std::string& norm,
                                    const std::string& d_y, const std::string& x) {
  constexpr std::size_t most_columns = 78;
  const auto arguments = fmt::format("{}, {}, {}_gain)", d_y, x, norm);
  if (bench.plan.is_batched()) return {fmt::format("{} = LN_back({}[0]", d_x, arguments)};
  const auto call = fmt::format("{0}, {1}_d_gain, {1}_d_bias = LN_back(", d_x, norm);
  if (call.size() + arguments.size() <= most_columns) return {call + arguments};
  return {call, "    " + arguments};
}

void show_block_backward_code(Workbench& bench, const std::optional<Mask<3>>& mask) {
  bench.trace.within("functions", [&] { bench.code(backward_functions(bench)); });
  const bool is_pre = is_pre_norm(bench), is_relu = activation_of(bench) == attn::Activation::relu;
  const bool is_one_sample = !bench.plan.is_batched();
  const std::string read = is_pre ? "norm_2" : "norm_1", attended = is_pre ? "norm_1" : "X";
  std::vector<std::string> network = {
      is_pre ? "ffn_d_output = d_residual_2 = d_output" : "ffn_d_output = d_residual_2",
      "ffn_d_hidden = ffn_d_output @ W_2.T",
      is_relu ? "ffn_d_linear = ffn_d_hidden * (ffn_hidden > 0)"
              : fmt::format("ffn_d_linear = ffn_d_hidden * GELU_slope({} @ W_1 + b_1)", read)};
  if (is_one_sample) {
    network.emplace_back("d_W_2, d_b_2 = ffn_hidden.T @ ffn_d_output, ffn_d_output.sum(axis=0)");
    network.push_back(fmt::format("d_W_1, d_b_1 = {}.T @ ffn_d_linear, ffn_d_linear.sum(axis=0)", read));
  }
  std::string biases;
  for (const auto& b : given_biases(bench, "attention/"))
    if (b != "b_O") biases += fmt::format(",\n    {0}=attention_{0}", b);
  const bool takes_biases = !given_biases(bench, "attention/").empty();
  std::vector<std::string> attention = {
      "attention_d_output = d_residual_1",
      fmt::format("attention_d_{0}, d_W{1} = multihead_back(attention_d_output, {0},", attended,
                  takes_biases ? ", d_b" : ""),
      fmt::format("    attention_W_Q, attention_W_K, attention_W_V, attention_W_O{}{})",
                  mask ? ", attention_mask" : "", biases)};
  if (takes_biases && is_one_sample)
    attention.emplace_back("attention_d_b_Q, attention_d_b_K, attention_d_b_V, attention_d_b_O = d_b");
  std::vector<std::string> lines = {
      "# LN_back(), multihead_back(): the functions are among the code of --all"};
  const auto add = [&](const std::vector<std::string>& more) {
    lines.insert(lines.end(), more.begin(), more.end());
  };
  if (is_pre) {
    add(network);
    add({"d_norm_2 = ffn_d_linear @ W_1.T"});
    add(norm_lines(bench, "d", "norm_2", "d_norm_2", "residual_1"));
    add({"d_residual_1 = d_residual_2 + d"});
    add(attention);
    add(norm_lines(bench, "d", "norm_1", "attention_d_norm_1", "X"));
    add({"d_X = d_residual_1 + d"});
  } else {
    add(norm_lines(bench, "d_residual_2", "norm_2", "d_output", "residual_2"));
    add(network);
    add({"d_norm_1 = d_residual_2 + ffn_d_linear @ W_1.T"});
    add(norm_lines(bench, "d_residual_1", "norm_1", "d_norm_1", "residual_1"));
    add(attention);
    add({"d_X = d_residual_1 + attention_d_X"});
  }
  bench.code(lines);
}

/// The inputs of a block, moved.
TransformerBlockWeights moved_weights(const Move& move, TransformerBlockWeights weights) {
  weights.attention = moved(move, weights.attention, "attention/");
  auto& network = weights.feed_forward;
  network.W_1 = move("W_1", std::move(network.W_1));
  network.b_1 = move("b_1", std::move(network.b_1));
  network.W_2 = move("W_2", std::move(network.W_2));
  network.b_2 = move("b_2", std::move(network.b_2));
  weights.norm_1.gain = move("norm_1/gain", std::move(weights.norm_1.gain));
  weights.norm_1.bias = move("norm_1/bias", std::move(weights.norm_1.bias));
  weights.norm_2.gain = move("norm_2/gain", std::move(weights.norm_2.gain));
  weights.norm_2.bias = move("norm_2/bias", std::move(weights.norm_2.bias));
  return weights;
}

ForwardPass block_again(const Workbench& bench, const Tensor<3>& X, const TransformerBlockWeights& weights,
                        const std::optional<Mask<3>>& mask, const Tensor<3>& output,
                        const Tensor<3>& d_output) {
  ForwardPass pass = {
      .loss =
          [&](Workbench& mute, const Move& move) {
            const auto block = apply_block(mute, {"X", move("X", X)}, moved_weights(move, weights), mask);
            return attn::sum_of_products(block.output, d_output);
          },
      .magnitude = magnitude_of_loss(output, d_output),
      .curved = {"attention/scaled", "norm_1", is_pre_norm(bench) ? "norm_2" : "output"},
      .of_its_size = {"attention/output", "ffn/output"}};
  if (is_pre_norm(bench)) pass.of_its_size.emplace_back("output");
  if (activation_of(bench) == attn::Activation::relu)
    pass.with_corner = {"ffn/hidden"};
  else
    pass.curved.emplace_back("ffn/hidden");
  return pass;
}

/// What a block keeps besides what its attention keeps.
std::vector<KeptTensor> kept_by_block(const Workbench& bench, const BlockKept& kept,
                                      std::vector<KeptTensor> tensors) {
  if (is_pre_norm(bench)) tensors.insert(tensors.begin(), {"X", kept.X.size()});
  tensors.push_back({"residual_1", kept.around_attention.residual.size()});
  if (is_pre_norm(bench))
    tensors.push_back({"norm_2", kept.around_feed_forward.norm.size()});
  else
    tensors.push_back({"norm_1", kept.around_attention.norm.size()});
  tensors.push_back({"ffn/hidden", kept.hidden.size()});
  if (!is_pre_norm(bench)) tensors.push_back({"residual_2", kept.around_feed_forward.residual.size()});
  return tensors;
}

void show_recomputation_of_block(Workbench& bench, const Gradients& gradients, const BlockKept& kept,
                                 const TransformerBlockWeights& weights, const TransformerBlock& forward,
                                 const Tensor<3>& d_output) {
  const auto& mask = kept.attention.mask;
  const auto log_sum_exp =
      bench.trace.within("attention", [&] { return show_log_sum_exp(bench, forward.attention.attention); });
  show_recomputation(
      bench, gradients,
      {.everything = kept_by_block(bench, kept, kept_by_attention(kept.attention, "attention/")),
       .flash = kept_by_block(bench, kept, kept_by_flash(kept.attention, log_sum_exp, "attention/")),
       .checkpoint = {{"X", kept.X.size()}},
       .log_sum_exp = log_sum_exp,
       .from_checkpoint =
           [&](Workbench& mute, Gradients& all) {
             const auto once_more = apply_block(mute, {"X", kept.X}, weights, mask);
             block_backward(mute, all, BlockKept::of(mute, kept.X, once_more, mask), weights, d_output);
           },
       .from_flash =
           [&](Workbench& mute, Gradients& all, const Tensor<3>& kept_sums) {
             const auto made_again = weights_again(mute, kept.attention, kept_sums);
             const auto& a = kept.attention;
             block_backward(
                 mute, all,
                 {kept.X,
                  {a.X_query, a.X_key, a.Q_heads, a.K_heads, a.V_heads, made_again, a.heads, a.mask},
                  kept.around_attention,
                  kept.around_feed_forward,
                  kept.hidden},
                 weights, d_output);
           }});
}

void run_backward_through_block(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  choose_block_backward_page(bench);
  bench.idea(
      "How does a block of a transformer learn? Two rules are new. A sum hands its gradient on as it is, to "
      "both of its sides: so the residual connection lets the gradient pass straight on, whatever the "
      "sublayer beside it does. And what goes two ways gets two gradients, which add up. Layer norm takes "
      "away a row's mean and size, so what would only change those comes to nothing on its way back. The "
      "rest is products, and attention as in --through multihead.");
  bench.flow(block_backward_flow(bench));
  bench.show_lengths(sentence);
  const auto X = bench.input<3>({.id = "X", .title = "The tokens as they come into the block"});
  const auto weights = draw_block_weights(bench);
  const auto mask = bench.trace.within("attention", [&] { return bench.mask(sentence, sentence); });
  const auto d_output = draw_d_output(bench);
  const auto forward = apply_block(bench, {"X", X}, weights, mask);
  show_block_backward_code(bench, mask);
  show_loss(bench, forward.output, d_output);

  Gradients gradients(bench);
  const auto kept = BlockKept::of(bench, X, forward, mask);
  block_backward(bench, gradients, kept, weights, d_output);
  const auto again = block_again(bench, X, weights, mask, forward.output, d_output);
  claim_by_moving(bench, again, gradients);
  show_recomputation_of_block(bench, gradients, kept, weights, forward, d_output);
  bench.try_next({{is_pre_norm(bench) ? "backward --through transformer-block --norm post"
                                      : "backward --through transformer-block --norm pre",
                   is_pre_norm(bench) ? "what stands in the way?" : "a straight way to X"},
                  {"backward --through multihead", "attention's part in detail"},
                  {"training", "what helps the many small steps of training"}});
}

std::vector<Input> block_backward_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding}},
                 block_input_list(),
                 {{"attention/mask", {"query", "key"}, Draw::page}, {"d_output", {"query", "d_model"}}}});
}

}  // namespace

extern const Lesson backward_through_transformer_block;
const Lesson backward_through_transformer_block = {
    .name = "backward",
    .title = "gradients: back through a block of a transformer",
    .teaches = "",
    .options = {"sentence", "through", "d-model", "d-k", "d-v", "heads", "kv-heads", "d-ff", "norm-order",
                "activation", "causal", "seed", "rng", "draws", "weight-scale", "embeddings", "model",
                "dtype"},
    .of_detail = {"d-k", "d-v", "kv-heads"},
    .defaults = {.sentence = {"the cat slept"}, .d_model = 4, .heads = 2, .through = "transformer-block"},
    .examples = {},
    .inputs = block_backward_inputs,
    .trained = Trained{.task = "about",
                       .give = give_block,
                       .replaceable = {"d_output"},
                       .reads = Reads::english,
                       .seed_draws = "d_output"},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 12,
                    .heads = 3,
                    .through = "transformer-block",
                    .d_ff = 10,
                    .activation = "gelu",
                    .norm_order = "pre"},
                   sharpen_block,
                   {"d_X", "d_W_1", "d_W_2", "d_b_1", "d_b_2", "attention/d_W_Q", "attention/d_W_K",
                    "attention/d_W_V", "attention/d_W_O", "norm_1/d_gain", "norm_1/d_bias", "norm_2/d_gain",
                    "norm_2/d_bias", "L"}},
    .through = "transformer-block",
    .run = run_backward_through_block,
};

}  // namespace lessons
