#pragma once

#include "fast/bench/baselines.hpp"
#include "fast/simd/vector.hpp"

namespace attn::bench {

/// x ← 0.5 x + 0.5 in every lane of independent sequences: enough of them to hide the latency of an
/// instruction, and few enough for sixteen registers. Each starts with another x, so that the compiler
/// removes none. A run returns their sum.
template <simd::Isa isa, class T>
RegisterKernel<T> register_kernel() {
  using Vector = simd::Vector<T, simd::Architecture<isa>>;
  constexpr std::size_t sequences = 12;
  const auto run = [](std::size_t steps) {
    Vector x[sequences], sum(T{0});
    for (std::size_t s = 0; s < sequences; ++s) x[s] = Vector(static_cast<T>(s + 2));
    const Vector half(static_cast<T>(0.5));
    for (std::size_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
      for (std::size_t s = 0; s < sequences; ++s) x[s] = simd::multiply_add(x[s], half, half);
    for (const Vector& lanes : x) sum += lanes;
    return xsimd::hadd(sum);
  };
  return {run, 2 * sequences * Vector::size};
}

}  // namespace attn::bench
