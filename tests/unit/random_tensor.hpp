#pragma once

#include <array>
#include <random>

#include "attn/tensor.hpp"

/// Normal numbers, the same in every run.
template <class T, std::size_t N>
attn::Array<T, N> random_tensor(const std::array<std::size_t, N>& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<T> normal;
  attn::Array<T, N> tensor(shape);
  for (T& element : tensor) element = normal(generator);
  return tensor;
}

template <std::size_t N>
attn::Tensor<N> random_tensor(const std::array<std::size_t, N>& shape, unsigned seed) {
  return random_tensor<double, N>(shape, seed);
}
