#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/seq2seq/attention.hpp"
#include "lessons/seq2seq/encoder.hpp"
#include "lessons/seq2seq/taught.hpp"
#include "trace/recurrence.hpp"

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

/// The inputs `decoder/…`, `attention/…` and `output/…`, drawn in that order.
DecoderWeights draw_decoder(Workbench& bench, const OutputWords& words);

/// The words for the cell of the decoder.
LstmWords decoder_words(const Workbench& bench);

/// One step, [batch×1×…] each.
struct DecoderStep {
  LstmState state;
  Tensor<3> probabilities;
};

/// From `decoder/i` to `decoder/probabilities`: y [batch×1×d_model] is the word that was written before.
DecoderStep decoder_step(Workbench& bench, const Tensor<3>& y, const LstmState& before, const Source& source,
                         const DecoderWeights& weights);

/// All steps, [batch×target×…] each.
struct Decoder {
  LstmState states;
  Tensor<4> scores, weights;  ///< [batch×head×target×source], one head where there are none
  Tensor<3> context;
  Tensor<3> probabilities;
  Tensor<4> gates;  ///< i, f, g, o [batch×4×target×hidden]
  Tensor<3> logits;
  std::optional<Tensor<3>> attentional;  ///< of a decoder with W_c
};

/// Shows the steps of a decoder, from `decoder/i` to `decoder/probabilities`. The other arguments are those
/// with which they were computed; X_target is [batch×target×d_model], `initial` [batch×1×hidden].
Decoder show_decoder(Workbench& bench, attn::Recurrence& recurrence, const Tensor<3>& X_target,
                     const LstmState& initial, const Source& source, const DecoderWeights& weights);

/// Teacher forcing: at step t the decoder reads row t of X_target [batch×target×d_model], whatever it would
/// have written before. `initial` [batch×1×hidden].
Decoder decode_taught(Workbench& bench, const Tensor<3>& X_target, const LstmState& initial,
                      const Source& source, const DecoderWeights& weights);

/// What a decoder may write.
struct Vocabulary {
  std::vector<std::string> words;  ///< the last one is </s>, which ends a sentence
  Tensor<2> vectors;               ///< of each word [vocabulary×d_model], zeros for </s>
};

/// Greedy decoding: at every step the likeliest word (the first of equals) is written, and read at the next.
/// Sample b ends with </s> or after `most_steps[b]` words, whichever comes first. `start` [batch×1×d_model]
/// is read first; `reads` says what the step is that holds all that is read. The steps are rows of
/// `recurrence`, still to be shown. Returns for each sample the words written, by their number in the
/// vocabulary.
std::vector<std::vector<std::size_t>> decode_greedily(Workbench& bench, attn::Recurrence& recurrence,
                                                      const attn::About& reads, const Tensor<3>& start,
                                                      const LstmState& initial, const Source& source,
                                                      const DecoderWeights& weights,
                                                      const Vocabulary& vocabulary,
                                                      const std::vector<std::size_t>& most_steps);

}  // namespace lessons
