/// Writing a text token by token with a causal decoder, and the cache that saves it from reading everything
/// anew. Sources: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training" (a
/// decoder alone); Shazeer 2019, "Fast Transformer Decoding" (the cache, multi-query attention); Ainslie et
/// al. 2023, "GQA" (groups of heads).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/steps.hpp"
#include "lessons/claims.hpp"
#include "lessons/generate/cache_steps.hpp"
#include "lessons/generate/decoding_steps.hpp"
#include "lessons/lesson.hpp"
#include "lessons/multihead.hpp"
#include "lessons/positional.hpp"
#include "lessons/workbench/weight_scale.hpp"

namespace lessons {

namespace {

/// Refuses weights whose scores, layer upon layer, would leave the range of T. A layer makes its tokens
/// larger by about the standard deviations of W_V and W_O times the roots of how many numbers each adds up.
void require_range(const Workbench& bench) {
  const auto& options = bench.options;
  const auto d_model = bench.d_model(), wide_k = bench.heads() * bench.d_k(),
             wide_v = bench.heads() * bench.d_v();
  const auto growth = [&](std::size_t fan_in, std::size_t fan_out) {
    return 2.0 * standard_deviation(options.weight_scale, fan_in, fan_out) *
           std::sqrt(static_cast<double>(fan_in));
  };
  const double by_layer = std::log10(1.0 + growth(d_model, wide_v) * growth(wide_v, d_model));
  const double token = 1.0 + by_layer * static_cast<double>(*options.layers - 1);
  const double score = 2.0 * (token + std::log10(1.0 + growth(d_model, wide_k))) + std::log10(bench.d_k());
  if (score < std::log10(std::numeric_limits<double>::max())) return;
  throw attn::Error(fmt::format(
      "--layers {} with weights of this size makes scores of about 1e{:.0f}, too large for {}; valid: "
      "fewer layers or a smaller --weight-scale",
      *options.layers, score, options.dtype));
}

/// The distinct tokens of the prompt in order of first appearance.
attn::TokenBatch vocabulary_of(const attn::TokenBatch& prompt) {
  std::vector<std::string> words;
  for (const auto& token : prompt.tokens.front())
    if (std::find(words.begin(), words.end(), token) == words.end()) words.push_back(token);
  return {{words}};
}

DecoderModel show_model(Workbench& bench) {
  const auto& prompt = bench.plan.sentence;
  const auto vocabulary = vocabulary_of(prompt);
  bench.label({"vocabulary"}, vocabulary);
  DecoderModel model;
  model.words = vocabulary.tokens.front();
  const auto embedding =
      bench.embed({.id = "embedding",
                   .title = "The vocabulary: a vector for each word",
                   .axes = {"vocabulary", "d_model"},
                   .note = "The words are the distinct tokens of the prompt. The model can write no others."},
                  vocabulary);
  model.embedding = attn::sample(embedding, 0);
  model.positions = bench.trace.input(
      {.id = "positions",
       .title = "What says where a token stands",
       .formula = "PE(p, 2i) = sin(p ωᵢ), PE(p, 2i+1) = cos(p ωᵢ), ωᵢ = 10000^(−2i/d)",
       .axes = {"position", "d_model"},
       .note =
           "A row for each position that will be read (see the lesson positional). The token written last is "
           "read by nobody."},
      attn::sinusoidal_encoding(prompt.length() + *bench.options.new_tokens - 1, bench.d_model()));
  model.weights.heads = bench.heads();
  model.weights.kv_heads = bench.kv_heads();
  for (std::size_t layer = 0; layer < *bench.options.layers; ++layer)
    model.weights.layers.push_back(in_layer(bench, layer, [&]() -> attn::MultiHeadWeights { auto [W_Q, W_K, W_V, W_O] = draw_multihead_weights(bench); return {W_Q, W_K, W_V, W_O}; }));
  model.weights.W_vocabulary = bench.weight({.id = "W_vocabulary",
                                             .title = "Scores the words",
                                             .axes = {"d_model", "vocabulary"},
                                             .note = "Each column is the direction of one word."},
                                            bench.d_model(), model.words.size());
  return model;
}

Decoding begin(const Workbench& bench, const DecoderModel& model) {
  Decoding decoding;
  for (const auto& token : bench.plan.sentence.tokens.front())
    decoding.tokens.push_back(static_cast<std::size_t>(
        std::find(model.words.begin(), model.words.end(), token) - model.words.begin()));
  decoding.caches.assign(model.weights.layers.size(), {1, bench.kv_heads(), bench.d_k(), bench.d_v()});
  return decoding;
}

void show_text(Workbench& bench, const DecoderModel& model, const Decoding& decoding) {
  const auto n = bench.plan.sentence.length(), written = decoding.tokens.size() - n;
  auto tokens = Integers<1>::from_shape({written});
  std::vector<std::string> words, from;
  for (std::size_t step = 0; step < written; ++step) {
    tokens(step) = static_cast<std::int64_t>(decoding.tokens[n + step]);
    words.push_back(model.words[decoding.tokens[n + step]]);
    from.push_back(fmt::format("step={}/token", step));
  }
  bench.trace.label("token", {{words}});
  bench.trace.step(
      {.id = "written",
       .title = "How the text goes on",
       .formula = "one token a step",
       .from = from,
       .axes = {"token"},
       .note = "The model is not trained: its weights are random, and so is what it writes. Only how it "
               "writes is to be seen here. A row holds places in the vocabulary."},
      tokens);
}

/// How large a number that rounding leaves of logits may be: each layer magnifies what is left of the one
/// before by as much as its scores are large.
double magnitude(const attn::CausalDecoder& full, const Tensor<2>& W_vocabulary) {
  double result =
      attn::max_abs(full.hidden) * attn::max_abs(W_vocabulary) * static_cast<double>(W_vocabulary.shape(0));
  for (const auto& layer : full.layers) result *= 1.0 + attn::max_abs(layer.attention.scaled);
  return std::min(result, 1e12 * attn::max_abs(full.logits));
}

void claim_full_pass(Workbench& bench, const DecoderModel& model, const Decoding& decoding) {
  const auto n = bench.plan.sentence.length();
  const std::vector<std::size_t> read(decoding.tokens.begin(), decoding.tokens.end() - 1);
  const auto full =
      attn::causal_decoder(attn::embed_tokens(model.embedding, model.positions, read, 0), model.weights);
  bench.trace.claim({.id = "cached-equals-full",
                     .claim = "one pass over the whole text, without a cache, gives the same logits",
                     .formula = "max |step=T/logits − full pass, row of the token read last|",
                     .value = attn::deviation_from_full_pass(decoding.logits, full),
                     .limit = rounding(bench.trace, magnitude(full, model.weights.W_vocabulary))});

  double others = 0.0;
  for (std::size_t i = n; i < decoding.tokens.size(); ++i) {
    const auto logits = attn::step_of(full.logits, i - 1);
    if (attn::greedy_token(logits) != decoding.tokens[i]) others += 1.0;
  }
  bench.trace.claim({.id = "same-text",
                     .claim = "without the cache the same tokens are written",
                     .formula = "tokens other than the argmax of the full pass",
                     .value = others,
                     .limit = attn::exactly(0.0)});
}

/// The largest weight that falls on a token behind the query's own, in the prefill of every layer.
double largest_weight_on_the_future(const Decoding& decoding) {
  double largest = 0.0;
  for (std::size_t layer = 0; layer < decoding.caches.size(); ++layer) {
    const auto& weights = decoding.weights[layer];
    const auto mask = attn::repeat_mask(attn::causal_mask(weights.shape(2), weights.shape(3)), 1);
    for (std::size_t head = 0; head < weights.shape(1); ++head)
      largest = attn::maximum({largest, attn::largest_hidden_weight(attn::head(weights, head), mask)});
  }
  return largest;
}

void claim_weights(Workbench& bench, const Decoding& decoding) {
  bench.trace.claim({.id = "future-weights-are-0",
                     .claim = "in the prefill no token looks at a later one",
                     .formula = "max weights[i, j] where j > i",
                     .value = largest_weight_on_the_future(decoding),
                     .limit = attn::exactly(0.0)});
  double deviation = 0.0;
  for (const auto& weights : decoding.weights)
    deviation = attn::maximum({deviation, attn::row_sum_deviation(weights)});
  bench.trace.claim({.id = "rows-sum-to-1",
                     .claim = "in every step each row of weights sums to 1",
                     .formula = "max |Σⱼ weights − 1|",
                     .value = deviation,
                     .limit = rounding(bench.trace)});
}

void run(Workbench& bench) {
  require_pairs(bench.options, "sinusoidal positions");
  require_range(bench);
  bench.trace.note(
      "idea", "The idea",
      "A decoder writes a text one token at a time: it reads what is there, scores every word it knows, "
      "writes the "
      "best one behind the others and reads again. To read it all anew each time would be a waste. No token "
      "sees a "
      "later one, so whatever was computed for the tokens before stays as it is. And of all that, the new "
      "token "
      "needs only two things, their keys and their values. These are kept: the KV cache. The first step, the "
      "prefill, reads the whole prompt and fills it. From then on each step reads one token.",
      "step 0   n queries × n keys         keys and values of n tokens kept\n"
      "step T   1 query × (n + T) keys     one more kept");
  bench.trace.note(
      "model", "The model",
      "As small as it can be: vectors with positions, layers of causal multi-head attention, each added to "
      "what it "
      "was given, and a matrix that scores the words. A real one has layer norms and feed-forward networks, "
      "too "
      "(see the lesson transformer-block). They look at one token at a time and have nothing to keep.");

  const auto model = show_model(bench);
  auto decoding = begin(bench, model);
  for (std::size_t step = 0; step < *bench.options.new_tokens; ++step)
    show_decoding_step(bench, model, step, decoding);
  show_text(bench, model, decoding);
  claim_full_pass(bench, model, decoding);
  claim_weights(bench, decoding);
  show_cache(bench, decoding);
}

/// The prompt may have as many distinct words as it has tokens. Every step holds copies of the cache.
double element_count(const Plan& plan) {
  const auto& options = plan.options;
  const auto n = static_cast<double>(plan.sentence.length()),
             steps = static_cast<double>(*options.new_tokens);
  const auto tokens = n + steps, layers = static_cast<double>(*options.layers);
  const auto d_model = static_cast<double>(*options.d_model), heads = static_cast<double>(*options.heads);
  return 2 * tokens * d_model + 3 * n * (d_model + steps) + steps * layers * heads * tokens +
         2 * layers * multihead_element_count(options, 1, tokens, tokens);
}

}  // namespace

extern const Lesson generate;
const Lesson generate = {
    .name = "generate",
    .title = "writing token by token, with a cache of keys and values",
    .teaches =
        "How a causal decoder writes: the prompt is read in one pass, then each new token alone, against the "
        "keys "
        "and values that are kept of all tokens before. What the cache holds and how it grows, that it "
        "changes "
        "nothing in the result, and what fewer key and value heads (grouped-query, multi-query) save.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "layers", "new-tokens", "seed",
                "rng", "weight-scale", "embeddings", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"a rose is a"}, .heads = 2, .new_tokens = 3, .layers = 1},
    .examples = {"generate --sentence \"The cat sat on the mat\" --new-tokens 2",
                 "generate --heads 4 --kv-heads 1 --layers 2 --new-tokens 2"},
    .element_count = element_count,
    .run = run,
};

}  // namespace lessons
