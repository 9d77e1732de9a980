#pragma once

#include <optional>
#include <vector>

#include "attn/layers/lstm.hpp"
#include "attn/layers/source_attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// An LSTM that writes a sentence and attends to the states of an encoder meanwhile. Instantiated for float
/// and double. Throws std::invalid_argument, with both shapes, where those do not match.

/// With `W_c` it is the decoder of Luong et al. 2015, section 3, without input feeding: the cell makes a
/// step, its new state attends, and attentional = tanh([context; h] W_c) is read out. Without `W_c` it is
/// that of Bahdanau et al. 2014, appendix A: the state before attends, the cell reads [y; context], and [h;
/// context] is read out.
template <class T>
struct RecurrentDecoderWeights {
  LstmWeights<T> lstm;
  SourceAttentionWeights<T> attention;
  std::optional<Tensor<T, 2>> W_c;  ///< [2·hidden×hidden]
  Tensor<T, 2> W;                   ///< [hidden×vocabulary]; without W_c [2·hidden×vocabulary]
  std::optional<Tensor<T, 1>> b;    ///< [vocabulary]

  bool attends_first() const { return !W_c; }
};

/// One step, [batch×…] each.
template <class T>
struct RecurrentDecoderStep {
  Tensor<T, 2> query;  ///< the state that attends
  LstmStep<T> lstm;
  SourceAttention<T> source;                ///< with one row of the target
  std::optional<Tensor<T, 2>> attentional;  ///< only with W_c
  Tensor<T, 2> logits;                      ///< [batch×vocabulary]
};

/// y [batch×d_model] is the word that was written before.
template <class T>
RecurrentDecoderStep<T> decoder_step(const Tensor<T, 2>& y, const LstmState<T>& before,
                                     const PreparedSource<T>& source,
                                     const RecurrentDecoderWeights<T>& weights);

/// All steps, [batch×target×…] each.
template <class T>
struct RecurrentDecoder {
  Tensor<T, 3> queries;
  Lstm<T> lstm;
  SourceAttention<T> source;
  std::optional<Tensor<T, 3>> attentional;
  Tensor<T, 3> logits;
};

/// Teacher forcing: X_target [batch×target×d_model] are the words that the decoder is made to have written,
/// each read one step later; row 0 begins the sentence.
template <class T>
RecurrentDecoder<T> recurrent_decoder(const Tensor<T, 3>& X_target, const LstmState<T>& initial,
                                      const PreparedSource<T>& source,
                                      const RecurrentDecoderWeights<T>& weights);

/// A vocabulary that a decoder writes with.
template <class T>
struct WrittenWith {
  Tensor<T, 2> embedding;  ///< [vocabulary×d_model], the vector of each word
  std::size_t end;         ///< the word that ends a sentence
};

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and read at the next.
/// Sample b ends with `end` or after `most_steps[b]` words, whichever comes first. y [batch×d_model] begins
/// the sentences. Returns for each sample the words written, by their number in the vocabulary.
template <class T>
std::vector<std::vector<std::size_t>> decode_greedily(Tensor<T, 2> y, const LstmState<T>& initial,
                                                      const PreparedSource<T>& source,
                                                      const RecurrentDecoderWeights<T>& weights,
                                                      const WrittenWith<T>& vocabulary,
                                                      const std::vector<std::size_t>& most_steps);

}  // namespace attn
