#pragma once

#include <optional>
#include <vector>

#include "lessons/seq2seq/attention.hpp"
#include "lessons/seq2seq/encoder.hpp"

namespace lessons {

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
