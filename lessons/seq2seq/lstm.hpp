#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/ops/lstm.hpp"
#include "lessons/workbench/workbench.hpp"
#include "trace/recurrence.hpp"

namespace lessons {

/// The inputs `W_ih` (as `W_ih` says), `W_hh`, `b_ih`, `b_hh`, drawn in that order.
attn::LstmWeights draw_lstm(Workbench& bench, const attn::About& W_ih, std::size_t d_in, std::size_t hidden);

/// What goes from one step of an LSTM to the next, [batch×n×hidden] each.
struct LstmState {
  Tensor<3> h;  ///< the state that others see
  Tensor<3> c;  ///< the memory
};

/// How a page speaks of an LSTM.
struct LstmWords {
  std::string axis;                 ///< that of the words that it reads
  std::string input;                ///< "xₜ"
  std::string before;               ///< the state before, "hₜ₋₁"
  std::string memory_before;        ///< "cₜ₋₁"
  std::vector<std::string> inputs;  ///< ids, first that of the words
  struct {
    std::string i{}, f{}, g{}, o{}, c{}, h{};
  } notes{};                                       ///< what to notice in each tensor
  std::vector<std::string> mistakes_in_padding{};  ///< ids of those that go on computing where <pad> stands
};

/// One step of a long short-term memory, from `i` to `h`: x [batch×n×d_in] and the state before
/// [batch×n×hidden] give the state after. A recurrence calls it with n = 1; with the n states of a whole
/// sentence before it, it makes all steps again side by side. Where `is_real` [batch×n×1] is false all gates
/// are 0, and so are the state and the memory after.
LstmState lstm_cell(Workbench& bench, const Tensor<3>& x, const LstmState& before,
                    const attn::LstmWeights& weights, const LstmWords& words,
                    const std::optional<Mask<3>>& is_real = std::nullopt);

/// Says how the entries of the whole tensors of a cell come about. `x`, `h_before` and `c_before` work out
/// the entries [batch, t, k] of what the cell reads at t and of the state and memory before; one that is no
/// entry is 0. Where there are `lengths`, the rows after those of a sample are 0.
void work_out_lstm(attn::Recurrence& recurrence, const attn::LstmWeights& weights, const attn::WorkedOut& x,
                   const attn::WorkedOut& h_before, const attn::WorkedOut& c_before,
                   const std::vector<std::size_t>& lengths = {});

enum class Direction { forward, reverse };

/// All steps over a sentence, [batch×n×hidden] each; row t belongs to word t in both directions.
struct Lstm {
  Tensor<3> i, f, g, o, c, h;

  /// The state and the memory after the last word that was read, [batch×hidden] each.
  Tensor<2> last_h, last_c;
};

/// Runs the cell along X [batch×n×d_in], from a state of zeros, in reverse from the last word to the first.
/// Sample b has `lengths[b]` real words; what follows is padding, whose rows are zeros (PyTorch's packed
/// sequences).
Lstm run_lstm(Workbench& bench, const Tensor<3>& X, const std::vector<std::size_t>& lengths,
              const attn::LstmWeights& weights, Direction direction, const LstmWords& words);

/// How much of what each step wrote into the memory is left at the end: the product of the forget gates
/// f [batch×n×hidden] of all steps after it; zeros for padding.
Tensor<3> kept_to_the_end(const Tensor<3>& f, const std::vector<std::size_t>& lengths, Direction direction);

}  // namespace lessons
