#pragma once

#include <optional>
#include <vector>

#include "lessons/multihead.hpp"
#include "lessons/seq2seq/encoder.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// Whether the decoder attends before its cell makes the step, and the cell reads the context: Bahdanau's.
bool attends_before_the_cell(const Options& options);

/// Whether the word that is read asks together with the state before: bahdanau-input.
bool asks_with_word(const Workbench& bench);

/// The weights of the attention between two LSTMs: those that the option `--attention` needs.
struct SourceAttentionWeights {
  std::optional<Tensor<2>> W_q, W_k;  ///< bahdanau: [hidden×d_a]; bahdanau-input: W_q [(hidden+d_model)×d_a]
  std::optional<Tensor<2>> W_a;       ///< luong-general: [hidden×hidden], luong-concat: [2·hidden×d_a]
  std::optional<Tensor<1>> v_a;       ///< bahdanau, bahdanau-input and luong-concat: [d_a]
  std::optional<MultiHeadWeights> multihead{};   ///< multihead: [hidden×hidden] each, and given biases
  std::optional<Tensor<1>> b_q{}, b_k{}, b_a{};  ///< of W_q, W_k and W_a, where they are given

  LinearMap q() const { return {*W_q, b_q}; }
  LinearMap k() const { return {*W_k, b_k}; }
  LinearMap a() const { return {*W_a, b_a}; }
};

/// The states of the encoder, ready for every query to come.
struct Source {
  Tensor<3> states;                  ///< [batch×source×hidden]
  Tensor<3> keys;                    ///< what queries are compared with, [batch×source×d]
  std::vector<std::size_t> lengths;  ///< real states of each sample

  bool is_padded() const;
};

Source prepare_source(const Workbench& bench, const Tensor<3>& states,
                      const std::vector<std::size_t>& lengths, const SourceAttentionWeights& weights);

/// [batch×head×target×source]; one head where there are none.
struct SourceAttention {
  Tensor<4> scores, weights;
  Tensor<3> context;  ///< [batch×target×hidden]
};

/// States of the decoder, queries [batch×target×hidden] (bahdanau-input: with the word that is read behind
/// them), attend to the source, in the format of the workbench.
SourceAttention attend_to_source(Workbench& mute, const Tensor<3>& queries, const Source& source,
                                 const SourceAttentionWeights& weights);

/// With `W_c` it is the decoder of Luong et al. 2015, section 3, without input feeding; without `W_c` that of
/// Bahdanau et al. 2014, appendix A.
struct DecoderWeights {
  attn::LstmWeights lstm;
  SourceAttentionWeights attention;
  std::optional<Tensor<2>> W_c;    ///< [2·hidden×hidden]
  Tensor<2> W;                     ///< [hidden×vocabulary]; without W_c [2·hidden×vocabulary]
  std::optional<Tensor<1>> b;      ///< [vocabulary]; with W_c where it is given
  std::optional<Tensor<1>> b_c{};  ///< [hidden], of W_c, where it is given

  bool attends_first() const { return !W_c; }
  LinearMap c() const { return {*W_c, b_c}; }
  LinearMap logits() const { return {W, b}; }
};

/// One step, [batch×1×…] each.
struct DecoderStep {
  LstmState state;
  SourceAttention attention;
  Tensor<3> probabilities;
};

/// y [batch×1×d_model] is the word that was written before.
DecoderStep decoder_step(Workbench& mute, const Tensor<3>& y, const LstmState& before, const Source& source,
                         const DecoderWeights& weights);

/// Teacher forcing: at step t the decoder reads row t of X_target [batch×target×d_model], whatever it would
/// have written before. `initial` [batch×1×hidden].
std::vector<DecoderStep> decode_taught(Workbench& mute, const Tensor<3>& X_target, const LstmState& initial,
                                       const Source& source, const DecoderWeights& weights);

/// What a decoder wrote.
struct GreedyWords {
  std::vector<std::vector<std::size_t>> words;  ///< of each sample, by their number in the vocabulary
  std::vector<DecoderStep> steps;
};

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and its row of
/// `vectors` [vocabulary×d_model] is read at the next. The last word of the vocabulary is </s>. Sample b ends
/// with it or after `most_steps[b]` words, whichever comes first. `start` [batch×1×d_model] is read first.
GreedyWords decode_greedily(Workbench& mute, const Tensor<3>& start, const LstmState& initial,
                            const Source& source, const DecoderWeights& weights, const Tensor<2>& vectors,
                            const std::vector<std::size_t>& most_steps);

}  // namespace lessons
