#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lessons/multihead.hpp"

namespace lessons {

/// The keys and values of all tokens that a layer of a causal decoder has read. A later token needs them
/// again but never changes them, so they are kept, and each new token only adds its own (Shazeer 2019,
/// section 2.4).
struct KeyValueCache {
  Tensor<4> keys;    ///< [batch×kv_head×token×d_k]
  Tensor<4> values;  ///< [batch×kv_head×token×d_v]

  /// Adds the keys [batch×kv_head×new×d_k] and the values [batch×kv_head×new×d_v] of new tokens behind the
  /// others. Throws std::invalid_argument, with both shapes, where they do not match those that are there.
  void append(const Tensor<4>& new_keys, const Tensor<4>& new_values);

  /// How many tokens it holds.
  std::size_t length() const { return keys.shape(2); }

  /// How many numbers it holds.
  std::size_t size() const { return keys.size() + values.size(); }
};

/// An empty cache for one text.
KeyValueCache empty_cache(std::size_t kv_heads, std::size_t d_k, std::size_t d_v);

/// A small decoder that sees only what came before (as in Radford et al. 2018, without its feed-forward
/// networks and layer norms), and the words that it knows.
struct CausalDecoder {
  std::vector<std::string> words;  ///< the vocabulary
  Tensor<2> embedding;             ///< [vocabulary×d_model]
  Tensor<2> positions;             ///< [position×d_model]
  std::vector<MultiHeadWeights> layers;
  Heads heads;
  Tensor<2> W_vocabulary;             ///< [d_model×vocabulary]
  std::optional<std::size_t> end{};   ///< the word that ends a text, where there is one
  std::vector<std::size_t> prompt{};  ///< its words, by their place in the vocabulary
  std::vector<std::string> typed{};   ///< the same, as they were typed

  /// The words of a text that begins with the prompt: those of it as they were typed, those that were
  /// written as the vocabulary has them.
  std::vector<std::string> words_of(const std::vector<std::size_t>& tokens) const;
};

/// The vectors of tokens that stand at the positions first, first + 1, …: their rows of the embedding
/// [vocabulary×d_model] plus those rows of the table of positions [position×d_model] → [1×token×d_model].
/// Throws std::invalid_argument for a token or a position without a row and for rows of different length.
Tensor<3> embed_tokens(const Tensor<2>& embedding, const Tensor<2>& positions,
                       const std::vector<std::size_t>& tokens, std::size_t first);

/// A text that is being written.
struct Decoding {
  std::vector<std::size_t> tokens;    ///< of the prompt, then those that were written
  std::vector<KeyValueCache> caches;  ///< one for each layer, of all tokens that were read
  std::vector<Tensor<2>> logits;      ///< of each step [1×vocabulary]
  std::vector<Tensor<4>> weights;     ///< of each step and layer [1×head×query×key]
};

/// Sends the tokens that the caches do not hold yet through the layers, from `x` to the last `residual`,
/// which is returned [1×new×d_model]; the caches grow by them. Where the caches are empty, these tokens are
/// the whole text, and this is the full forward pass. `step` is only spoken of.
Named read_tokens(Workbench& bench, const CausalDecoder& decoder, std::size_t step, Decoding& decoding);

/// The step `logits` [1×vocabulary] of the token behind row `row` of what the last layer leaves.
Tensor<2> score_words(Workbench& bench, const CausalDecoder& decoder, std::size_t step, const Named& hidden,
                      std::size_t row);

/// What greedy decoding writes: the token with the largest of the logits [1×vocabulary], the first on a tie.
std::size_t greedy_token(const Tensor<2>& logits);

/// What the ids of a layer's tensors begin with: "layer=1/", "layer=2/", …; nothing where there is one layer.
std::string layer_group(const Options& options, std::size_t layer);

/// The layer that the page shows, from 0. Throws attn::Error where there is no such layer.
std::size_t layer_on_page(const Options& options);

/// Calls `show` in the group of a layer.
template <class Show>
auto in_layer(Workbench& bench, std::size_t layer, Show show) {
  const auto group = layer_group(bench.options, layer);
  return group.empty() ? show() : bench.trace.within(group.substr(0, group.size() - 1), show);
}

}  // namespace lessons
