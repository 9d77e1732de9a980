#pragma once

#include "fast/train/sublayers.hpp"

/// A transformer of an encoder and a decoder that translates (Vaswani et al. 2017): blocks of the lesson
/// `transformer-block`, those of the decoder with cross-attention.
namespace attn::train {

struct TransformerTranslatorSizes {
  std::size_t source_words;
  std::size_t target_words;  ///< without the marks of begin and end
  std::size_t d_model = 64;
  std::size_t heads = 4;
  std::size_t d_k = 8;  ///< of a head
  std::size_t d_v = 8;
  std::size_t d_ff = 128;
  std::size_t layers = 2;  ///< of the encoder, and as many of the decoder
  Positions positions = Positions::sinusoidal;

  /// The id that stands for `<s>` among the words that are read and for `</s>` among those that are written.
  int mark() const { return static_cast<int>(target_words); }
};

/// Ids: source/embedding, target/embedding, encoder/layer=1/attention/W_Q, …, encoder/layer=1/norm_2/bias,
/// decoder/layer=1/attention/W_Q, …, decoder/layer=1/cross/W_Q, …, output/W, output/b. Throws
/// std::invalid_argument for learned positions, which would bound the sentences.
WeightTable weights_of(const TransformerTranslatorSizes& sizes);

/// scale · Σ cross-entropy of each target word and of the end, the words before it being given (teacher
/// forcing). Dropout acts on the input and on what each sublayer adds.
template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights,
                             const TransformerTranslatorSizes& sizes,
                             const std::vector<std::vector<int>>& sources,
                             const std::vector<std::vector<int>>& targets, T scale,
                             double dropout_probability, Random* random);

/// Writes the likeliest word again and again until the end, or until there are `most_words`.
std::vector<std::vector<int>> translate(const Weights<float>& weights,
                                        const TransformerTranslatorSizes& sizes,
                                        const std::vector<std::vector<int>>& sources, std::size_t most_words);

/// The weights that each head of cross-attention pays to the source while the model is made to write the
/// targets: [layer · heads + head][sample][target][source], the row of the end left out. The row of a word is
/// that which writes it, and so has read the words before.
std::vector<std::vector<std::vector<std::vector<float>>>> forced_cross_attention(
    const Weights<float>& weights, const TransformerTranslatorSizes& sizes,
    const std::vector<std::vector<int>>& sources, const std::vector<std::vector<int>>& targets);

}  // namespace attn::train
