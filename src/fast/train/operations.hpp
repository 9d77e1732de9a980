#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "attn/random/random.hpp"
#include "fast/train/tape.hpp"

/// The operations that models are made of. Each computes its result and records its backward on the tape.
/// Shapes are [rows×columns]. Rows of a batch of sequences lie by position (row = position · batch + sample)
/// in recurrent models, and by sample (row = sample · positions + position) in transformers.
namespace attn::train {

using Lengths = std::vector<std::size_t>;  ///< of each sample of a batch, without padding

/// x W + the sum of the biases; W is [columns of x × n], each bias [1×n].
template <class T>
Variable<T> linear(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                   std::initializer_list<Variable<T>> biases = {}, Gradient gradient = Gradient::beside);

/// Wᵀ without a gradient.
template <class T>
Variable<T> transpose(Tape<T>& tape, const Variable<T>& W);

/// x Wᵀ + the sum of the biases, with W [n × columns of x], as LSTM weights are kept. The gradient is W's;
/// its transpose, which the product reads, is to have been made once for all steps.
template <class T>
Variable<T> linear_transposed(Tape<T>& tape, const Variable<T>& x, const Variable<T>& W,
                              const Variable<T>& W_transposed, std::initializer_list<Variable<T>> biases = {},
                              Gradient gradient = Gradient::beside);

/// The rows of the table that the ids name; a negative id is padding and gives a row of zeros.
template <class T>
Variable<T> embed(Tape<T>& tape, const Variable<T>& table, const std::vector<int>& ids);

template <class T>
Variable<T> add(Tape<T>& tape, const Variable<T>& a, const Variable<T>& b);

/// A block matrix: the parts of a row stand side by side, the rows one below the other.
template <class T>
Variable<T> block(Tape<T>& tape, const std::vector<std::vector<Variable<T>>>& parts);

/// [a; b; …]: the columns of all, side by side.
template <class T>
Variable<T> concatenate(Tape<T>& tape, const std::vector<Variable<T>>& parts) {
  return block(tape, std::vector(1, parts));
}

template <class T>
Variable<T> tanh(Tape<T>& tape, const Variable<T>& x);

template <class T>
Variable<T> relu(Tape<T>& tape, const Variable<T>& x);

/// Sets a number to 0 with the given probability and divides the others by 1 − probability (Srivastava et al.
/// 2014, inverted). Without a generator, or on a tape that records nothing, x itself.
template <class T>
Variable<T> dropout(Tape<T>& tape, const Variable<T>& x, double probability, Random* random);

/// (x − mean) / √(variance + 1e-5) · gain + bias for each row (Ba et al. 2016).
template <class T>
Variable<T> layer_norm(Tape<T>& tape, const Variable<T>& x, const Variable<T>& gain, const Variable<T>& bias);

/// The mean of the rows of each sample up to its length. Rows lie by sample.
template <class T>
Variable<T> mean_rows(Tape<T>& tape, const Variable<T>& x, const Lengths& lengths);

/// scale · Σ −ln softmax(logits)[target] over the rows with a target ≥ 0, [1×1]. Nothing else may read the
/// logits: their gradient is written and not added.
template <class T>
Variable<T> cross_entropy(Tape<T>& tape, const Variable<T>& logits, const std::vector<int>& targets, T scale);

/// a + factor · b, for losses.
template <class T>
Variable<T> add_scaled(Tape<T>& tape, const Variable<T>& a, const Variable<T>& b, T factor);

// Attention with several heads for transformers. Rows lie by sample: row = sample · positions + position.

struct HeadSizes {
  std::size_t batch;
  std::size_t queries;  ///< positions of a sample, with padding
  std::size_t keys;
  std::size_t heads;
  bool is_causal = false;
};

template <class T>
struct Attended {
  Variable<T> output;   ///< [batch·queries × heads·d_v]
  Variable<T> weights;  ///< [batch·heads·queries × keys]
};

/// softmax(Q Kᵀ / √d_k) V for each head (Vaswani et al. 2017, section 3.2). Q is [batch·queries × heads·d_k],
/// K [batch·keys × heads·d_k], V [batch·keys × heads·d_v]. Keys beyond a sample's length are hidden.
template <class T>
Attended<T> attend(Tape<T>& tape, const Variable<T>& Q, const Variable<T>& K, const Variable<T>& V,
                   const HeadSizes& sizes, const Lengths& key_lengths);

/// Rotary position embedding (Su et al. 2021): turns the pairs (2i, 2i + 1) of each head by
/// position · 10000^(−2i/d_k).
template <class T>
Variable<T> rotate(Tape<T>& tape, const Variable<T>& x, std::size_t positions, std::size_t heads);

/// scale · Σ −w ln w over all weights of queries within their sample's length, [1×1].
template <class T>
Variable<T> entropy(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes,
                    const Lengths& query_lengths, T scale);

/// Where a query is to look: `share` of its weights at `key`. `row` is the query's row of Q.
template <class T>
struct Look {
  std::size_t row, key;
  T share;
};

/// scale · Σ −share ln w[row, key] of one head, [1×1]: the cross-entropy of its weights against where it is
/// to look (Strubell et al. 2018, section 2.3, with one key a query).
template <class T>
Variable<T> loss_of_looks(Tape<T>& tape, const Variable<T>& weights, const HeadSizes& sizes, std::size_t head,
                          const std::vector<Look<T>>& looks, T scale);

// Operations of recurrent models with attention. Rows lie by position: row = position · batch + sample.

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
