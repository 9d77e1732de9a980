#pragma once

#include <string>
#include <vector>

#include "attn/layers/causal_decoder.hpp"
#include "attn/layers/key_value_cache.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// A small causal decoder and the words that it knows.
struct DecoderModel {
  std::vector<std::string> words;  ///< the vocabulary
  Tensor<2> embedding;          ///< [vocabulary×d_model]
  Tensor<2> positions;          ///< [position×d_model]
  attn::CausalDecoderWeights weights;
};

/// A text that is being written.
struct Decoding {
  std::vector<std::size_t> tokens;             ///< of the prompt, then those that were written
  std::vector<attn::KeyValueCache> caches;  ///< one for each layer, of all tokens that were read
  std::vector<Tensor<2>> logits;            ///< of each step [1×vocabulary]
  std::vector<Tensor<4>> weights;           ///< of each step and layer [1×head×query×key]
};

/// What the ids of a layer's tensors begin with: "layer=1/", "layer=2/", …; nothing where there is one layer.
std::string layer_group(const Options& options, std::size_t layer);

/// Calls `show` in the group of a layer.
template <class Show>
auto in_layer(Workbench& bench, std::size_t layer, Show show) {
  const auto group = layer_group(bench.options, layer);
  return group.empty() ? show() : bench.trace.within(group.substr(0, group.size() - 1), show);
}

/// Shows one step of decoding, in the group `step=T`. The tokens that no cache holds yet go through the
/// decoder, from `x` to `probabilities`, the caches grow by them, and `token` is chosen and written down. In
/// step 0, the prefill, these tokens are the whole prompt, later the one written before.
void show_decoding_step(Workbench& bench, const DecoderModel& model, std::size_t step,
                        Decoding& decoding);

}  // namespace lessons
