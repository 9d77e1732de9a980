/// Writing a text token by token with a causal decoder, and the cache that saves it from reading everything
/// anew. Sources: Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training" (a
/// decoder alone); Shazeer 2019, "Fast Transformer Decoding" (the cache, multi-query attention); Ainslie et
/// al. 2023, "GQA" (groups of heads).

#include "lessons/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "attn/error.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/positional_sinusoidal.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"
#include "attn/text/spelling.hpp"
#include "lessons/generate/cache.hpp"
#include "lessons/generate/claims.hpp"
#include "lessons/generate/layout.hpp"
#include "lessons/generate/mistakes.hpp"
#include "lessons/generate/numpy.hpp"
#include "lessons/generate/trained.hpp"
#include "lessons/lesson.hpp"
#include "lessons/positional.hpp"
#include "lessons/transformer_block.hpp"
#include "lessons/workbench/sharpen.hpp"
#include "lessons/workbench/weight_scale.hpp"
#include "trace/entry.hpp"

namespace lessons {

namespace {

/// The rows of each head of `more` behind those of `x`: [batch×head×n×d], [batch×head×new×d] →
/// [batch×head×(n+new)×d].
Tensor<4> append_rows(const std::string& name, const Tensor<4>& x, const Tensor<4>& more) {
  const auto [batch, heads, n, d] = x.shape();
  const auto added = more.shape(2);
  if (more.shape() != std::array{batch, heads, added, d})
    throw attn::shape_mismatch("KeyValueCache", "the cache", x, name, more,
                               "all axes but that of the tokens must match");
  Tensor<4> result({batch, heads, n + added, d});
  auto end = result.begin();
  for (std::size_t head = 0; head < batch * heads; ++head) {
    end = std::copy_n(x.data() + head * n * d, n * d, end);
    end = std::copy_n(more.data() + head * added * d, added * d, end);
  }
  return result;
}

}  // namespace

void KeyValueCache::append(const Tensor<4>& new_keys, const Tensor<4>& new_values) {
  if (new_keys.shape(2) != new_values.shape(2))
    throw attn::shape_mismatch("KeyValueCache", "keys", new_keys, "values", new_values,
                               "there must be a value for each key");
  auto all_keys = append_rows("keys", keys, new_keys);
  values = append_rows("values", values, new_values);
  keys = std::move(all_keys);
}

KeyValueCache empty_cache(std::size_t kv_heads, std::size_t d_k, std::size_t d_v) {
  return {Tensor<4>({1, kv_heads, 0, d_k}), Tensor<4>({1, kv_heads, 0, d_v})};
}

Tensor<3> embed_tokens(const Tensor<2>& embedding, const Tensor<2>& positions,
                       const std::vector<std::size_t>& tokens, std::size_t first) {
  const auto d_model = embedding.shape(1);
  if (positions.shape(1) != d_model)
    throw attn::shape_mismatch("embed_tokens", "embedding", embedding, "positions", positions,
                               "the rows must be of one length");
  if (first + tokens.size() > positions.shape(0))
    throw std::invalid_argument(
        fmt::format("[embed_tokens] positions has {} rows but the last token stands at {}",
                    positions.shape(0), first + tokens.size() - 1));
  Tensor<3> x({1, tokens.size(), d_model});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= embedding.shape(0))
      throw std::invalid_argument(fmt::format("[embed_tokens] embedding has {} rows but there is a token {}",
                                              embedding.shape(0), tokens[i]));
    for (std::size_t j = 0; j < d_model; ++j) x(0, i, j) = embedding(tokens[i], j) + positions(first + i, j);
  }
  return x;
}

std::vector<std::string> CausalDecoder::words_of(const std::vector<std::size_t>& tokens) const {
  auto text = typed;
  for (std::size_t i = text.size(); i < tokens.size(); ++i) text.push_back(words[tokens[i]]);
  return text;
}

std::size_t greedy_token(const Tensor<2>& logits) {
  return attn::argmax(logits.data(), logits.size());
}

std::string layer_group(const Options& options, std::size_t layer) {
  return options.layers.value_or(1) == 1 ? "" : fmt::format("layer={}/", layer + 1);
}

std::size_t layer_on_page(const Options& options) {
  const auto layers = options.layers.value_or(1), layer = options.layer.value_or(1);
  if (layer > layers)
    throw attn::Error(fmt::format("--layer {} is no layer of --layers {}; valid: {}", layer, layers,
                                  layers == 1 ? std::string("1") : fmt::format("1 to {}", layers)));
  return layer - 1;
}

namespace {

/// Which step of decoding it is: what is said depends on it, and nothing that is computed.
struct Step {
  std::size_t number;
  std::size_t known;  ///< how many tokens the caches hold when the step begins

  /// The prefill reads the whole prompt, a later step a single token.
  bool is_prefill() const { return known == 0; }
  std::string either(const char* of_prompt, const char* of_token) const {
    return is_prefill() ? of_prompt : of_token;
  }

  /// What need not be said again in the steps to follow.
  std::string once(std::size_t step, const std::string& note) const { return step == number ? note : ""; }
};

/// Names the entries of these axes after the tokens from position `first` on.
void label(Workbench& bench, const CausalDecoder& decoder, const std::vector<std::size_t>& tokens,
           const std::vector<std::string>& axes, std::size_t first) {
  auto words = decoder.words_of(tokens);
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
  for (const auto& axis : axes) bench.trace.label(axis, {{words}});
}

/// The heads' queries, keys and values of the tokens that are read now, in the words of this lesson.
attn::Words projection_words(const Step& step, const std::string& x, const std::string& layer,
                             const Heads& heads, const MultiHeadWeights& weights) {
  const auto about = [&](const std::string& name, const LinearMap& map, const std::string& title,
                         const std::string& head, const std::string& token,
                         const std::string& width) -> attn::About {
    attn::About words = {
        .id = name,
        .title = title,
        .formula = fmt::format("{} W_{}{}, split into heads", x, name, map.b ? " + b_" + name : ""),
        .from = {x, layer + "W_" + name},
        .axes = {head, token, width}};
    if (map.b) words.from.push_back(layer + "b_" + name);
    return words;
  };
  const auto kv_head = kv_head_axis(heads);
  attn::Words words = {
      {"Q_heads",
       about("Q", weights.Q(), step.either("What the tokens ask for", "What the new token asks for"), "head",
             "query", "d_k")},
      {"K_heads",
       about("K", weights.K(), step.either("What they can be found by", "What the new token can be found by"),
             kv_head, "key", "d_k")},
      {"V_heads",
       about("V", weights.V(), step.either("What they have to give", "What the new token has to give"),
             kv_head, "key", "d_v")}};
  for (const char* weight : {"W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"})
    words[weight] = {.id = layer + weight};
  words["Q_heads"].note = step.once(0, "A query is used in its own step only, and then forgotten.");
  return words;
}

/// `cache/K` and `cache/V`: the cache with the new tokens in it.
void show_kept(Workbench& bench, const Step& step, const std::string& layer, const Heads& heads,
               KeyValueCache& cache) {
  /// A row is one of the cache before, or a new one.
  const auto worked = [&](const std::string& name, const std::string& before, const Tensor<4>& kept) {
    return [=, &step, &kept](attn::Index at) {
      const double value = kept(at[0], at[1], at[2], at[3]);
      if (at[2] < step.known) return attn::Worked({before, at}, value);
      at[2] -= step.known;
      return attn::Worked({name, at}, value);
    };
  };
  const auto show = [&](const std::string& name, const std::string& width, const std::string& what,
                        const std::string& note, Tensor<4>& kept) {
    const auto id = "cache/" + name;
    const auto before = fmt::format("step={}/{}{}", step.number - 1, layer, id);
    kept = bench.trace.step(
        {.id = id,
         .title = fmt::format("The cache: the {} of {} token{}", what, kept.shape(2),
                              kept.shape(2) == 1 ? "" : "s"),
         .formula = step.is_prefill() ? name : fmt::format("{}, with {} below", before, name),
         .from = step.is_prefill() ? std::vector{name} : std::vector{before, name},
         .axes = {kv_head_axis(heads), "key", width},
         .note = note,
         .worked = worked(name, before, kept)},
        kept, mistakes_of_cache(kept, step.known));
  };
  show("K", "d_k", "keys",
       step.is_prefill()
           ? "Every later token will ask for these, so they are kept."
           : step.once(1,
                       "One row more. Those above it stay as they were: a later token is hidden from them."),
       cache.keys);
  show("V", "d_v", "values", "", cache.values);
}

/// Which key and value head a query head reads, where there are fewer of them.
std::string sharing(const Heads& heads) {
  if (heads.query == heads.key_value) return "";
  if (heads.key_value == 1) return "All query heads read the same keys and values.";
  return fmt::format("Query head i reads number ⌊i·{0}/{1}⌋ of the {0} key and value heads.", heads.key_value,
                     heads.query);
}

/// With a model, the weight of the key that head 0 of a token alone looks at most: the largest score.
std::optional<attn::Index> where_head_0_looks(const Workbench& bench, const Step& step, const Tensor<4>& Q,
                                              const Tensor<4>& keys) {
  if (!bench.options.model || step.is_prefill()) return std::nullopt;
  std::size_t most = 0;
  double largest = -INFINITY;
  for (std::size_t j = 0; j < keys.shape(2); ++j) {
    const double score =
        std::inner_product(&Q(0, 0, 0, 0), &Q(0, 0, 0, 0) + Q.shape(3), &keys(0, 0, j, 0), 0.0);
    if (score > largest) most = j;
    largest = std::max(largest, score);
  }
  return attn::Index{0, 0, most};
}

/// The attention of the new tokens to all in the cache, in the words of this lesson.
attn::Words attention_words(const Step& step, const std::string& layer, const Heads& heads, std::size_t d_k,
                            bool is_masked, bool has_bias, const std::optional<attn::Index>& worked_weight) {
  const std::vector<std::string> axes = {"head", "query", "key"};
  attn::Words words = {
      {"Q_heads", {.id = "Q"}},
      {"K_heads", {.id = "cache/K"}},
      {"V_heads", {.id = "cache/V"}},
      {"W_O", {.id = layer + "W_O"}},
      {"b_O", {.id = layer + "b_O"}},
      {"scores",
       {.id = "scores",
        .title = step.either("How well does each query match each key?", "The new query meets every key"),
        .formula = "Q (cache/K)ᵀ",
        .from = {"Q", "cache/K"},
        .axes = axes,
        .note = step.is_prefill()
                    ? sharing(heads)
                    : step.once(1,
                                "A single row for each head. The work of a step grows with the length of the "
                                "text; that of reading it all anew would grow with the square.")}},
      {"scaled",
       {.id = "scaled",
        .title = "Scores divided by √d_k",
        .formula = fmt::format("scores / {:.4g}", std::sqrt(static_cast<double>(d_k))),
        .from = {"scores"},
        .axes = axes}},
      {"masked",
       {.id = "masked",
        .title = "Scores with the future hidden",
        .formula = "scaled where mask, −∞ elsewhere",
        .from = {"scaled", "mask"},
        .axes = axes}},
      {"weights",
       {.id = "weights",
        .title = step.either("Where each token looks", "Where the new token looks"),
        .formula = is_masked ? "softmax(masked)" : "softmax(scaled)",
        .from = {is_masked ? "masked" : "scaled"},
        .axes = axes,
        .distribution = true,
        .worked_at = worked_weight}},
      {"heads",
       {.id = "heads",
        .title = step.either("What the tokens find in the values", "What the new token finds in the values"),
        .formula = "weights cache/V",
        .from = {"weights", "cache/V"},
        .axes = {"head", "query", "d_v"}}},
      {"output",
       {.id = "output",
        .title = "The heads' outputs, mixed by W_O",
        .formula = has_bias ? "concat(heads) W_O + b_O" : "concat(heads) W_O",
        .from = {"heads", layer + "W_O"},
        .axes = {"query", "d_model"}}}};
  if (has_bias) words["output"].from.push_back(layer + "b_O");
  return words;
}

/// Who may look at whom, where several tokens are read at once. The newest token alone may look at all there
/// are.
std::optional<Mask<3>> causal_mask(Workbench& bench, const Step& step, std::size_t n) {
  const auto added = n - step.known;
  if (added == 1 && !step.is_prefill()) return std::nullopt;
  auto mask = attn::repeat_mask(attn::causal_mask(added, n), 1);
  bench.trace.settled_input(
      {.id = "mask",
       .title = "Who may look at whom",
       .formula = "j ≤ i",
       .axes = {"query", "key"},
       .note = "Query i may look at key j where 1 stands. The later steps have no mask: the newest token may "
               "look at all there are."},
      mask);
  return mask;
}

}  // namespace

attn::WorkedOut worked_embedding(const CausalDecoder& decoder, const std::vector<std::size_t>& tokens,
                                 std::size_t first) {
  return [&, first](const attn::Index& at) {
    const attn::Known<2> embedding{"embedding", decoder.embedding}, positions{"positions", decoder.positions};
    return attn::Worked::sum({embedding({tokens[at[1]], at[2]}), positions({first + at[1], at[2]})});
  };
}

namespace {

/// Column 0 of a position is its sine.
std::string sine_of_position(const Tensor<2>& positions, std::size_t position) {
  const double number = positions(position, 0), sine = std::sin(static_cast<double>(position));
  return std::abs(number - sine) > 1e-6
             ? ""
             : fmt::format(": {} = sin({})", attn::worked_number({{}, number}, 4), position);
}

}  // namespace

Named read_tokens(Workbench& bench, const CausalDecoder& decoder, std::size_t number, Decoding& decoding) {
  const auto n = decoding.tokens.size();
  const Step step = {number, decoding.caches.front().length()};
  const std::vector<std::size_t> unread(decoding.tokens.begin() + static_cast<std::ptrdiff_t>(step.known),
                                        decoding.tokens.end());
  auto& trace = bench.trace;

  label(bench, decoder, decoding.tokens, {"token", "query"}, step.known);
  Named x = {
      "x",
      trace.step(
          {.id = "x",
           .title = step.either("The tokens, each at its position", "The new token at its position"),
           .formula = step.is_prefill() ? "embedding[tokens] + positions"
                                        : fmt::format("embedding[token] + positions[{}]", step.known),
           .from = step.is_prefill() ? std::vector<std::string>{"embedding", "positions"}
                                     : std::vector<std::string>{"embedding",
                                                                fmt::format("step={}/token", number - 1),
                                                                "positions"},
           .axes = {"token", "d_model"},
           .note = step.once(
               1, fmt::format("It comes after {0} token{2}, so its position is {0}{1}. A classic mistake is "
                              "to count from 0 again: every shape fits, but the text is wrong.",
                              step.known, sine_of_position(decoder.positions, step.known),
                              step.known == 1 ? "" : "s")),
           .worked = worked_embedding(decoder, unread, step.known)},
          embed_tokens(decoder.embedding, decoder.positions, unread, step.known),
          mistakes_of_reading(decoder.embedding, decoder.positions, unread, step.known))};
  label(bench, decoder, decoding.tokens, {"key"}, 0);
  const auto mask = causal_mask(bench, step, n);

  for (std::size_t layer = 0; layer < decoder.layers.size(); ++layer) {
    const auto group = layer_group(bench.options, layer);
    const auto& weights = decoder.layers[layer];
    auto& cache = decoding.caches[layer];
    x = in_layer(bench, layer, [&]() -> Named {
      label(bench, decoder, decoding.tokens, {"key"}, step.known);
      const auto heads = trace.in_words(projection_words(step, x.id, group, decoder.heads, weights), [&] {
        return project_to_heads(bench, x, x, weights, decoder.heads);
      });
      cache.append(heads.K_heads, heads.V_heads);

      label(bench, decoder, decoding.tokens, {"key"}, 0);
      show_kept(bench, step, group, decoder.heads, cache);
      const auto d_k = cache.keys.shape(3);
      const auto [attention, output] = trace.in_words(
          attention_words(step, group, decoder.heads, d_k, mask.has_value(), weights.b_O.has_value(),
                          where_head_0_looks(bench, step, heads.Q_heads, cache.keys)),
          [&] { return attend_in_heads(bench, heads.Q_heads, cache.keys, cache.values, weights.O(), mask); });
      decoding.weights.push_back(attention.weights);
      if (bench.options.model && number == 1 && layer == layer_on_page(bench.options))
        show_what_is_kept(bench, decoder, decoding, cache, attention.scaled);

      return {group + "residual", residual(bench, x, output)};
    });
  }
  return x;
}

attn::WorkedOut worked_logits(const Named& hidden, std::size_t row, const Tensor<2>& W_vocabulary) {
  return [&, row](const attn::Index& at) {
    const attn::Known<3> x{hidden.id, hidden.tensor};
    const attn::Known<2> W{"W_vocabulary", W_vocabulary};
    std::vector<attn::Worked> products;
    for (std::size_t k = 0; k < W_vocabulary.shape(0); ++k)
      products.push_back(attn::Worked::product({x({at[0], row, k}), W({k, at[1]})}));
    return attn::Worked::sum(std::move(products));
  };
}

Tensor<2> score_words(Workbench& bench, const CausalDecoder& decoder, std::size_t step, const Named& hidden,
                      std::size_t row) {
  auto logits = attn::linear(attn::step_of(hidden.tensor, row), decoder.W_vocabulary);
  const auto likeliest =
      bench.options.model ? std::optional(attn::Index{greedy_token(logits)}) : std::nullopt;
  return bench.trace.step(
      {.id = "logits",
       .title = "A logit for each word",
       .formula = step == 0 ? hidden.id + "[last] W_vocabulary" : hidden.id + " W_vocabulary",
       .from = {hidden.id, "W_vocabulary"},
       .axes = {"vocabulary"},
       .note = step == 0 ? "Only the last row is asked: it has seen the whole text. The rows above it score "
                           "words that are there already; training uses them all."
                         : "",
       .worked = worked_logits(hidden, row, decoder.W_vocabulary),
       .worked_at = likeliest},
      std::move(logits));
}

namespace {

void introduce(Workbench& bench, const CausalDecoder& decoder, const Step& step, const Decoding& decoding) {
  if (step.is_prefill())
    bench.trace.note(
        "read", "Step 0, the prefill: the whole prompt",
        "The tokens of the prompt are all there, so they go through the model together. The mask keeps each "
        "from looking ahead: it sees what it would see if they came one by one.");
  else
    bench.trace.note(
        "read",
        fmt::format("Step {}: the model reads “{}”", step.number, decoder.words[decoding.tokens.back()]),
        "Only this token goes through the model. Its keys and values join the cache.");
}

attn::WorkedOut worked_greedy_token(const attn::Known<2>& logits) {
  return [=](const attn::Index&) {
    std::vector<attn::Worked> of;
    for (std::size_t word = 0; word < logits.tensor.shape(1); ++word) of.push_back(logits({0, word}));
    return attn::argmax(of);
  };
}

/// `probabilities` of the token to come, and `token`, which is chosen and written down.
void write_token(Workbench& bench, const CausalDecoder& decoder, const Tensor<2>& logits,
                 Decoding& decoding) {
  auto& trace = bench.trace;
  trace.step({.id = "probabilities",
              .title = "The probability of each word",
              .formula = "softmax(logits)",
              .from = {"logits"},
              .axes = {"vocabulary"},
              .worked = attn::worked_softmax(attn::Known{"logits", logits})},
             attn::softmax(logits));
  const auto best = greedy_token(logits);
  const auto token = trace.step(
      {.id = "token",
       .title = fmt::format("Written: “{}”", decoder.words[best]),
       .formula = "argmax logits",
       .from = {"logits"},
       .note = fmt::format("{:.4f} (“{}”, place {} of the vocabulary) is the largest logit: greedy decoding "
                           "writes that word, the first one on a tie. The next step reads it.",
                           logits(0, best), decoder.words[best], best),
       .worked = worked_greedy_token({"logits", logits})},
      static_cast<std::int64_t>(best));
  decoding.logits.push_back(logits);
  decoding.tokens.push_back(static_cast<std::size_t>(token));
}

/// One step of decoding, in the group `step=T`: the tokens that no cache holds yet are read, and one is
/// written.
void decode(Workbench& bench, const CausalDecoder& decoder, std::size_t step, Decoding& decoding) {
  bench.trace.within(fmt::format("step={}", step), [&] {
    introduce(bench, decoder, {step, decoding.caches.front().length()}, decoding);
    const auto hidden = read_tokens(bench, decoder, step, decoding);
    const auto logits = score_words(bench, decoder, step, hidden, hidden.tensor.shape(1) - 1);
    write_token(bench, decoder, logits, decoding);
  });
}

/// Refuses weights whose scores, layer upon layer, would leave the range of the dtype. A layer makes its
/// tokens larger by about the standard deviations of W_V and W_O times the roots of how many numbers each
/// adds up.
void require_range(const Workbench& bench) {
  if (bench.options.model) return;
  const auto& options = bench.options;
  const auto d_model = bench.d_model(), wide_k = bench.heads() * bench.d_k(),
             wide_v = bench.heads() * bench.d_v();
  const auto growth = [&](std::size_t fan_in, std::size_t fan_out) {
    return lessons::growth(options.weight_scale, fan_in, fan_out);
  };
  const double by_layer = std::log10(1.0 + growth(d_model, wide_v) * growth(wide_v, d_model));
  const double token = 1.0 + by_layer * static_cast<double>(*options.layers - 1);
  const double score = 2.0 * (token + std::log10(1.0 + growth(d_model, wide_k))) + std::log10(bench.d_k());
  if (std::isfinite(attn::round_to(bench.trace.dtype(), std::pow(10.0, score)))) return;
  throw attn::Error(fmt::format(
      "--layers {} with weights of this size makes scores of about 1e{:.0f}, too large for {}; valid: fewer "
      "layers or a smaller --weight-scale",
      *options.layers, score, options.dtype));
}

/// The distinct tokens of the prompt in order of first appearance.
attn::TokenBatch vocabulary_of(const attn::TokenBatch& prompt) {
  std::vector<std::string> words;
  for (const auto& token : prompt.tokens.front())
    if (std::find(words.begin(), words.end(), token) == words.end()) words.push_back(token);
  return {{words}};
}

/// The words that the decoder knows: those of the model, or of the prompt.
attn::TokenBatch words_of_decoder(Workbench& bench) {
  const auto& prompt = bench.plan.sentence;
  const auto& known = bench.options.vocabulary;
  if (known.empty()) return vocabulary_of(prompt);
  for (const auto& token : prompt.tokens.front())
    if (std::find(known.begin(), known.end(), bench.options.as_read(token)) == known.end())
      throw attn::Error(fmt::format("\"{}\" is none of the {} words of the vocabulary; the nearest is \"{}\"",
                                    token, known.size(), attn::likely_meant(token, known)));
  bench.draw_vectors(prompt);
  bench.draw_vectors({{known}});
  return {{known}};
}

/// Written last in a text of the model.
constexpr std::string_view end_of_text = "</s>";

/// The input `tokens`: the words of the prompt by their place in a vocabulary of `count` words.
std::vector<std::size_t> given_places(Workbench& bench, std::size_t count) {
  bench.label({"token"}, bench.plan.sentence);
  const auto given = bench.trace.input(
      {.id = "tokens", .title = "The place of each word of the prompt in the vocabulary", .axes = {"token"}},
      Integers<1>({bench.plan.sentence.length()}, 0));
  std::vector<std::size_t> places;
  for (const auto place : given) places.push_back(bench.checked_index("tokens", place, count));
  return places;
}

/// The words, and the prompt by their places. A given `embedding` or `W_vocabulary` may have a whole
/// vocabulary. Returns which of its places are the prompt's, where it has more.
std::string choose_words(Workbench& bench, CausalDecoder& decoder) {
  const auto& prompt = bench.plan.sentence.tokens.front();
  auto& words = decoder.words;
  words = words_of_decoder(bench).tokens.front();
  const auto known = words.size();
  const bool by_number = bench.has_given("tokens");
  const auto count = bench.vocabulary_size({"embedding", "W_vocabulary"}, known, by_number);
  if (by_number) decoder.prompt = given_places(bench, count);
  if (by_number && bench.options.vocabulary.empty()) words.clear();
  words = numbered_up_to(count, std::move(words));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (by_number)
      words[decoder.prompt[i]] = prompt[i];
    else
      decoder.prompt.push_back(static_cast<std::size_t>(
          std::find(words.begin(), words.end(), bench.options.as_read(prompt[i])) - words.begin()));
  }
  decoder.typed = prompt;
  if (count > known || by_number) bench.draw_vectors({{words}});
  if (by_number) return fmt::format(" The input tokens says which of the {} words the prompt has.", count);
  if (count > known)
    return fmt::format(" Of the {} words the first {} are those of the prompt.", count, known);
  return "";
}

CausalDecoder show_decoder(Workbench& bench) {
  const auto& prompt = bench.plan.sentence;
  CausalDecoder decoder;
  const auto about_places = choose_words(bench, decoder);
  const attn::TokenBatch vocabulary{{decoder.words}};
  bench.label({"vocabulary"}, vocabulary);
  if (!bench.options.vocabulary.empty()) {
    const auto end = std::find(decoder.words.begin(), decoder.words.end(), end_of_text);
    if (end != decoder.words.end()) decoder.end = static_cast<std::size_t>(end - decoder.words.begin());
  }
  const auto embedding = bench.embed(
      {.id = "embedding",
       .title = "The vocabulary: a vector for each word",
       .axes = {"vocabulary", "d_model"},
       .note = bench.options.model ? "The words that the model was trained with. It can write no others."
               : about_places.empty()
                   ? "The words are the distinct tokens of the prompt. The model can write no "
                     "others."
                   : "The model can write no other words." + about_places},
      vocabulary);
  decoder.embedding = attn::sample(embedding, 0);
  const auto read = prompt.length() + *bench.options.new_tokens - 1;
  const auto rows = bench.length_of_given("positions", "position", read);
  decoder.positions = bench.trace.input(
      {.id = "positions",
       .title = "What says where a token stands",
       .formula = "PE(p, 2i) = sin(p ωᵢ), PE(p, 2i+1) = cos(p ωᵢ), ωᵢ = 10000^(−2i/d)",
       .axes = {"position", "d_model"},
       .note = rows > read
                   ? fmt::format("Of the {} given rows the first {} are in use: one for each position that "
                                 "will be read (see the lesson positional).",
                                 rows, read)
                   : "A row for each position that will be read (see the lesson positional). The token "
                     "written last is not read."},
      attn::sinusoidal_encoding(rows, bench.d_model()));
  decoder.heads = {bench.heads(), bench.kv_heads()};
  for (std::size_t layer = 0; layer < *bench.options.layers; ++layer)
    decoder.layers.push_back(in_layer(bench, layer, [&] { return draw_multihead_weights(bench); }));
  decoder.W_vocabulary = bench.input<2>({.id = "W_vocabulary",
                                         .title = "Makes a score for each word of the vocabulary",
                                         .note = "Each column is the direction of one word."},
                                        {bench.d_model(), decoder.words.size()});
  return decoder;
}

/// The text before the first step: the prompt, and nothing read.
Decoding begin(const CausalDecoder& decoder, const KeyValueCache& cache) {
  Decoding decoding;
  decoding.tokens = decoder.prompt;
  decoding.caches.assign(decoder.layers.size(), cache);
  return decoding;
}

/// How many tokens are written: as many as were asked for, or fewer where the text ends before.
std::size_t count_steps(const Workbench& bench, const CausalDecoder& decoder) {
  const auto wanted = *bench.options.new_tokens;
  if (!decoder.end) return wanted;
  auto mute = bench.mute();
  auto decoding = begin(decoder, empty_cache(bench.kv_heads(), bench.d_k(), bench.d_v()));
  for (std::size_t step = 0; step < wanted; ++step) {
    decode(mute, decoder, step, decoding);
    if (decoding.tokens.back() == *decoder.end) return step + 1;
  }
  return wanted;
}

void run_generate(Workbench& bench) {
  require_pairs(bench.options, "sinusoidal positions");
  require_range(bench);
  choose_generate_page(bench, *bench.options.new_tokens);
  tell_generate_idea(bench);

  const auto decoder = show_decoder(bench);
  auto decoding = begin(decoder, empty_cache(bench.kv_heads(), bench.d_k(), bench.d_v()));
  const auto steps = count_steps(bench, decoder);
  choose_generate_page(bench, steps);  // how many there are only the decoder told: it may have ended early
  bench.flow(generate_flow(bench, decoder, steps));
  show_generate_code(bench, decoding, steps);
  for (std::size_t step = 0; step < steps; ++step) decode(bench, decoder, step, decoding);
  show_text(bench, decoder, decoding);
  if (bench.options.model) {
    show_guesses(bench, decoder, decoding);
    show_looks(bench, decoding);
  }
  show_logits(bench, decoder, decoding);
  claim_full_pass(bench, decoder, decoding);
  claim_weights(bench, decoding);
  show_cache(bench, decoding);
  try_after_generate(bench);
}

std::vector<Input> generate_inputs(const Options& options) {
  std::vector<std::vector<Input>> lists = {{{"embedding", {"vocabulary=", "d_model"}, Draw::embedding},
                                            {"positions", {"position=", "d_model"}, Draw::page}}};
  const auto layers = options.layers.value_or(1);
  for (std::size_t layer = 1; layer <= layers; ++layer)
    for (auto list : {multihead_input_list(), multihead_bias_list()})
      lists.push_back(layers == 1 ? list : in_group(fmt::format("layer={}", layer), list));
  lists.push_back({{"W_vocabulary", {"d_model", "vocabulary="}, Draw::weight},
                   {.id = "tokens", .axes = {"token"}, .draw = Draw::given, .is_multiplied = false},
                   {"step=0/mask", {"query", "key"}, Draw::page}});
  return joined(lists);
}

}  // namespace

extern const Lesson generate;
const Lesson generate = {
    .name = "generate",
    .title = "writing token by token, with a cache of keys and values",
    .teaches =
        "How a causal decoder writes: the prompt is read in one pass, then each new token alone, against the "
        "keys and values that are kept of all tokens before. What the cache holds and how it grows, that it "
        "changes nothing in the result, and what fewer key and value heads (grouped-query, multi-query) "
        "save.",
    .options = {"sentence", "d-model", "d-k", "d-v", "heads", "kv-heads", "layers", "layer", "new-tokens",
                "seed", "rng", "draws", "weight-scale", "embeddings", "model", "dtype"},
    .takes_batches = false,
    .defaults = {.sentence = {"the dogs that the boy follows"},
                 .d_model = 4,
                 .heads = 2,
                 .new_tokens = 3,
                 .layers = 1},
    .examples = {"generate --sentence \"the cat sat on the mat\" --new-tokens 2",
                 "generate --d-model 8 --heads 4 --kv-heads 1 --layers 2 --new-tokens 2 --layer 2"},
    .inputs = generate_inputs,
    .trained = Trained{.task = "language", .give = give_language, .reads = Reads::alike},
    .probe = Probe{{.sentence = {"a b c d e f g"},
                    .d_model = 6,
                    .d_k = 5,
                    .d_v = 5,
                    .heads = 4,
                    .kv_heads = 2,
                    .new_tokens = 3,
                    .layers = 2},
                   sharpen_prompt,
                   {"logits"}},
    .run = run_generate,
};

}  // namespace lessons
