#pragma once

#include <vector>

#include "lessons/transformer_block.hpp"
#include "lessons/workbench/model.hpp"

/// The transformer that `attnlab train translation --attention transformer` wrote, block by block.
namespace lessons {

/// The blocks of the encoder on a sentence.
std::vector<TransformerBlock> encoder_blocks(Workbench& mute, const ModelInputs& inputs,
                                             const attn::TokenBatch& source);

/// The first `count` blocks of the decoder on what it reads, with what the encoder made of the source,
/// [1×source×d_model].
std::vector<TransformerBlock> decoder_blocks(Workbench& mute, const ModelInputs& inputs,
                                             const attn::TokenBatch& read, const Tensor<3>& memory,
                                             std::size_t count);

/// What the decoder reads when it is to write these words: <s> and all but the last.
attn::TokenBatch before_each(std::vector<std::string> words);

}  // namespace lessons
