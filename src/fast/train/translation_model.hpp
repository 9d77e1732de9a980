#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fast/train/transformer.hpp"

/// Models that read a sentence and write another one.
namespace attn::train {

/// How the decoder attends: with the state before its step (Bahdanau et al. 2014), with that and the word it
/// reads, with the state after its step (Luong et al. 2015, "general"), or not at all (Sutskever et al.
/// 2014).
enum class DecoderAttention { bahdanau, bahdanau_input, luong_general, none };

/// "bahdanau", "bahdanau-input", "luong-general", "none"
std::string name_of(DecoderAttention attention);

/// Two LSTMs: the model of the lesson `seq2seq`, with its ids, trained.
struct EncoderDecoderSizes {
  DecoderAttention attention = DecoderAttention::bahdanau_input;
  std::size_t source_words;
  std::size_t target_words;  ///< without the marks of begin and end
  std::size_t d_model = 32;
  std::size_t hidden = 48;  ///< of each direction of the encoder; the decoder has twice as many
  std::size_t d_a = 64;

  std::size_t width() const { return 2 * hidden; }  ///< of the states of encoder and decoder

  /// The id that stands for `<s>` among the words that are read and for `</s>` among those that are written.
  int mark() const { return static_cast<int>(target_words); }
};

WeightTable weights_of(const EncoderDecoderSizes& sizes);

/// A transformer of an encoder and a decoder (Vaswani et al. 2017): blocks of the lesson `transformer-block`,
/// those of the decoder with cross-attention.
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

  int mark() const { return static_cast<int>(target_words); }  ///< as above

  /// A block of the encoder.
  TransformerSizes block() const {
    return {
        .words = 0, .classes = 0, .d_model = d_model, .heads = heads, .d_k = d_k, .d_v = d_v, .d_ff = d_ff};
  }
};

/// Ids: source/embedding, target/embedding, encoder/layer=1/attention/W_Q, …, encoder/layer=1/norm_2/bias,
/// decoder/layer=1/attention/W_Q, …, decoder/layer=1/cross/W_Q, …, output/W, output/b. Throws
/// std::invalid_argument for learned positions, which would bound the sentences.
WeightTable weights_of(const TransformerTranslatorSizes& sizes);

using Sequences = std::vector<std::vector<int>>;

/// scale · Σ cross-entropy of each target word and of the end, the words before it being given (teacher
/// forcing). Dropout acts on the embeddings and on what is read out, or on what each sublayer adds.
/// Instantiated for both kinds of sizes.
template <class T, class Sizes>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights, const Sizes& sizes,
                             const Sequences& sources, const Sequences& targets, T scale,
                             double dropout_probability, Random* random);

/// The attention to the source that one head pays while the model is made to write the targets, the row of
/// the end left out. The row of a word is that which writes it, and so has read the words before.
struct AttendingHead {
  std::string name;                                      ///< "layer 2, head 1"; empty for the only one
  std::vector<std::vector<std::vector<float>>> weights;  ///< [sample][target][source]
};

/// A model that reads a sentence and writes another one, whatever it is made of.
class TranslationModel {
 public:
  virtual ~TranslationModel() = default;

  virtual WeightTable table() const = 0;

  /// What the model is, beside its weights: "heads" "2".
  virtual std::map<std::string, std::string> configuration() const = 0;

  /// As `translation_loss`.
  virtual Variable<float> loss(Tape<float>& tape, const Weights<float>& weights, const Sequences& sources,
                               const Sequences& targets, float scale, double dropout,
                               Random* random) const = 0;

  /// Writes the likeliest word again and again until the end, or until there are `most_words`.
  virtual Sequences translate(const Weights<float>& weights, const Sequences& sources,
                              std::size_t most_words) const = 0;

  /// Of all heads that attend to the source; none of a model that does not.
  virtual std::vector<AttendingHead> attending_heads(const Weights<float>& weights, const Sequences& sources,
                                                     const Sequences& targets) const = 0;
};

std::shared_ptr<const TranslationModel> model_of(const EncoderDecoderSizes& sizes);
std::shared_ptr<const TranslationModel> model_of(const TransformerTranslatorSizes& sizes);

}  // namespace attn::train
