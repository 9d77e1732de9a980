#pragma once

#include "fast/train/operations.hpp"

/// Operations of recurrent models with attention. Rows lie by position: row = position · batch + sample.
namespace attn::train {

template <class T>
struct LstmState {
  Variable<T> h;  ///< [positions·batch × hidden]
  Variable<T> c;
};

enum class Direction { forwards, backwards };

/// In the gate order i, f, g, o.
template <class T>
struct LstmWeights {
  Variable<T> W_ih;        ///< [4·hidden × columns of x]
  Variable<T> W_hh;        ///< [4·hidden × hidden]
  Variable<T> b_ih, b_hh;  ///< [1 × 4·hidden]
  Variable<T> W_ih_transposed, W_hh_transposed;
};

/// With the transposes, made once for all steps.
template <class T>
LstmWeights<T> lstm_weights(Tape<T>& tape, const Variable<T>& W_ih, const Variable<T>& W_hh,
                            const Variable<T>& b_ih, const Variable<T>& b_hh) {
  return {W_ih, W_hh, b_ih, b_hh, transpose(tape, W_ih), transpose(tape, W_hh)};
}

/// An LSTM (Hochreiter & Schmidhuber 1997, Gers et al. 2000) over all positions of x. Where a sample has
/// ended its state stays as it is.
template <class T>
LstmState<T> lstm(Tape<T>& tape, const Variable<T>& x, const LstmState<T>& before,
                  const LstmWeights<T>& weights, const Lengths& lengths,
                  Direction direction = Direction::forwards);

/// score[sample, position] = v · tanh(query + key) (Bahdanau et al. 2014, appendix A.1.2): query [batch ×
/// d_a] and keys [positions·batch × d_a] are projected already, v is [1×d_a]. Scores beyond a length are not
/// set.
template <class T>
Variable<T> additive_scores(Tape<T>& tape, const Variable<T>& query, const Variable<T>& keys,
                            const Variable<T>& v, const Lengths& lengths);

/// score[sample, position] = query · key (Luong et al. 2015, section 3.1). Scores beyond a length are not
/// set.
template <class T>
Variable<T> dot_scores(Tape<T>& tape, const Variable<T>& query, const Variable<T>& keys,
                       const Lengths& lengths);

/// softmax over the first `length` scores of each row; 0 behind them.
template <class T>
Variable<T> softmax(Tape<T>& tape, const Variable<T>& scores, const Lengths& lengths);

/// context[sample] = Σ weights[sample, position] · state[position, sample]
template <class T>
Variable<T> weighted_sum(Tape<T>& tape, const Variable<T>& weights, const Variable<T>& states,
                         const Lengths& lengths);

}  // namespace attn::train
