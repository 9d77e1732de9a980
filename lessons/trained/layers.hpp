#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "english/lexicon.hpp"
#include "lessons/multihead.hpp"
#include "lessons/workbench/model.hpp"
#include "lessons/workbench/workbench.hpp"

/// What shipped models read and what their layers make of a text, as the parts of the lessons compute it. Of
/// each word of an English sentence the model about (attnlab train about) says which one it is about.
namespace lessons {

/// The lab's lexicon of English words, read once.
const english::Lexicon& lexicon();

/// `most of its words ("le", "chat", …): it reads English`: why the model cannot read a sentence of which the
/// lexicon knows fewer than half of the words. Nothing where it can.
std::optional<std::string> not_english(const std::vector<std::string>& tokens);

/// `"blorf" is taken for a noun`: of the words that the lexicon lacks. Empty where it has all.
std::string taken_for(const std::vector<std::string>& tokens);

/// What the two layers of the model make of one sentence.
struct AboutLayers {
  Tensor<4> first_weights;  ///< of the first layer, [1×head×query×key]
  Tensor<4> second_weights;
};
AboutLayers layers_of_about(const attn::Model& model, const std::vector<std::string>& tokens);

/// Gives X and W_Q, W_K and W_V of head 0 of the second layer, which looks at the word that is sought.
void give_about(ModelInputs& inputs);

/// What the first layer reads and what it makes of that, [text×token×d_model], with zeros for padding.
Tensor<3> words_as_vectors(const ModelInputs& inputs);
Tensor<3> input_of_second_layer(const ModelInputs& inputs);

/// The angles of the first layer's rotary attention for that many positions, [position×pair].
Tensor<2> angles_of_first_layer(const attn::Model& model, std::size_t positions);

/// What a block of a transformer goes through: the part block.md.
struct Block {
  Tensor<4> weights;                         ///< [1×head×query×key]
  std::optional<Tensor<4>> cross_weights{};  ///< of a decoder, [1×head×query×source]
  Tensor<3> attended;                        ///< behind the sublayer of attention, [1×token×d_model]
  Tensor<3> output;                          ///< [1×token×d_model]
};

/// The weights that a model has under that group, "layer=1/attention/".
attn::MultiHeadWeights weights_in(const attn::Model& model, const std::string& group, std::size_t heads);

/// A block of a transformer, the part block.md, on X [1×token×d_model] with the weights of the group
/// "layer=1/". With a memory, an encoder's output [1×source×d_model], it is a decoder's block.
Block apply_block(const Tensor<3>& X, const attn::Model& model, const std::string& group, std::size_t heads,
                  const attn::AttentionOptions& options,
                  const std::optional<Tensor<3>>& memory = std::nullopt);

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
  bool is_causal = false;             ///< no query sees a later key
  std::optional<Tensor<3>> logits{};  ///< [1×token×class] of the last layer, where each token has a class
};

/// Every attention of every shipped model of attention, computed by the functions of the lessons that teach
/// it, on texts that the models know. Throws attn::Error where a model is missing or has another structure.
std::vector<LayerOfModel> layers_of_models();

/// What every document may call of the models: `{call who_is_about_whom}` on the weights of the model about,
/// `{call one_word_decides}`, and `sentiment/weights[sentiment/head, sentiment/query, sentiment/key]:
/// sentiment()`, what a layer of a shipped model gives on the text that it reads in the lesson patterns.
/// `language`, `sentiment`, `reverse`, `block_1` and `block_2` of the model induction, and `alone` name the
/// words along NAME/query and NAME/key.
void add_models(Functions& functions);

}  // namespace lessons
