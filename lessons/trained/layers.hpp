#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/multihead.hpp"
#include "lessons/workbench/model.hpp"

/// What the blocks of shipped models make of a text, as the parts of the lessons compute it.
namespace lessons {

/// What a block goes through.
struct Block {
  Tensor<4> weights;                         ///< [1×head×query×key]
  std::optional<Tensor<4>> cross_weights{};  ///< of a decoder, [1×head×query×source]
  Tensor<3> attended;                        ///< behind the sublayer of attention, [1×token×d_model]
  Tensor<3> output;                          ///< [1×token×d_model]
};

/// What is beside the weights of a layer of attention.
struct Beside {
  std::size_t heads;
  std::optional<Mask<3>> mask{};      ///< [1×query×key], true = may be seen
  std::optional<Tensor<2>> angles{};  ///< of rotary attention
};

/// Multi-head attention of a text to itself, X [1×token×d_model], with the weights that a model has under
/// that group, "layer=1/attention/".
InHeads attend(const Tensor<3>& X, const attn::Model& model, const std::string& group, const Beside& beside);

/// A block of a transformer, the part block.md, with the weights of the group "layer=1/". With a memory, an
/// encoder's output [1×source×d_model], it is a decoder's block.
Block apply_block(const Tensor<3>& X, const attn::Model& model, const std::string& group,
                  const Beside& beside, const std::optional<Tensor<3>>& memory = std::nullopt);

/// The blocks of the encoder of the transformer that `attnlab train translation --attention transformer`
/// wrote, on a sentence.
std::vector<Block> encoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& source);

/// The first `count` blocks of its decoder on what it reads, with what the encoder made of the source.
std::vector<Block> decoder_blocks(const ModelInputs& inputs, const attn::TokenBatch& read,
                                  const Tensor<3>& memory, std::size_t count);

/// Texts [1×token×d_model] one below the other, [text×length×d_model], with rows of zeros behind the shorter
/// ones.
Tensor<3> as_samples(const std::vector<Tensor<3>>& texts, std::size_t length);

/// What the decoder reads when it is to write these words: <s> and all but the last.
attn::TokenBatch before_each(std::vector<std::string> words);

/// The heads of one layer of a shipped model, and what they read.
struct LayerOfModel {
  std::string model;  ///< "language"
  std::string part;   ///< the same, or that part of a translator: "encoder"
  std::string name;   ///< "encoder 2": with the number of the layer where there are several
  std::vector<std::string> queries, keys;
  std::vector<std::set<std::size_t>>
      links{};                        ///< of a translation: the keys that each query's word comes from
  Tensor<4> weights;                  ///< [1×head×query×key]
  Mask<3> visible;                    ///< [1×query×key]
  std::optional<Tensor<3>> logits{};  ///< [1×token×class] of the last layer, where each token has a class
};

/// Every attention of every shipped model of attention, computed by the functions of the lessons that teach
/// it, on texts that the models know. Throws attn::Error where a model is missing or has another structure.
std::vector<LayerOfModel> layers_of_models();

/// `sentiment/weights[sentiment/head, sentiment/query, sentiment/key]: sentiment()` of a document: what a
/// layer of a shipped model gives on the text that it reads in the lesson patterns. Names the words along
/// NAME/query and NAME/key.
void add_weights_of(Functions& functions, const std::string& name, std::string_view model,
                    std::size_t layer = 1);

}  // namespace lessons
