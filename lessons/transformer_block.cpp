/// A block of a transformer: attention mixes the tokens, a feed-forward network rewrites each of them, and
/// around both go residual connections and layer norm. Sources: Vaswani et al. 2017, section 3.1 and equation
/// 2; layer norm: Ba et al. 2016; before the sublayer: Xiong et al. 2020; residual connections: He et al.
/// 2016; GELU: Hendrycks & Gimpel 2016.

#include "lessons/transformer_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "attn/ops/activation.hpp"
#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/lesson.hpp"
#include "lessons/trained/about.hpp"
#include "lessons/transformer_block/claims.hpp"
#include "lessons/transformer_block/layout.hpp"
#include "lessons/transformer_block/mistakes.hpp"
#include "lessons/transformer_block/numpy.hpp"
#include "lessons/transformer_block/stack.hpp"
#include "lessons/transformer_block/sublayers.hpp"
#include "lessons/workbench/claims.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// Trained gains and biases move the rows away from mean 0 and variance 1.
std::string norm_title(const Workbench& bench, const std::string& title) {
  return bench.options.model ? "Rows brought to one scale" : title;
}

attn::Mistakes together(attn::Mistakes mistakes, const attn::Mistakes& more) {
  mistakes.insert(mistakes.end(), more.begin(), more.end());
  return mistakes;
}

}  // namespace

Named residual(Workbench& bench, attn::About about, const Named& x, const Named& found,
               const attn::Mistakes& more_mistakes) {
  about.formula = x.id + " + " + found.id;
  about.from = {x.id, found.id};
  about.worked = attn::worked_add(attn::Known{x.id, x.tensor}, attn::Known{found.id, found.tensor});
  return {about.id, bench.trace.step(about, attn::add(x.tensor, found.tensor),
                                     together(mistakes_of_residual(x.tensor, found.tensor), more_mistakes))};
}

Named layer_norm(Workbench& bench, attn::About about, const Named& x, const std::string& name,
                 const attn::LayerNormWeights& weights, const attn::Mistakes& more_mistakes) {
  about.formula = "LN(" + x.id + ")";
  about.from = {x.id, name + "/gain", name + "/bias"};
  about.worked =
      attn::worked_layer_norm(attn::Known{x.id, x.tensor}, attn::Known<1>{name + "/gain", weights.gain},
                              attn::Known<1>{name + "/bias", weights.bias});
  return {about.id, bench.trace.step(about, attn::layer_norm(x.tensor, weights.gain, weights.bias),
                                     together(mistakes_of_layer_norm(x.tensor, weights), more_mistakes))};
}

attn::LayerNormWeights layer_norm_weights(Workbench& bench, const std::string& name) {
  auto gain = bench.input<1>({.id = name + "/gain", .title = "Gain of the layer norm: 1 before training"});
  auto bias = bench.input<1>({.id = name + "/bias", .title = "Bias of the layer norm: 0 before training"});
  return {std::move(gain), std::move(bias)};
}

Named attention_residual(Workbench& bench, const Named& X, const Named& output) {
  return residual(bench,
                  {.id = "residual",
                   .title = "The output of attention is added to each token",
                   .axes = {"query", "d_model"},
                   .note = "Attention only adds to a token's row (He et al. 2016), so that gradients have a "
                           "straight way back and layers can be stacked."},
                  X, output);
}

Named attention_norm(Workbench& bench, const Named& x, const attn::LayerNormWeights& weights) {
  return layer_norm(bench,
                    {.id = "normalized",
                     .title = norm_title(bench, "Each row brought to mean 0 and variance 1"),
                     .axes = {"query", "d_model"},
                     .note = note_of_layer_norm},
                    x, "norm", weights);
}

using attn::Activation;

Activation activation_of(const Workbench& bench) {
  return bench.options.activation == "gelu" ? Activation::gelu : Activation::relu;
}

bool norm_comes_first(const Workbench& bench) {
  return bench.options.norm_order == "pre";
}

namespace {

FeedForwardWeights draw_feed_forward_weights(Workbench& bench) {
  auto W_1 = bench.input<2>({.id = "W_1",
                             .title = "First layer of the network: d_model to d_ff numbers",
                             .note = "Each column looks for one direction in a token's row."});
  auto b_1 = bench.input<1>({.id = "b_1", .title = "Bias of the first layer: 0 before training"});
  auto W_2 =
      bench.input<2>({.id = "W_2",
                      .title = "Second layer of the network: d_ff back to d_model numbers",
                      .note = "Each row is what its column of W_1 adds to the token where it has found it."});
  auto b_2 = bench.input<1>({.id = "b_2", .title = "Bias of the second layer: 0 before training"});
  return {std::move(W_1), std::move(b_1), std::move(W_2), std::move(b_2)};
}

/// x W + b without the terms in which x is 0: ReLU makes many of them. A bias of 0 takes no room either.
attn::WorkedOut worked_without_zeros(const attn::Known<3>& x, const attn::Known<2>& weight,
                                     const attn::Known<1>& bias) {
  return [=](const attn::Index& at) {
    std::vector<attn::Worked> terms;
    for (std::size_t k = 0; k < weight.tensor.shape(0); ++k) {
      auto number = x({at[0], at[1], k}), factor = weight({k, at[2]});
      if (number.value() == 0.0 && std::isfinite(factor.value())) continue;
      terms.push_back(attn::Worked::product({std::move(number), std::move(factor)}));
    }
    auto last = bias({at[2]});
    if (terms.empty() || last.value() != 0.0) terms.push_back(std::move(last));
    return attn::Worked::sum(std::move(terms));
  };
}

/// An entry that ReLU lets through, of the token that is worked out in other steps; nothing where it has
/// none.
std::optional<attn::Index> first_let_through(const Tensor<3>& hidden) {
  const std::size_t token = attn::token_to_work_out(hidden.shape(1));
  for (std::size_t j = 0; j < hidden.shape(2); ++j)
    if (hidden(0, token, j) > 0.0) return attn::Index{token, j};
  return std::nullopt;
}

}  // namespace

FeedForward feed_forward(Workbench& bench, const Named& x, const FeedForwardWeights& weights) {
  const auto activation = activation_of(bench);
  const bool is_relu = activation == Activation::relu;
  auto& trace = bench.trace;
  const std::size_t d_model = weights.W_1.shape(0), d_ff = weights.W_1.shape(1);
  const std::string about_width =
      d_ff == 4 * d_model ? " d_ff is 4 · d_model, as in the first transformer." : "";
  auto activated = attn::activate(activation, attn::linear(x.tensor, weights.W_1, weights.b_1));
  const auto let_through = is_relu ? first_let_through(activated) : std::nullopt;
  auto hidden = trace.step(
      {.id = "ffn/hidden",
       .title = "The network's hidden layer",
       .formula = is_relu ? fmt::format("max(0, {} W_1 + b_1)", x.id)
                          : fmt::format("GELU({} W_1 + b_1), GELU(x) = x/2 · (1 + erf(x / √2))", x.id),
       .from = {x.id, "W_1", "b_1"},
       .axes = {"token", "d_ff"},
       .note =
           (is_relu
                ? fmt::format("max(0, …), called ReLU, lets through what is positive and cuts off the rest. "
                              "Without it W_1 [{0}×{1}] and W_2 [{1}×{0}] would be no more than one matrix.",
                              d_model, d_ff)
                : "GELU weighs x with Φ(x), the share of a normal distribution below x. It is smooth where "
                  "ReLU has a corner, and lets a little of what is negative through: at least −0.17. Many "
                  "programs replace erf by a formula with tanh, which is off by less than 0.0005.") +
           about_width,
       .worked = attn::worked_activation(
           activation, attn::worked_linear(attn::Known{x.id, x.tensor}, attn::Known<2>{"W_1", weights.W_1},
                                           attn::Known<1>{"b_1", weights.b_1})),
       .worked_at = let_through},
      std::move(activated), mistakes_of_hidden(activation, x.tensor, weights));
  if (is_relu)
    trace.note("ffn/zeros", "How much ReLU cuts off",
               fmt::format("{} of the {} numbers of ffn/hidden are 0. Which ones they are differs from token "
                           "to token: each token works with its own part of W_1 and W_2.",
                           std::count(hidden.begin(), hidden.end(), 0.0), hidden.size()));
  auto output = trace.step(
      {.id = "ffn/output",
       .title = "The network's output",
       .formula = "ffn/hidden W_2 + b_2",
       .from = {"ffn/hidden", "W_2", "b_2"},
       .axes = {"token", "d_model"},
       .note = is_relu ? "Every row comes from its own token only. Where ffn/hidden is 0, the worked sum "
                         "leaves the term out."
                       : "Every row comes from its own token only.",
       .worked = worked_without_zeros({"ffn/hidden", hidden}, {"W_2", weights.W_2}, {"b_2", weights.b_2})},
      attn::linear(hidden, weights.W_2, weights.b_2), mistakes_of_feed_forward(hidden, weights));
  return {std::move(hidden), std::move(output)};
}

namespace {

/// The sublayer around f: LN(x + f(x)) with the layer norm after f, x + f(LN(x)) with the layer norm before
/// it.
Named sublayer(Workbench& bench, const Named& x, const SublayerText& text,
               const attn::LayerNormWeights& weights, AroundSublayer& around,
               const std::function<Named(const Named&)>& f) {
  const auto add = [&](const Named& found, const attn::Mistakes& more_mistakes = {}) {
    auto sum = residual(bench,
                        {.id = text.residual_id,
                         .title = text.residual_title,
                         .axes = {"token", "d_model"},
                         .note = text.residual_note},
                        x, found, more_mistakes);
    around.residual = sum.tensor;
    return sum;
  };
  const auto LN = [&](const Named& before, const attn::Mistakes& more_mistakes = {}) {
    auto norm = layer_norm(bench,
                           {.id = text.norm_id,
                            .title = norm_title(bench, "Each row with mean 0 and variance 1"),
                            .axes = {"token", "d_model"},
                            .note = text.norm_note},
                           before, text.weights, weights, more_mistakes);
    if (!bench.is_mute()) claim_layer_norm(bench, norm, before, weights);
    around.norm = norm.tensor;
    return norm;
  };
  if (norm_order_of(bench) == NormOrder::post) return LN(add(f(x)));
  const auto normed = LN(x, mistakes_of_norm_before(x.tensor));
  const auto found = f(normed);
  return add(found, mistakes_of_residual_around_norm(x.tensor, found.tensor, normed.tensor, weights));
}

/// Multi-head attention in the group `group`.
MultiHeadAttention attend(Workbench& bench, const std::string& group, const Named& query, const Named& key,
                          const MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  auto attention =
      bench.trace.within(group, [&] { return multihead_attention(bench, query, key, weights, mask); });
  bench.trace.claim({.id = group + "/rows-sum-to-1",
                     .claim = "each row of " + group + "/weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = attn::row_sum_deviation(attention.attention.weights),
                     .limit = rounding(bench.trace)});
  return attention;
}

}  // namespace

TransformerBlock apply_block(Workbench& bench, const Named& X, const TransformerBlockWeights& weights,
                             const std::optional<Mask<3>>& mask, const std::optional<Tensor<3>>& memory) {
  if (memory.has_value() != (weights.cross && weights.norm_cross))
    throw std::invalid_argument("[apply_block] a memory and the weights of cross-attention need each other");
  TransformerBlock block;
  auto x = sublayer(bench, X, around_attention(), weights.norm_1, block.around_attention,
                    [&](const Named& tokens) -> Named {
                      block.attention = attend(bench, "attention", tokens, tokens, weights.attention, mask);
                      return {"attention/output", block.attention.output};
                    });
  block.attended = x.tensor;
  if (memory) {
    bench.label({"key"}, bench.plan.memory);
    x = sublayer(
        bench, x, around_cross_attention(), *weights.norm_cross, block.around_cross,
        [&](const Named& tokens) -> Named {
          block.cross = attend(bench, "cross", tokens, {"memory", *memory}, *weights.cross, std::nullopt);
          return {"cross/output", block.cross->output};
        });
  }
  const auto text = around_feed_forward(norm_order_of(bench));
  x = sublayer(bench, x, text, weights.norm_2, block.around_feed_forward, [&](const Named& tokens) -> Named {
    block.feed_forward = feed_forward(bench, tokens, weights.feed_forward);
    if (!bench.is_mute()) claim_feed_forward(bench, tokens, block.feed_forward, weights.feed_forward);
    return {"ffn/output", block.feed_forward.output};
  });
  if (x.id != "output")
    x.tensor = bench.trace.step({.id = "output",
                                 .title = "The tokens as they go on to the next block",
                                 .formula = x.id,
                                 .from = {x.id},
                                 .axes = {"token", "d_model"},
                                 .note = "A stack normalises once more after its last block.",
                                 .worked = attn::Known<3>{x.id, x.tensor}},
                                x.tensor);
  block.output = std::move(x.tensor);
  return block;
}

namespace {

/// "norm_1 = LN(X + attention(X))" and so on, a line for each sublayer.
std::string block_formula(NormOrder order, bool has_memory) {
  std::string x = "X", formula;
  const auto add_line = [&](const std::string& f, const std::string& second_argument,
                            const std::string& result) {
    formula += order == NormOrder::post
                   ? fmt::format("{} = LN({} + {}({}{}))\n", result, x, f, x, second_argument)
                   : fmt::format("{} = {} + {}(LN({}){})\n", result, x, f, x, second_argument);
    x = result;
  };
  const std::string prefix = order == NormOrder::post ? "norm_" : "residual_";
  add_line("attention", "", prefix + "1");
  if (has_memory) add_line("cross", ", memory", prefix + "cross");
  add_line("ffn", "", "output");
  formula.pop_back();
  return formula;
}

void explain_idea(Workbench& bench) {
  const bool has_memory = bench.options.memory.has_value();
  bench.idea(
      fmt::format(
          "A transformer is a stack of blocks like this one. A block has {} sublayers:\n"
          "attention: the tokens look at each other, as in the lesson multihead\n{}"
          "feed-forward network (ffn): attention only mixes values; the ffn computes something new from each "
          "mixture, token by token\n"
          "What a sublayer finds is added to its input: a residual connection. So it only learns a "
          "correction. Layer norm (LN) keeps the rows at one scale, so that sums do not grow from block to "
          "block. The output has the shape of X.",
          has_memory ? "three" : "two",
          has_memory ? "cross-attention: the tokens look into an encoder's sentence\n" : ""),
      block_formula(norm_order_of(bench), has_memory));
}

/// What the lesson multihead taught, with the shapes of this run.
void recall_attention(Workbench& bench) {
  const auto n = bench.plan.sentence.length(), heads = bench.heads(), kv_heads = bench.kv_heads(),
             d_k = bench.d_k(), d_v = bench.d_v();
  const auto made =
      heads == kv_heads && d_k == d_v
          ? fmt::format("queries, keys and values of {} numbers, cut into {} head{} of d_k = {}", heads * d_k,
                        heads, heads == 1 ? "" : "s", d_k)
          : fmt::format(
                "{0} queries and {1} keys of d_k = {2} numbers and {1} values of d_v = "
                "{3} for each token, one a head",
                heads, kv_heads, d_k, d_v);
  bench.trace.note("attention-recalled", "Sublayer 1: attention, as in the lesson multihead",
                   fmt::format("W_Q, W_K and W_V make {}. Each head compares the {} tokens; W_O mixes the "
                               "results.",
                               made, n));
}

void explain_norm_order(Workbench& bench) {
  const bool is_post = norm_order_of(bench) == NormOrder::post;
  bench.trace.note(
      "norm-order",
      is_post ? "Layer norm after each sublayer (post-norm)" : "Layer norm before each sublayer (pre-norm)",
      is_post
          ? "With LN before the sublayer (--norm pre) x itself is never rescaled: each sublayer only adds to "
            "it. Most later models do so, as it trains more stably."
          : "The sublayer reads normalised rows, and what it finds is added to rows that no layer norm has "
            "touched. So the correction that training sends back (lesson backward) has a straight way "
            "through the whole stack, and training needs no warm-up (Xiong et al. 2020; lesson training). "
            "But the sums may grow from block to block, so the stack ends with one more layer norm.",
      is_post ? "post (this run)   x ← LN(x + sublayer(x))\n"
                "pre               x ← x + sublayer(LN(x))   (Xiong et al. 2020)"
              : "post              x ← LN(x + sublayer(x))\npre (this run)    x ← x + sublayer(LN(x))");
}

/// The encoder's output that a decoder's block looks into; nothing for an encoder's block.
std::optional<Tensor<3>> show_memory(Workbench& bench) {
  if (!bench.options.memory) return std::nullopt;
  bench.label({"source"}, bench.plan.memory);
  std::string note =
      "It stands for the output of an encoder; here it is simply the vectors of the words, drawn before "
      "those of X.";
  if (bench.plan.is_batched()) note += " Every sentence of the batch looks into the same memory.";
  auto X = bench.input<3>({.id = "memory", .title = "The encoder's sentence", .note = note});
  if (!bench.options.causal)
    bench.trace.note(
        "decoder-is-causal", "A decoder that writes must not look ahead",
        "Here every token sees the whole of its own sentence. A decoder writes its sentence word by word and "
        "knows only what it has written: add --causal to hide every later token.");
  return X;
}

}  // namespace

TransformerBlockWeights draw_block_weights(Workbench& bench, bool has_memory) {
  const auto draw_attention = [&] { return draw_multihead_weights(bench); };
  TransformerBlockWeights weights;
  weights.attention = bench.trace.within("attention", draw_attention);
  if (has_memory) weights.cross = bench.trace.within("cross", draw_attention);
  weights.feed_forward = draw_feed_forward_weights(bench);
  weights.norm_1 = layer_norm_weights(bench, "norm_1");
  if (has_memory) weights.norm_cross = layer_norm_weights(bench, "norm_cross");
  weights.norm_2 = layer_norm_weights(bench, "norm_2");
  return weights;
}

namespace {

/// How the numbers to learn divide among the sublayers.
void show_parameter_count(Workbench& bench, const TransformerBlockWeights& weights) {
  const auto d = bench.d_model(), d_ff = bench.options.d_ff.value();
  const std::size_t attentions = bench.options.memory ? 2 : 1, in_norms = (attentions + 1) * 2 * d;
  std::size_t in_attention = 0;
  for (const auto* attention : {&weights.attention, weights.cross ? &*weights.cross : nullptr})
    if (attention != nullptr)
      for (const auto& [W, b] : {attention->Q(), attention->K(), attention->V(), attention->O()})
        in_attention += W.size() + (b ? b->size() : 0);
  const auto of_attention = in_attention == attentions * 4 * d * d
                                ? fmt::format("{}·4·{}² = {}", attentions, d, in_attention)
                                : std::to_string(in_attention);
  const auto in_ffn = 2 * d * d_ff + d_ff + d;
  const auto total = in_attention + in_ffn + in_norms;
  bench.trace.note("parameters", "Where the block keeps what it has learned",
                   fmt::format("{} numbers to learn, {:.0f} % of them in the feed-forward network.", total,
                               100.0 * static_cast<double>(in_ffn) / static_cast<double>(total)),
                   fmt::format("attention{}: {}\nfeed-forward network: 2·{}·{} + {} + {} = "
                               "{}\nlayer norms: {}·2·{} = {}",
                               attentions == 2 ? " and cross-attention" : "", of_attention, d, d_ff, d_ff, d,
                               in_ffn, attentions + 1, d, in_norms));
}

}  // namespace

std::vector<Input> block_bias_list(bool has_memory) {
  auto list = in_group("attention", multihead_bias_list());
  return has_memory ? joined({list, in_group("cross", multihead_bias_list())}) : list;
}

std::vector<Input> block_input_list(bool has_memory) {
  std::vector<std::vector<Input>> lists = {in_group("attention", multihead_input_list())};
  if (has_memory) lists.push_back(in_group("cross", multihead_input_list()));
  lists.push_back({{"W_1", {"d_model", "d_ff"}, Draw::weight},
                   {"b_1", {"d_ff"}, Draw::zeros},
                   {"W_2", {"d_ff", "d_model"}, Draw::weight},
                   {"b_2", {"d_model"}, Draw::zeros}});
  for (const std::string norm : {"norm_1", "norm_cross", "norm_2"})
    if (has_memory || norm != "norm_cross")
      lists.push_back(
          in_group(norm, {{"gain", {"d_model"}, Draw::ones}, {"bias", {"d_model"}, Draw::zeros}}));
  return joined(lists);
}

namespace {

/// The first layer of a model of two, in the group `layer_1`: its output is the X of this block.
Tensor<3> output_of_layer_1(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  const auto n = sentence.length();
  return bench.trace.within("layer_1", [&] {
    const auto X = bench.input<3>({.id = "X",
                                   .title = "The words as vectors",
                                   .note = "What the lexicon knows of each word, and a code of its own, "
                                           "times a trained matrix."});
    const auto weights = draw_block_weights(bench);
    std::optional<Mask<3>> mask;
    if (sentence.is_padded())
      mask = bench.trace.within("attention", [&] {
        return bench.trace.input({.id = "mask", .title = "The padding is hidden", .axes = {"query", "key"}},
                                 attn::padding_mask(sentence.lengths(), n, n));
      });
    show_code_of_layer_1(bench, weights.attention, mask);
    return apply_block(bench, {"X", X}, weights, mask).output;
  });
}

/// Worked out where the run has the layer before, and an input elsewhere.
Tensor<3> vectors_of_block(Workbench& bench) {
  attn::About about = {
      .id = "X",
      .title = "The tokens as they come into the block",
      .note = bench.options.model
                  ? where_X_comes_from
                  : "In the first block of a model positions have been added to them (see the lesson "
                    "positional). Here there are none."};
  if (!bench.has_given("layer_1/X")) return bench.input<3>(about);
  const auto output = output_of_layer_1(bench);
  if (bench.has_given("X")) return bench.input<3>(about);
  about.formula = "layer_1/output";
  about.from = {"layer_1/output"};
  about.axes = {"token", "d_model"};
  about.worked = attn::Known<3>{"layer_1/output", output};
  return bench.trace.step(about, output);
}

void run_transformer_block(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  choose_block_page(bench);
  explain_idea(bench);
  if (!bench.is_mute()) bench.flow(block_flow(bench));
  bench.show_lengths(sentence);
  const auto X = vectors_of_block(bench);
  const auto memory = show_memory(bench);
  const auto weights = draw_block_weights(bench, bench.options.memory.has_value());
  const auto mask = bench.trace.within("attention", [&] { return bench.mask(sentence, sentence); });
  show_block_code(bench, mask);
  show_parameter_count(bench, weights);
  recall_attention(bench);
  explain_norm_order(bench);

  const auto block = apply_block(bench, {"X", X}, weights, mask, memory);
  if (bench.options.model) explain_stack(bench);
  claim_block(bench, X, weights, mask, memory, block);
  if (bench.options.model)
    return bench.try_next({{"transformer-block --sentence \"the dog chased the ball: it was round\"",
                            "whom does \"it\" look at?"},
                           {"transformer-block --memory \"i love cats\" --causal",
                            "a decoder's block: the memory is the encoder's sentence"},
                           {"classifier", "what to do with such rows: one verdict for a sentence"}});
  const bool is_post = norm_order_of(bench) == NormOrder::post;
  bench.try_next(
      {{is_post ? "transformer-block --norm pre" : "transformer-block --norm post",
        is_post ? "what is never normalised on its way to the output?" : "which rows leave at one scale?"},
       {"transformer-block --memory \"i love cats\" --causal",
        "a decoder's block: the memory is the encoder's sentence"},
       {"classifier", "what to do with such rows: one verdict for a sentence"}});
}

}  // namespace

namespace {

/// Gives the weights of a layer of the model as those of the group `group`.
void give_layer(ModelInputs& inputs, const std::string& layer, const std::string& group) {
  for (const std::string id :
       {"attention/W_Q", "attention/W_K", "attention/W_V", "attention/W_O", "W_1", "W_2"})
    inputs.give(group + id, inputs.matrix(layer + id));
  for (const std::string id : {"b_1", "b_2", "norm_1/gain", "norm_1/bias", "norm_2/gain", "norm_2/bias"})
    inputs.give(group + id, inputs.vector(layer + id));
}

}  // namespace

void give_block(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("X", input_of_second_layer(inputs));
  give_layer(inputs, "layer=2/", "");
}

namespace {

void give_both_layers(ModelInputs& inputs) {
  inputs.options().heads = inputs.number("heads");
  inputs.give_rows("layer_1/X", words_as_vectors(inputs));
  inputs.give("layer_1/attention/angles", angles_of_first_layer(inputs.model(), inputs.sentence().length()));
  give_layer(inputs, "layer=1/", "layer_1/");
  give_layer(inputs, "layer=2/", "");
}

/// Those of a layer before, whose heads and network have other sizes.
std::vector<Input> inputs_of_layer_1() {
  auto list = joined({{{"X", {"token", "d_model"}}},
                      block_input_list(false),
                      {{"attention/angles", {"position=", "pair="}}}});
  for (auto& input : list) {
    input.draw = Draw::given;
    for (auto& axis : input.axes)
      if (axis != "token" && axis != "d_model") axis = axis.substr(0, axis.find('=')) + "=";
  }
  list.push_back({"attention/mask", {"query", "key"}, Draw::page});
  return in_group("layer_1", list);
}

/// With --memory or a given `memory` there are the cross-attention's, too.
std::vector<Input> transformer_block_inputs(const Options&) {
  return joined({{{"X", {"token", "d_model"}, Draw::embedding},
                  {"memory", {"source=memory", "d_model"}, Draw::embedding}},
                 block_input_list(true),
                 block_bias_list(true),
                 {{"attention/mask", {"query", "key"}, Draw::page}},
                 inputs_of_layer_1()});
}

}  // namespace

extern const Lesson transformer_block;
const Lesson transformer_block = {
    .name = "transformer-block",
    .title = "attention, feed-forward network, residuals, layer norm",
    .teaches =
        "What a transformer is a stack of: attention lets the tokens look at each other, a feed-forward "
        "network rewrites each of them, and around both go residual connections and layer norm, after the "
        "sublayer (--norm post) or before it (--norm pre). With --memory the block is a decoder's: between "
        "the two it looks into an encoder's sentence.",
    .options = {"sentence", "memory", "d-model", "d-k", "d-v", "heads", "kv-heads", "d-ff", "norm-order",
                "activation", "causal", "seed", "rng", "draws", "weight-scale", "embeddings", "model",
                "dtype"},
    .of_detail = {"d-k", "d-v", "kv-heads"},
    .defaults = {.sentence = {"girls saw the small cat"}, .d_model = 4, .heads = 2},
    .examples = {"transformer-block --sentence \"the cat sat on the mat\" --norm pre --activation gelu",
                 "transformer-block --sentence \"j'aime les chats\" --memory \"i love cats\" --causal"},
    .inputs = transformer_block_inputs,
    .trained = Trained{.task = "about", .give = give_both_layers, .reads = Reads::english},
    .probe = Probe{{.sentence = {"a b c d e f g", "h i j k l", "m n o p"},
                    .d_model = 12,
                    .heads = 3,
                    .d_ff = 10,
                    .activation = "gelu",
                    .norm_order = "pre"},
                   sharpen_block},
    .run = run_transformer_block,
};

}  // namespace lessons
