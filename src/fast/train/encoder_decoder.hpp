#pragma once

#include <optional>
#include <string>

#include "fast/train/recurrent.hpp"
#include "fast/train/weights.hpp"

/// A recurrent translator: the model of the lesson `seq2seq`, with its ids, trained.
namespace attn::train {

/// How the decoder attends: with the state before its step (Bahdanau et al. 2014), with that and the word it
/// reads, with the state after its step (Luong et al. 2015, "general"), or not at all (Sutskever et al.
/// 2014).
enum class DecoderAttention { bahdanau, bahdanau_input, luong_general, none };

/// "bahdanau", "bahdanau-input", "luong-general", "none"
std::string name_of(DecoderAttention attention);

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

/// Sentences as ids, filled up with −1. Id number `position · batch + sample`.
struct Sentences {
  std::vector<int> ids;
  Lengths lengths;

  std::size_t positions() const { return ids.size() / lengths.size(); }
};

Sentences sentences_by_position(const std::vector<std::vector<int>>& sentences);

/// scale · Σ cross-entropy of each target word and of the end, the words before it being given (teacher
/// forcing). Dropout acts on the embeddings and on what is read out.
template <class T>
Variable<T> translation_loss(Tape<T>& tape, const Weights<T>& weights, const EncoderDecoderSizes& sizes,
                             const std::vector<std::vector<int>>& sources,
                             const std::vector<std::vector<int>>& targets, T scale,
                             double dropout_probability, Random* random);

struct Translation {
  std::vector<int> words;                   ///< without the end
  std::vector<std::vector<float>> weights;  ///< [target][source]; empty without attention
};

/// Writes the likeliest word again and again until the end, or until there are `most_words`.
std::vector<Translation> translate(const Weights<float>& weights, const EncoderDecoderSizes& sizes,
                                   const std::vector<std::vector<int>>& sources, std::size_t most_words);

/// The weights that the model pays to the source while it is made to write the targets: [target][source] a
/// sample, the row of the end left out.
std::vector<std::vector<std::vector<float>>> forced_alignment(const Weights<float>& weights,
                                                              const EncoderDecoderSizes& sizes,
                                                              const std::vector<std::vector<int>>& sources,
                                                              const std::vector<std::vector<int>>& targets);

}  // namespace attn::train
