/// A block of a transformer: attention mixes the tokens, a feed-forward network rewrites each of them, and
/// around both go residual connections and layer norm. Sources: Vaswani et al. 2017, section 3.1 and equation
/// 2; layer norm: Ba et al. 2016; before the sublayer: Xiong et al. 2020; residual connections: He et al.
/// 2016; GELU: Hendrycks & Gimpel 2016.

#include "attn/layers/transformer_block.hpp"

#include <fmt/format.h>

#include "attn/layers/transformer_block_measure.hpp"
#include "attn/ops/measure.hpp"
#include "lessons/claims.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/shared/sublayer_steps.hpp"
#include "lessons/transformer_block/feed_forward_steps.hpp"

namespace lessons {

namespace {

using attn::NormOrder;

attn::TransformerBlockSettings settings_of(const Workbench& bench) {
  return {.heads = bench.heads(),
          .norm = bench.options.norm_order == "pre" ? NormOrder::pre : NormOrder::post,
          .activation = activation_of(bench)};
}

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
  bench.trace.note(
      "idea", "The idea",
      fmt::format(
          "A transformer is a stack of blocks like this one. In it attention lets the tokens look at each "
          "other{}, and a small network then rewrites every token by itself. Each of these sublayers only "
          "adds to what is there (a residual connection), and layer norm (LN) keeps the rows at one scale. "
          "The block returns a tensor of the shape of X, so the next block can go on with it.",
          has_memory ? ", cross-attention lets them look into an encoder's sentence" : ""),
      block_formula(settings_of(bench).norm, has_memory));
}

void explain_norm_order(Workbench& bench) {
  if (settings_of(bench).norm == NormOrder::post)
    bench.trace.note(
        "norm-order", "Layer norm after each sublayer (post-norm)",
        "The first transformer had it so. Every row leaves the block at one scale, but the way back for the "
        "gradients leads through every layer norm of the stack, and training needs a learning rate that "
        "warms up (Xiong et al. 2020). Run again with --norm pre for the order of most models since. "
        "Tutorials write x = nn.LayerNorm(d_model)(x + attention_output). In a forward pass that line makes "
        "a new layer norm each time, whose gain and bias nobody ever trains: make it once, with the model.",
        "x ← LN(x + sublayer(x))");
  else
    bench.trace.note(
        "norm-order", "Layer norm before each sublayer (pre-norm)",
        "The sublayer reads normalised rows, and what it finds is added to rows that no layer norm has "
        "touched. That leaves a straight way through the whole stack, forwards and for the gradients, and "
        "training does without a warm-up (Xiong et al. 2020). The price: nothing keeps the sums at one "
        "scale, so the stack ends with one more layer norm after its last block.",
        "x ← x + sublayer(LN(x))");
}

/// The encoder's output that a decoder's block looks into; nothing for an encoder's block.
std::optional<attn::Memory> show_memory(Workbench& bench) {
  if (!bench.options.memory) return std::nullopt;
  bench.label({"source"}, bench.plan.memory);
  std::string note =
      "It stands for the output of an encoder; here it is simply the vectors of the words, drawn before "
      "those of X.";
  if (bench.plan.is_batched()) note += " Every sentence of the batch looks into the same memory.";
  auto X = bench.embed(
      {.id = "memory", .title = "The encoder's sentence", .axes = {"source", "d_model"}, .note = note},
      bench.plan.memory);
  if (!bench.options.causal)
    bench.trace.note(
        "decoder-is-causal", "A decoder that writes must not look ahead",
        "Here every token sees the whole of its own sentence. A decoder writes its sentence word by word and "
        "knows only what it has written: add --causal to hide every later token.");
  return attn::Memory{std::move(X), std::nullopt};
}

/// Drawn in the order attention, cross-attention, feed-forward network.
attn::TransformerBlockWeights draw_weights(Workbench& bench) {
  const bool has_memory = bench.options.memory.has_value();
  const auto draw_attention = [&]() -> attn::MultiHeadWeights {
    auto [W_Q, W_K, W_V, W_O] = draw_multihead_weights(bench);
    return {W_Q, W_K, W_V, W_O};
  };
  attn::TransformerBlockWeights weights;
  weights.attention = bench.trace.within("attention", draw_attention);
  if (has_memory) weights.cross = bench.trace.within("cross", draw_attention);
  weights.feed_forward = draw_feed_forward_weights(bench);
  weights.norm_1 = norm_weights(bench, "norm_1");
  if (has_memory) weights.norm_cross = norm_weights(bench, "norm_cross");
  weights.norm_2 = norm_weights(bench, "norm_2");
  return weights;
}

Named show_attention(Workbench& bench, const std::string& group, const Named& query, const Named& key,
                     const attn::MultiHeadWeights& weights, const std::optional<Mask<3>>& mask) {
  const auto shown =
      bench.trace.within(group, [&] { return multihead_attention(bench, query, key, {weights.W_Q, weights.W_K, weights.W_V, weights.W_O}, mask); });
  bench.trace.claim({.id = group + "/rows-sum-to-1",
                     .claim = "each row of " + group + "/weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = attn::row_sum_deviation(shown.attention.weights),
                     .limit = rounding(bench.trace)});
  return {group + "/output", shown.output};
}

SublayerText around_attention() {
  return {.residual_id = "residual_1",
          .residual_title = "The token keeps what it was",
          .residual_note =
              "Attention only adds to a token's row (He et al. 2016), so that gradients have a straight way "
              "back and blocks can be stacked.",
          .norm_id = "norm_1",
          .norm_note =
              "Layer norm (Ba et al. 2016) takes mean and variance of each token's own row; the variance "
              "divides by d, not d − 1.",
          .weights = "norm_1"};
}

SublayerText around_cross_attention() {
  return {.residual_id = "residual_cross",
          .residual_title = "What was found in the encoder's sentence is added",
          .residual_note =
              "The queries came from this sentence, the keys and values from the memory. Only a decoder's "
              "block has this sublayer.",
          .norm_id = "norm_cross",
          .norm_note = "",
          .weights = "norm_cross"};
}

/// With post-norm its layer norm is the block's output.
SublayerText around_feed_forward(NormOrder order) {
  return {.residual_id = "residual_2",
          .residual_title = "What the network made of it is added",
          .residual_note = "",
          .norm_id = order == NormOrder::post ? "output" : "norm_2",
          .norm_note = "",
          .weights = "norm_2"};
}

void claim_block(Workbench& bench, const Tensor<3>& X, const attn::TransformerBlockWeights& weights,
                 const std::optional<Mask<3>>& mask, const std::optional<attn::Memory>& memory,
                 const Tensor<3>& output) {
  const auto settings = settings_of(bench);
  const auto block = attn::transformer_block(X, weights, settings, mask, memory);
  bench.trace.claim({.id = "equals-layer",
                     .claim = "the library's layer, called once, gives the same output",
                     .formula = "max |transformer_block(X) − output|",
                     .value = attn::max_abs_difference(block.output, output),
                     .limit = attn::exactly(0.0)});
  if (settings.norm == NormOrder::pre)
    bench.trace.claim({.id = "straight-way",
                       .claim = "X reaches the output untouched: the sublayers only add to it",
                       .formula = memory ? "max |X + (attention/output + cross/output + ffn/output) − output|"
                                         : "max |X + (attention/output + ffn/output) − output|",
                       .value = attn::deviation_from_sum(X, block),
                       .limit = rounding(bench.trace, attn::max_abs(X) + attn::max_abs(output))});
  if (bench.options.causal)
    bench.trace.claim(
        {.id = "no-look-ahead",
         .claim = "another last token changes no earlier row of the output, not in a single bit",
         .formula = "max |transformer_block(X with another last token) − output|, last row left out",
         .value = attn::look_ahead(X, weights, settings, mask, memory),
         .limit = attn::exactly(0.0)});
}

/// How the numbers to learn divide among the sublayers.
void show_parameter_count(Workbench& bench) {
  const auto d = bench.d_model(), d_ff = bench.options.d_ff.value();
  const std::size_t attentions = bench.options.memory ? 2 : 1;
  const auto in_attention = attentions * 4 * d * d, in_norms = (attentions + 1) * 2 * d;
  const auto in_ffn = 2 * d * d_ff + d_ff + d;
  const auto total = in_attention + in_ffn + in_norms;
  bench.trace.note("parameters", "Where the block keeps what it has learned",
                   fmt::format("{} numbers to learn, {:.0f} % of them in the feed-forward network.", total,
                               100.0 * static_cast<double>(in_ffn) / static_cast<double>(total)),
                   fmt::format("attention{}: {}·4·{}² = {}\nfeed-forward network: 2·{}·{} + {} + {} = "
                               "{}\nlayer norms: {}·2·{} = {}",
                               attentions == 2 ? " and cross-attention" : "", attentions, d, in_attention, d,
                               d_ff, d_ff, d, in_ffn, attentions + 1, d, in_norms));
}

void run(Workbench& bench) {
  const auto& sentence = bench.plan.sentence;
  bench.label({"token", "query", "key"}, sentence);
  explain_idea(bench);
  bench.show_lengths(sentence);
  const auto X = bench.embed({.id = "X",
                              .title = "The tokens as they come into the block",
                              .axes = {"token", "d_model"},
                              .note = "In the first block of a model positions have been added to them (see "
                                      "the lesson positional). Here there are none."},
                             sentence);
  const auto memory = show_memory(bench);
  const auto weights = draw_weights(bench);
  const auto mask = bench.trace.within("attention", [&] { return bench.mask(sentence, sentence); });
  show_parameter_count(bench);
  explain_norm_order(bench);

  const auto order = settings_of(bench).norm;
  Named x = {"X", X};
  x = show_sublayer(bench, x, order, around_attention(), weights.norm_1, [&](const Named& tokens) {
    return show_attention(bench, "attention", tokens, tokens, weights.attention, mask);
  });
  if (memory) {
    bench.label({"key"}, bench.plan.memory);
    x = show_sublayer(
        bench, x, order, around_cross_attention(), *weights.norm_cross, [&](const Named& tokens) {
          return show_attention(bench, "cross", tokens, {"memory", memory->X}, *weights.cross, memory->mask);
        });
  }
  x = show_sublayer(bench, x, order, around_feed_forward(order), weights.norm_2, [&](const Named& tokens) {
    return show_feed_forward(bench, tokens, weights.feed_forward);
  });
  if (x.id != "output")
    bench.trace.step({.id = "output",
                      .title = "The tokens as they go on to the next block",
                      .formula = x.id,
                      .from = {x.id},
                      .axes = {"token", "d_model"},
                      .note = "A stack normalises once more after its last block."},
                     x.tensor);
  claim_block(bench, X, weights, mask, memory, x.tensor);
}

double element_count(const Plan& plan) {
  const auto& options = plan.options;
  const auto batch = static_cast<double>(plan.sentence.size()),
             n = static_cast<double>(plan.sentence.length()), m = static_cast<double>(plan.memory.length());
  const auto d = static_cast<double>(*options.d_model), d_ff = static_cast<double>(*options.d_ff);
  const double attentions = multihead_element_count(options, batch, n, n) +
                            (options.memory ? multihead_element_count(options, batch, n, m) : 0.0);
  return 2 * (attentions + 2 * d * d_ff + batch * n * (2 * d_ff + 9 * d));
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
    .options = {"sentence", "memory", "d-model", "heads", "d-ff", "norm-order", "activation", "causal",
                "seed", "rng", "weight-scale", "embeddings", "dtype"},
    .defaults = {.sentence = {"The cat sat on the mat"}, .heads = 2},
    .examples = {"transformer-block --sentence \"The cat sat on the mat\" --norm pre --activation gelu",
                 "transformer-block --sentence \"J'aime les chats\" --memory \"I love cats\" --causal"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
