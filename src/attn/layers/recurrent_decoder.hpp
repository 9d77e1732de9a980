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
struct RecurrentDecoderWeights {
  LstmWeights lstm;
  SourceAttentionWeights attention;
  std::optional<Tensor<2>> W_c;  ///< [2·hidden×hidden]
  Tensor<2> W;                   ///< [hidden×vocabulary]; without W_c [2·hidden×vocabulary]
  std::optional<Tensor<1>> b;    ///< [vocabulary]

  bool attends_first() const { return !W_c; }
};

/// One step, [batch×…] each.
struct RecurrentDecoderStep {
  Tensor<2> query;  ///< the state that attends
  LstmStep lstm;
  SourceAttention source;                ///< with one row of the target
  std::optional<Tensor<2>> attentional;  ///< only with W_c
  Tensor<2> logits;                      ///< [batch×vocabulary]
};

/// y [batch×d_model] is the word that was written before.
RecurrentDecoderStep decoder_step(const Tensor<2>& y, const LstmState& before,
                                     const PreparedSource& source,
                                     const RecurrentDecoderWeights& weights);

/// All steps, [batch×target×…] each.
struct RecurrentDecoder {
  Tensor<3> queries;
  Lstm lstm;
  SourceAttention source;
  std::optional<Tensor<3>> attentional;
  Tensor<3> logits;
};

/// Teacher forcing: X_target [batch×target×d_model] are the words that the decoder is made to have written,
/// each read one step later; row 0 begins the sentence.
RecurrentDecoder recurrent_decoder(const Tensor<3>& X_target, const LstmState& initial,
                                      const PreparedSource& source,
                                      const RecurrentDecoderWeights& weights);

/// A vocabulary that a decoder writes with.
struct WrittenWith {
  Tensor<2> embedding;  ///< [vocabulary×d_model], the vector of each word
  std::size_t end;         ///< the word that ends a sentence
};

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and read at the next.
/// Sample b ends with `end` or after `most_steps[b]` words, whichever comes first. y [batch×d_model] begins
/// the sentences. Returns for each sample the words written, by their number in the vocabulary.
std::vector<std::vector<std::size_t>> decode_greedily(Tensor<2> y, const LstmState& initial,
                                                      const PreparedSource& source,
                                                      const RecurrentDecoderWeights& weights,
                                                      const WrittenWith& vocabulary,
                                                      const std::vector<std::size_t>& most_steps);

}  // namespace attn
