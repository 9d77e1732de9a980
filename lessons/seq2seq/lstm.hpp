#pragma once

#include <optional>
#include <vector>

#include "attn/ops/lstm.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// What goes from one step of an LSTM to the next, [batch×n×hidden] each.
struct LstmState {
  Tensor<3> h;  ///< the state that others see
  Tensor<3> c;  ///< the memory
};

/// One step of a long short-term memory: x [batch×n×d_in] and the state before [batch×n×hidden] give the
/// state after, in the format of the workbench. Where `is_real` [batch×n×1] is false all gates are 0, and so
/// are the state and the memory after.
LstmState lstm_cell(Workbench& mute, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights, const std::optional<Mask<3>>& is_real = std::nullopt);

enum class Direction { forward, reverse };

/// All steps over a sentence, [batch×n×hidden] each; row t belongs to word t in both directions.
struct Lstm {
  Tensor<3> h, c;

  /// The state and the memory after the last word that was read, [batch×hidden] each.
  Tensor<2> last_h, last_c;
};

/// Runs the cell along X [batch×n×d_in], from a state of zeros, in reverse from the last word to the first.
/// Sample b has `lengths[b]` real words; what follows is padding, whose rows are zeros (PyTorch's packed
/// sequences).
Lstm run_lstm(Workbench& mute, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
              const attn::LstmWeights& weights, Direction direction);

}  // namespace lessons
