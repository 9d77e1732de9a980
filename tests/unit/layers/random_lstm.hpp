#pragma once

#include "attn/layers/lstm.hpp"
#include "tests/unit/random_tensor.hpp"

/// Weights with biases that are not 0, the same in every run.
attn::LstmWeights random_lstm(std::size_t d_in, std::size_t hidden, unsigned seed) {
  return {random_tensor<2>({4 * hidden, d_in}, seed), random_tensor<2>({4 * hidden, hidden}, seed + 1),
          random_tensor<1>({4 * hidden}, seed + 2), random_tensor<1>({4 * hidden}, seed + 3)};
}
