#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lessons/seq2seq/decoder.hpp"

namespace lessons {

/// A run of the lesson seq2seq, from words to probabilities.
struct Seq2SeqRun {
  std::vector<std::size_t> lengths{};  ///< [batch], of the source
  Tensor<3> X_source{};                ///< [batch×source×d_model]
  Tensor<3> X_target{};                ///< [batch×target×d_model]
  struct {
    EncoderWeights encoder;
    DecoderWeights decoder;
  } weights{};
  Encoder encoder{};
  Source source{};
  Decoder decoder{};
  std::optional<Tensor<2>> embedding{};             ///< of a model that writes by itself [word×d_model]
  std::vector<std::vector<std::size_t>> written{};  ///< the words by number, without a target only
  std::vector<std::vector<std::string>> words{};    ///< the same, with the words that are carried over
  Tensor<3> kept{};                                 ///< `bottleneck/kept` [batch×source×width]
};

/// The claims of every run: rows sum to 1, the state that asks and what the cell reads are those of the
/// paper, and the encoder is its cell step by step.
void claim_recurrence(Workbench& bench, const Seq2SeqRun& run);

/// With padding: every sentence has the same probabilities without the rest of the batch.
void claim_padding_changes_nothing(Workbench& bench, const Seq2SeqRun& run);

/// Without a target: every word written is the likeliest of its row when all are read again as a target.
void claim_greedy(Workbench& bench, const Seq2SeqRun& run);

}  // namespace lessons
