#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lessons/efficient.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The two layers that attention is compared with in "Attention Is All You Need" (Vaswani et al. 2017,
/// table 1), each as plain as it can be.

/// A recurrent layer (Elman 1990): h_t = tanh(x_t W_x + h_{t−1} W_h), h_0 = 0. X [n×d_in], W_x [d_in×d],
/// W_h [d×d] → the states h_1, …, h_n [n×d].
Tensor<2> recurrence(const Tensor<2>& X, const Tensor<2>& W_x, const Tensor<2>& W_h, CostCounter& counter);

/// A convolution along the tokens: y_i = Σ_o x_{i+o} W_o, where o goes from −(width − 1)/2 to (width − 1)/2
/// and there is nothing beyond the ends. X [n×d_in], W [width×d_in×d], width odd → [n×d].
Tensor<2> convolution(const Tensor<2>& X, const Tensor<3>& W, CostCounter& counter);

/// How long the sequence is and how many numbers a token has.
struct Size {
  std::size_t n, d;
};

/// What a layer took on one sequence.
struct LayerCost {
  attn::Cost cost;
  std::int64_t sequential_steps = 0;
  std::int64_t path_length = 0;  ///< between the first token and the last; 0 where nothing connects them
};

/// The layers whose cost is counted by running them, in the order of the lesson: "recurrence", "full" …
const std::vector<std::string_view>& counted_layers();

/// Runs layers on random numbers, under a mute trace, and remembers what was counted. The attention layers
/// are those of the lesson `efficient`; options are those of the lesson `complexity`.
class LayerCosts {
 public:
  explicit LayerCosts(Workbench& bench) : bench_(bench) {}

  /// The layer is one of them.
  const LayerCost& of(std::string_view layer, const Size& size);

  /// Whether it takes fewer multiply-adds than full attention.
  bool takes_less(std::string_view layer, const Size& size) {
    return of(layer, size).cost.multiply_adds < of("full", size).cost.multiply_adds;
  }

 private:
  LayerCost run(std::string_view layer, const Size& size);

  Workbench& bench_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, LayerCost> known_;
};

}  // namespace lessons
