#pragma once

#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Long short-term memory (Hochreiter & Schmidhuber 1997), with the forget gate that Gers, Schmidhuber &
/// Cummins added in 2000: the cell as PyTorch's nn.LSTM and nn.LSTMCell compute it. Instantiated for float
/// and double. Every sum runs in order in float64, so that neither the machine nor the rest of a batch
/// changes a digit. All throw std::invalid_argument, with both shapes, where those do not match.

/// The weights in PyTorch's layout. They multiply from the left; their rows are those of the gates i, f, g
/// and o, one block of `hidden` rows after the other.
struct LstmWeights {
  Tensor<2> W_ih;  ///< [4·hidden×d_in], reads the input
  Tensor<2> W_hh;  ///< [4·hidden×hidden], reads the state before
  Tensor<1> b_ih;  ///< [4·hidden]
  Tensor<1> b_hh;  ///< [4·hidden]

  std::size_t hidden() const { return W_hh.shape(1); }
};

/// What goes from one step to the next, [batch×hidden] each.
struct LstmState {
  Tensor<2> h;  ///< the state that others see
  Tensor<2> c;  ///< the memory
};

/// h = c = 0.
LstmState zero_state(std::size_t batch, std::size_t hidden);

/// One step and all that it is made of, [batch×hidden] each.
struct LstmStep {
  Tensor<2> i;  ///< input gate, σ(W_ii x + b_ii + W_hi h + b_hi)
  Tensor<2> f;  ///< forget gate, σ(W_if x + b_if + W_hf h + b_hf)
  Tensor<2> g;  ///< candidate, tanh(W_ig x + b_ig + W_hg h + b_hg)
  Tensor<2> o;  ///< output gate, σ(W_io x + b_io + W_ho h + b_ho)
  Tensor<2> c;  ///< f ∘ c_before + i ∘ g
  Tensor<2> h;  ///< o ∘ tanh(c)

  LstmState state() const { return {h, c}; }
};

/// The cell: from the input x [batch×d_in] and the state before to the state after.
LstmStep lstm_cell(const Tensor<2>& x, const LstmState& before, const LstmWeights& weights);

enum class Direction { forward, reverse };

/// All steps of a sequence, [batch×n×hidden] each; row t belongs to input t in both directions.
struct Lstm {
  Tensor<3> i, f, g, o, c, h;
  LstmState last;  ///< after the last real input, in reverse after the first
};

/// Runs the cell along x [batch×n×d_in], in reverse from the last real input to the first. Sample b has
/// `lengths[b]` real inputs; what follows them is padding, whose rows are zeros and which leaves the state
/// alone (PyTorch's packed sequences).
Lstm lstm(const Tensor<3>& x, const LstmState& initial, const LstmWeights& weights,
             const std::vector<std::size_t>& lengths, Direction direction = Direction::forward);

/// Checks a run step by step, each from the row before it as it stands in the run: the largest difference of
/// c or h from what the cell makes of a real input.
double deviation_from_cell(const Lstm& run, const Tensor<3>& x, const LstmState& initial,
                           const LstmWeights& weights, const std::vector<std::size_t>& lengths,
                           Direction direction = Direction::forward);

/// How much of what each step wrote into the memory is still there at the end: the product of the forget
/// gates of all steps after it, [batch×n×hidden]; zeros for padding.
Tensor<3> kept_to_the_end(const Lstm& run, const std::vector<std::size_t>& lengths,
                             Direction direction = Direction::forward);

/// Σₜ keptₜ ∘ iₜ ∘ gₜ [batch×hidden]: the memory at the end of a run that began with c = 0, put together from
/// what each step wrote into it.
Tensor<2> sum_of_kept(const Lstm& run, const Tensor<3>& kept);

}  // namespace attn
