#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lessons/backward/attention.hpp"
#include "lessons/backward/projections.hpp"

namespace lessons {

/// The task of the training: to say a sequence of that many symbols backwards.
constexpr std::size_t symbol_count = 7, positions_of_sequence = 6;

/// The one head of the model that learns it has queries, keys and values of that many numbers.
constexpr std::size_t d_k_of_model = 8, d_v_of_model = 8;

/// All that the model learns.
struct Parameters {
  Tensor<2> E;                  ///< [symbol×d_model], a vector for each symbol
  Tensor<2> P;                  ///< [position×d_model], a vector for each position
  ProjectionWeights attention;  ///< W_Q, W_K [d_model×d_k] and W_V [d_model×d_v]
  Tensor<2> W_out;              ///< [d_v×symbol]

  std::size_t d_model() const { return E.shape(1); }

  /// E, P, W_Q, W_K, W_V, W_out.
  std::array<const Tensor<2>*, 6> all() const;
  std::array<Tensor<2>*, 6> all();
};

/// Their names, in the same order.
const std::array<std::string, 6>& names_of_parameters();

/// How many numbers they are.
std::size_t count_of(const Parameters& parameters);

/// All numbers of the parameters in one row [1×count], so that one line of arithmetic changes all of them.
Tensor<2> as_one_row(const Parameters& parameters);

/// The row as parameters of these shapes. Throws std::invalid_argument, with both numbers, where it has
/// another length.
Parameters as_parameters(const Tensor<2>& row, const Parameters& shapes);

/// What the model makes of sequences.
struct Reading {
  Named X;                  ///< [sequence×position×d_model]
  Projections projected;    ///< Q, K, V
  Attention<3> attention;   ///< weights [sequence×query×key], output [sequence×query×d_v]
  Tensor<3> probabilities;  ///< [sequence×query×symbol]
};

/// Forward through the model for symbols [sequence×position]: `X`, the steps of `project` and of
/// `scaled_dot_product_attention`, `logits` and `probabilities`.
Reading read_symbols(Workbench& bench, const Parameters& parameters, const Integers<2>& symbols);

/// −log of the probability of each right symbol [sequence×query], the step `losses`. Throws
/// std::invalid_argument, with both shapes, where there is not a target [sequence×position] for each query.
Tensor<2> cross_entropy(Workbench& bench, const Tensor<3>& probabilities, const Integers<2>& targets);

/// The mean over all positions, the step `loss`.
double mean_loss(Workbench& bench, const Tensor<2>& losses);

struct LossAndGradient {
  double loss;
  Parameters gradient;  ///< of the loss, in the shape of the parameters
};

/// Forward and back again through the whole model. Sources: Rumelhart, Hinton & Williams 1986; for softmax
/// with cross-entropy, Bridle 1990.
LossAndGradient loss_and_gradient(Workbench& bench, const Parameters& parameters, const Integers<2>& symbols,
                                  const Integers<2>& targets);

/// Each sequence of symbols [sequence×position] backwards.
Integers<2> said_backwards(const Integers<2>& symbols);

/// How many of the targets [sequence×position] have the largest probability of their position.
std::size_t count_right(const Tensor<3>& probabilities, const Integers<2>& targets);

/// The functions above in NumPy.
std::vector<std::string> code_of_model();

}  // namespace lessons
