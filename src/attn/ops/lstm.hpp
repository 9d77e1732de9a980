#pragma once

#include "attn/tensor.hpp"

namespace attn {

/// The weights of an LSTM (Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber & Cummins
/// 2000) in PyTorch's layout. They multiply from the left; their rows are those of the gates i, f, g and o,
/// one block of `hidden` rows after the other.
struct LstmWeights {
  Tensor<2> W_ih;  ///< [4·hidden×d_in], reads the input
  Tensor<2> W_hh;  ///< [4·hidden×hidden], reads the state before
  Tensor<1> b_ih;  ///< [4·hidden]
  Tensor<1> b_hh;  ///< [4·hidden]

  std::size_t hidden() const { return W_hh.shape(1); }
};

/// The blocks of rows, in their order: input gate i, forget gate f, candidate g, output gate o.
enum class Gate { input, forget, candidate, output };

/// What goes into one gate before σ or tanh: W_ih x + W_hh h + b_ih + b_hh with the rows of that gate.
/// x [batch×n×d_in], h [batch×n×hidden] → [batch×n×hidden]. Every sum runs in order, so that neither the
/// machine nor the rest of a batch changes a digit. Throws std::invalid_argument, with both shapes, where
/// they do not match.
Tensor<3> gate_sums(const LstmWeights& weights, Gate gate, const Tensor<3>& x, const Tensor<3>& h);

/// σ(x) = 1 / (1 + e⁻ˣ).
Tensor<3> sigmoid(const Tensor<3>& x);

}  // namespace attn
