#pragma once

#include "fast/train/sublayers.hpp"

/// Transformers of a few layers: the blocks of the lesson `transformer-block`, trained.
namespace attn::train {

struct TransformerSizes {
  std::size_t words;    ///< that are read
  std::size_t classes;  ///< that each position, or each sentence, is given one of
  std::size_t d_model = 64;
  std::size_t heads = 2;
  std::size_t d_k = 32;  ///< of a head
  std::size_t d_v = 32;
  std::size_t d_ff = 0;  ///< 0: no feed-forward network
  std::size_t layers = 1;
  Positions positions = Positions::sinusoidal;
  std::size_t longest = 32;  ///< rows of the table of learned positions
  bool is_causal = false;
  bool has_norm = true;  ///< layer norm after each residual (Vaswani et al. 2017)
  bool has_output_bias = true;
  bool is_of_sentence = false;  ///< one class for the mean of all positions
};

/// Ids: embedding, positions, layer=1/attention/W_Q, …, layer=1/norm_1/gain, …, layer=1/W_1, …, output/W,
/// output/b.
WeightTable weights_of(const TransformerSizes& sizes);

/// "layer=1/", as the names of that layer's weights begin.
std::string layer_name(std::size_t layer);

/// The weights of one layer.
void add_layer(WeightTable& table, const std::string& layer, const TransformerSizes& sizes);

/// The block of the lesson `transformer-block` from what its attention found, the norm after each residual.
template <class T>
Variable<T> block(Sublayers<T>& sublayers, const TransformerSizes& sizes, const Variable<T>& x,
                  const Attended<T>& attended, const std::string& layer);

template <class T>
struct TransformerRun {
  Variable<T> logits;                 ///< [batch·positions × classes] or [batch × classes]
  std::vector<Attended<T>> attended;  ///< of each layer
  HeadSizes sizes;
};

/// Dropout acts on the input and on what each sublayer adds.
template <class T>
TransformerRun<T> run(Tape<T>& tape, const Weights<T>& weights, const TransformerSizes& sizes,
                      const Rows& rows, double dropout_probability = 0, Random* random = nullptr);

}  // namespace attn::train
