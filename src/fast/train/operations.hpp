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

}  // namespace attn::train
