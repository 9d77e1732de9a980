#pragma once

#include <optional>
#include <vector>

#include "attn/layers/lstm.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// An LSTM that reads a sentence from the left and, with weights for it, another one that reads it from the
/// right (Schuster & Paliwal 1997). Both begin with a state of zeros. Instantiated for float and double.
struct RecurrentEncoderWeights {
  LstmWeights forward;
  std::optional<LstmWeights> reverse;
};

/// `width` is the size of a state: that of one LSTM, or of both together.
struct RecurrentEncoder {
  Lstm forward;
  std::optional<Lstm> reverse;
  Tensor<3> states;  ///< forward.h, or [forward.h; reverse.h] [batch×n×width]
  LstmState last;    ///< of a real input, or the two last ones side by side [batch×width]
};

/// X is [batch×n×d_in], with `lengths[b]` real rows in sample b. Throws std::invalid_argument where the
/// shapes do not match.
RecurrentEncoder recurrent_encoder(const Tensor<3>& X, const RecurrentEncoderWeights& weights,
                                      const std::vector<std::size_t>& lengths);

}  // namespace attn
