#pragma once

#include <string>
#include <vector>

#include "fast/train/heads.hpp"
#include "fast/train/weights.hpp"

/// What transformers are made of: sentences by sample, positions, and the sublayers of the lesson
/// `transformer-block`.
namespace attn::train {

enum class Positions { none, sinusoidal, learned, rotary };

/// "none", "sinusoidal", "learned", "rotary"
std::string name_of(Positions positions);

/// Throws attn::Error for a name that `valid` does not have, with those that it has.
Positions positions_of(const std::string& name, const std::vector<Positions>& valid);

/// Sentences as ids, filled up with −1. Id number `sample · positions + position`.
struct Rows {
  std::vector<int> ids;
  Lengths lengths;

  std::size_t positions() const { return ids.size() / lengths.size(); }
};

Rows rows_by_sample(const std::vector<std::vector<int>>& sentences);

/// Row p is (sin(p ω₀), cos(p ω₀), sin(p ω₁), …) with ωᵢ = 10000^(−2i/d_model) (Vaswani et al. 2017, section
/// 3.5): what a transformer with sinusoidal positions adds to the vector at position p.
std::vector<double> sinusoidal_position(std::size_t position, std::size_t d_model);

/// The widths of multi-head attention.
struct AttentionSizes {
  std::size_t d_model;
  std::size_t heads;
  std::size_t d_k;  ///< of a head
  std::size_t d_v;
};

/// Adds GROUP/W_Q, GROUP/W_K, GROUP/W_V and GROUP/W_O.
void add_attention(WeightTable& table, const std::string& group, const AttentionSizes& sizes);

/// Adds NAME/gain and NAME/bias.
void add_layer_norm(WeightTable& table, const std::string& name, std::size_t d_model);

/// Adds LAYER + W_1, b_1, W_2 and b_2.
void add_feed_forward(WeightTable& table, const std::string& layer, std::size_t d_model, std::size_t d_ff);

/// The sublayers, with their weights by name. Dropout acts on what each of them gives.
template <class T>
class Sublayers {
 public:
  Sublayers(Tape<T>& tape, const Weights<T>& weights, double dropout_probability, Random* random)
      : tape_(tape), weights_(weights), probability_(dropout_probability), random_(random) {}

  Variable<T> drop(const Variable<T>& x) { return dropout(tape_, x, probability_, random_); }

  /// The rows of the table for the words, with their positions added where those are sinusoidal, or learned
  /// in the table `positions`.
  Variable<T> words(const std::string& table, const Rows& rows, Positions positions);

  /// What the heads of GROUP find for the rows of x among those of `memory`, which are x for self-attention.
  /// Rotary positions turn queries and keys.
  Attended<T> attention(const Variable<T>& x, const Variable<T>& memory, const std::string& group,
                        const HeadSizes& sizes, const Lengths& key_lengths, Positions positions);

  /// attended W_O with the W_O of GROUP.
  Variable<T> mixed(const Attended<T>& attended, const std::string& group);

  /// max(0, x W_1 + b_1) W_2 + b_2 with the weights of LAYER.
  Variable<T> feed_forward(const Variable<T>& x, const std::string& layer);

  /// x + found.
  Variable<T> residual(const Variable<T>& x, const Variable<T>& found) { return add(tape_, x, drop(found)); }

  /// The layer norm NAME.
  Variable<T> norm(const Variable<T>& x, const std::string& name);

 private:
  Variable<T> sinusoids(const Rows& rows, std::size_t d_model);

  Tape<T>& tape_;
  const Weights<T>& weights_;
  double probability_;
  Random* random_;
};

extern template class Sublayers<float>;
extern template class Sublayers<double>;

}  // namespace attn::train
