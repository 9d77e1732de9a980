#pragma once

#include <optional>
#include <vector>

#include "lessons/multihead.hpp"
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

}  // namespace lessons
