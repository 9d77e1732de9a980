#pragma once

#include <array>
#include <random>

#include "attn/tensor.hpp"

/// Normal numbers, the same in every run.
template <class T, std::size_t N>
attn::Tensor<T, N> random_tensor(const std::array<std::size_t, N>& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<T> normal;
  attn::Tensor<T, N> tensor(shape);
  for (T& element : tensor) element = normal(generator);
  return tensor;
}
