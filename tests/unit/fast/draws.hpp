#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <type_traits>
#include <vector>

#include "attn/tensor.hpp"

/// From `low` to `high`, both included.
inline std::size_t pick(std::mt19937& random, std::size_t low, std::size_t high) {
  return low + random() % (high - low + 1);
}

inline bool one_in(std::mt19937& random, std::size_t count) {
  return pick(random, 1, count) == 1;
}

/// Normal numbers that float32 holds.
inline std::vector<double> normal_numbers(std::mt19937& random, std::size_t count, float deviation = 1.0F) {
  std::vector<double> numbers(count);
  std::normal_distribution<float> normal(0.0F, deviation);
  for (double& number : numbers) number = static_cast<double>(normal(random));
  return numbers;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& numbers) {
  std::vector<T> result;
  result.reserve(numbers.size());
  for (const double number : numbers) result.push_back(static_cast<T>(number));
  return result;
}

template <std::size_t N>
attn::Tensor<N> normal_tensor(const std::array<std::size_t, N>& shape, unsigned seed) {
  std::mt19937 random(seed);
  attn::Tensor<N> tensor(shape);
  const auto numbers = normal_numbers(random, tensor.size());
  std::copy(numbers.begin(), numbers.end(), tensor.begin());
  return tensor;
}

/// What rounding may change in results that are about 1.
template <class T>
constexpr double tolerance = std::is_same_v<T, double> ? 1e-13 : 1e-5;
