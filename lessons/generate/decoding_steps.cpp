#include "lessons/generate/decoding_steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/heads.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/softmax.hpp"
#include "attn/ops/steps.hpp"

namespace lessons {

namespace {

class DecodingStep {
 public:
  DecodingStep(Workbench& bench, const DecoderModel& model, std::size_t step, Decoding& decoding)
      : bench_(bench),
        trace_(bench.trace),
        model_(model),
        decoding_(decoding),
        step_(step),
        known_(decoding.caches.front().length()),
        kv_head_(bench.kv_heads() == bench.heads() ? "head" : "kv_head") {}

  void show() {
    introduce();
    label({"token", "query"}, known_);
    Named x = {"x", show_vectors()};
    const auto mask = is_prefill() ? std::optional(show_mask()) : std::nullopt;
    for (std::size_t layer = 0; layer < decoding_.caches.size(); ++layer)
      x = {group_of(layer) + "residual", in_layer(bench_, layer, [&] { return show_layer(x, layer, mask); })};
    show_choice(x);
  }

 private:
  /// The prefill reads the whole prompt, a later step a single token.
  bool is_prefill() const { return step_ == 0; }
  const char* either(const char* of_prompt, const char* of_token) const {
    return is_prefill() ? of_prompt : of_token;
  }

  /// What need not be said again in the steps to follow.
  std::string once(std::size_t step, const std::string& note) const { return step == step_ ? note : ""; }

  std::string group_of(std::size_t layer) const { return layer_group(bench_.options, layer); }

  /// Names the entries of these axes after the tokens from position `first` on.
  void label(const std::vector<std::string>& axes, std::size_t first) {
    std::vector<std::string> words;
    for (std::size_t i = first; i < decoding_.tokens.size(); ++i)
      words.push_back(model_.words[decoding_.tokens[i]]);
    for (const auto& axis : axes) trace_.label(axis, {{words}});
  }

  void introduce() {
    if (is_prefill())
      trace_.note("read", "Step 0, the prefill: the whole prompt",
                  "The tokens of the prompt are all there, so they go through the model together. The mask "
                  "keeps each "
                  "from looking ahead: it sees what it would see if they came one by one.");
    else
      trace_.note(
          "read", fmt::format("Step {}: “{}”", step_, model_.words[decoding_.tokens.back()]),
          fmt::format("Only the token that was written last goes through the model: one row. Of the {} "
                      "tokens before it nothing is needed but what is in the cache.",
                      known_));
  }

  Tensor<3> show_vectors() {
    const std::vector<std::size_t> tokens(decoding_.tokens.begin() + static_cast<std::ptrdiff_t>(known_),
                                          decoding_.tokens.end());
    return trace_.step(
        {.id = "x",
         .title =
             either("The tokens as vectors, each at its position", "The token as a vector, at its position"),
         .formula = is_prefill() ? "embedding[tokens] + positions"
                                 : fmt::format("embedding[token] + positions[{}]", known_),
         .from = {"embedding", "positions"},
         .axes = {"token", "d_model"},
         .note =
             once(1, fmt::format("It stands at position {}, behind the {} others. To count from 0 again is a "
                                 "classic mistake with a cache: every shape fits, and the text is wrong.",
                                 known_, known_))},
        attn::embed_tokens(model_.embedding, model_.positions, tokens, known_));
  }

  Mask<3> show_mask() {
    const auto n = decoding_.tokens.size();
    label({"key"}, 0);
    const auto mask = attn::repeat_mask(attn::causal_mask(n, n), 1);
    trace_.settled_input(
        {.id = "mask",
         .title = "Who may look at whom",
         .formula = "j ≤ i",
         .axes = {"query", "key"},
         .note = "Query i may look at key j where 1 stands. The later steps have no mask: the "
                 "newest token may look at all there are."},
        mask);
    return mask;
  }

  /// Returns `residual`.
  Tensor<3> show_layer(const Named& x, std::size_t layer, const std::optional<Mask<3>>& mask) {
    const auto& weights = model_.weights.layers[layer];
    const auto Q =
        show_heads("Q", either("What the tokens ask for", "What it asks for"), x, layer, weights.W_Q,
                   once(0, "A query is used in its own step only, and then forgotten."));
    show_kept(x, layer);
    const auto heads = show_attention(Q, decoding_.caches[layer], mask);
    const auto output = trace_.step({.id = "output",
                                     .title = "The heads side by side, mixed",
                                     .formula = "concat(heads) W_O",
                                     .from = {"heads", group_of(layer) + "W_O"},
                                     .axes = {"query", "d_model"}},
                                    attn::linear(attn::merge_heads(heads), weights.W_O));
    return trace_.step({.id = "residual",
                        .title = either("Added to what the tokens were", "Added to what it was"),
                        .formula = x.id + " + output",
                        .from = {x.id, "output"},
                        .axes = {"query", "d_model"}},
                       attn::add(x.tensor, output));
  }

  /// Shows `Q`, `K` or `V` of the tokens that are read now: x times the weight of that name, split into
  /// heads.
  Tensor<4> show_heads(const std::string& name, const std::string& title, const Named& x,
                          std::size_t layer, const Tensor<2>& weight, const std::string& note) {
    const bool is_query = name == "Q";
    return trace_.step(
        {.id = name,
         .title = title,
         .formula = fmt::format("{} W_{}, split into heads", x.id, name),
         .from = {x.id, group_of(layer) + "W_" + name},
         .axes = {is_query ? "head" : kv_head_, is_query ? "query" : "key", name == "V" ? "d_v" : "d_k"},
         .note = note},
        attn::split_heads(attn::linear(x.tensor, weight), is_query ? bench_.heads() : bench_.kv_heads()));
  }

  /// Shows `K` and `V` of the tokens that are read now, and the cache with them: `cache/K` and `cache/V`.
  void show_kept(const Named& x, std::size_t layer) {
    const auto& weights = model_.weights.layers[layer];
    auto& cache = decoding_.caches[layer];
    label({"key"}, known_);
    const auto K = show_heads("K", either("What they can be found by", "What it can be found by"), x, layer,
                              weights.W_K, "");
    const auto V =
        show_heads("V", either("What they have to give", "What it has to give"), x, layer, weights.W_V, "");
    cache.append(K, V);
    label({"key"}, 0);
    show_cache("K", "d_k", "keys", layer, cache.keys());
    show_cache("V", "d_v", "values", layer, cache.values());
  }

  void show_cache(const std::string& name, const std::string& width, const std::string& what,
                  std::size_t layer, const Tensor<4>& kept) {
    const auto id = "cache/" + name;
    const auto before = fmt::format("step={}/{}{}", step_ - 1, group_of(layer), id);
    const bool is_first_seen = name == "K";
    trace_.step(
        {.id = id,
         .title = fmt::format("The cache: the {} of {} token{}", what, kept.shape(2),
                              kept.shape(2) == 1 ? "" : "s"),
         .formula = is_prefill() ? name : fmt::format("{}, with {} below", before, name),
         .from = is_prefill() ? std::vector{name} : std::vector{before, name},
         .axes = {kv_head_, "key", width},
         .note = !is_first_seen ? ""
                 : is_prefill() ? "Every later token will ask for these, so they are kept."
                                : once(1,
                                       "One row more. Those above it are as they were: what comes later is "
                                       "hidden from them, so it cannot change them.")},
        kept);
  }

  /// Which key and value head a query head reads, where there are fewer of them.
  std::string sharing() const {
    const auto heads = bench_.heads(), kv_heads = bench_.kv_heads();
    if (heads == kv_heads) return "";
    if (kv_heads == 1) return "All query heads read the same keys and values.";
    return fmt::format("Query head i reads number ⌊i·{0}/{1}⌋ of the {0} key and value heads.", kv_heads,
                       heads);
  }

  /// Shows the attention of the new queries to all keys and values in the cache. Returns `heads`.
  Tensor<4> show_attention(const Tensor<4>& Q, const attn::KeyValueCache& cache,
                              const std::optional<Mask<3>>& mask) {
    const std::vector<std::string> axes = {"head", "query", "key"};
    const double divisor = std::sqrt(static_cast<double>(bench_.d_k()));
    const auto scores = trace_.step(
        {.id = "scores",
         .title = either("How well does each query match each key?",
                         "How well does it match each key in the cache?"),
         .formula = "Q (cache/K)ᵀ",
         .from = {"Q", "cache/K"},
         .axes = axes,
         .note =
             is_prefill()
                 ? sharing()
                 : once(1,
                        "A single row for each head. The work of a step grows with the length of the text; "
                        "that of reading it all anew would grow with the square.")},
        attn::matmul(Q, attn::transpose(attn::repeat_heads(cache.keys(), bench_.heads()))));
    const auto scaled = trace_.step({.id = "scaled",
                                     .title = "Divided by √d_k",
                                     .formula = fmt::format("scores / {:.4g}", divisor),
                                     .from = {"scores"},
                                     .axes = axes},
                                    attn::divide(scores, divisor));
    const auto seen = mask ? trace_.step({.id = "masked",
                                          .title = "The future hidden",
                                          .formula = "scaled where mask, −∞ elsewhere",
                                          .from = {"scaled", "mask"},
                                          .axes = axes},
                                         attn::apply_mask(scaled, *mask))
                           : scaled;
    const auto weights = trace_.step({.id = "weights",
                                      .title = either("Where each token looks", "Where it looks"),
                                      .formula = mask ? "softmax(masked)" : "softmax(scaled)",
                                      .from = {mask ? "masked" : "scaled"},
                                      .axes = axes,
                                      .distribution = true},
                                     attn::softmax(seen));
    decoding_.weights.push_back(weights);
    return trace_.step({.id = "heads",
                        .title = either("What they find there", "What it finds there"),
                        .formula = "weights cache/V",
                        .from = {"weights", "cache/V"},
                        .axes = {"head", "query", "d_v"}},
                       attn::matmul(weights, attn::repeat_heads(cache.values(), bench_.heads())));
  }

  /// Shows `logits` and `probabilities` of the token to come, and chooses it.
  void show_choice(const Named& hidden) {
    const auto last = attn::step_of(hidden.tensor, hidden.tensor.shape(1) - 1);
    const auto logits = trace_.step(
        {.id = "logits",
         .title = "How well each word of the vocabulary would go on",
         .formula = is_prefill() ? hidden.id + "[last] W_vocabulary" : hidden.id + " W_vocabulary",
         .from = {hidden.id, "W_vocabulary"},
         .axes = {"vocabulary"},
         .note = once(
             0,
             "Only the last row is asked: it has seen the whole text. The rows above it score words that "
             "are there already; training uses them all.")},
        attn::linear(last, model_.weights.W_vocabulary));
    trace_.step({.id = "probabilities",
                 .title = "The same as probabilities",
                 .formula = "softmax(logits)",
                 .from = {"logits"},
                 .axes = {"vocabulary"}},
                attn::softmax(logits));
    const auto token = attn::greedy_token(logits);
    trace_.step(
        {.id = "token",
         .title = fmt::format("Written: “{}”", model_.words[token]),
         .formula = "argmax logits",
         .from = {"logits"},
         .note = once(0,
                      "Greedy decoding: the largest logit wins, the first one on a tie. Sampling would "
                      "draw from the probabilities. The token has yet to be read: the next step does that.")},
        static_cast<std::int64_t>(token));
    decoding_.logits.push_back(logits);
    decoding_.tokens.push_back(token);
  }

  Workbench& bench_;
  attn::Trace& trace_;
  const DecoderModel& model_;
  Decoding& decoding_;
  std::size_t step_;
  std::size_t known_;  ///< how many tokens the caches hold when the step begins
  std::string kv_head_;
};

}  // namespace

std::string layer_group(const Options& options, std::size_t layer) {
  return options.layers == 1 ? "" : fmt::format("layer={}/", layer + 1);
}

void show_decoding_step(Workbench& bench, const DecoderModel& model, std::size_t step,
                        Decoding& decoding) {
  bench.trace.within(fmt::format("step={}", step),
                     [&] { DecodingStep(bench, model, step, decoding).show(); });
}


}  // namespace lessons
