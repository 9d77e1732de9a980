#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lessons/documents/part_run.hpp"
#include "lessons/workbench/model.hpp"

/// What the blocks of shipped models make of a text, as the parts of the lessons compute it.
namespace lessons {

/// The weights of a model under that group, "layer=1/", by the names that they have in it. The model lives as
/// long as they do.
Views weights_of(const attn::Model& model, const std::string& group);

/// What a block goes through.
struct Block {
  Tensor<4> weights;                         ///< [1×head×query×key]
  std::optional<Tensor<4>> cross_weights{};  ///< of a decoder, [1×head×query×source]
  Tensor<3> attended{};                      ///< behind the sublayer of attention, [1×token×d_model]
  Tensor<3> output;                          ///< [1×token×d_model]
};

/// Multi-head attention of a text to itself, X [1×token×d_model].
Block attend(const Tensor<3>& X, const Views& weights, std::size_t heads,
             const std::optional<Mask<3>>& mask = std::nullopt);

/// A block of a transformer, the part block.md. With a memory, an encoder's output [1×source×d_model], it is
/// a decoder's block.
Block apply_block(const Tensor<3>& X, const Views& weights, std::size_t heads,
                  const std::optional<Mask<3>>& mask = std::nullopt,
                  const std::optional<Tensor<3>>& memory = std::nullopt);

/// The blocks of the encoder of the transformer that `attnlab train translation --attention transformer`
/// wrote, on a sentence.
std::vector<Block> encoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& source);

/// The first `count` blocks of its decoder on what it reads, with what the encoder made of the source.
std::vector<Block> decoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& read,
                                  const Tensor<3>& memory, std::size_t count);

/// What the decoder reads when it is to write these words: <s> and all but the last.
attn::TokenBatch before_each(std::vector<std::string> words);

}  // namespace lessons
