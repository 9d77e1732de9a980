#include "lessons/cross_attention/transformer.hpp"

#include <fmt/format.h>

#include "attn/ops/mask.hpp"

namespace lessons {

namespace {

MultiHeadWeights attention_weights(const attn::Model& model, const std::string& group) {
  return {model.matrix(group + "/W_Q"), model.matrix(group + "/W_K"), model.matrix(group + "/W_V"),
          model.matrix(group + "/W_O")};
}

attn::LayerNormWeights norm_weights(const attn::Model& model, const std::string& name) {
  return {model.vector(name + "/gain"), model.vector(name + "/bias")};
}

TransformerBlockWeights block_weights(const attn::Model& model, const std::string& layer, bool has_memory) {
  TransformerBlockWeights weights;
  weights.attention = attention_weights(model, layer + "attention");
  if (has_memory) weights.cross = attention_weights(model, layer + "cross");
  weights.feed_forward = {model.matrix(layer + "W_1"), model.vector(layer + "b_1"),
                          model.matrix(layer + "W_2"), model.vector(layer + "b_2")};
  weights.norm_1 = norm_weights(model, layer + "norm_1");
  if (has_memory) weights.norm_cross = norm_weights(model, layer + "norm_cross");
  weights.norm_2 = norm_weights(model, layer + "norm_2");
  return weights;
}

std::string block_name(const char* part, std::size_t layer) {
  return fmt::format("{}/layer={}/", part, layer + 1);
}

}  // namespace

std::vector<TransformerBlock> encoder_blocks(Workbench& mute, const ModelInputs& inputs,
                                             const attn::TokenBatch& source) {
  Named x = {"X", inputs.with_positions(inputs.rows("source/embedding", "source_words", source), source)};
  std::vector<TransformerBlock> blocks;
  for (std::size_t layer = 0; layer < inputs.number("layers"); ++layer) {
    const auto weights = block_weights(inputs.model(), block_name("encoder", layer), false);
    blocks.push_back(apply_block(mute, x, weights, {}));
    x.tensor = blocks.back().output;
  }
  return blocks;
}

std::vector<TransformerBlock> decoder_blocks(Workbench& mute, const ModelInputs& inputs,
                                             const attn::TokenBatch& read, const Tensor<3>& memory,
                                             std::size_t count) {
  Named x = {"X", inputs.with_positions(inputs.rows("target/embedding", "target_words", read), read)};
  const auto causal = attn::repeat_mask(attn::causal_mask(read.length(), read.length()), 1);
  std::vector<TransformerBlock> blocks;
  for (std::size_t layer = 0; layer < count; ++layer) {
    const auto weights = block_weights(inputs.model(), block_name("decoder", layer), true);
    blocks.push_back(apply_block(mute, x, weights, causal, memory));
    x.tensor = blocks.back().output;
  }
  return blocks;
}

attn::TokenBatch before_each(std::vector<std::string> words) {
  words.insert(words.begin(), std::string(attn::start_token));
  words.pop_back();
  return {{std::move(words)}};
}

}  // namespace lessons
