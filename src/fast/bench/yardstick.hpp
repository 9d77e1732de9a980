#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// What the speed of a kernel is compared with. Instantiated for float and double.
namespace attn::bench {

/// The product of two square matrices through BLAS: what well-kept code reaches on this machine.
template <class T>
class SquareProduct {
 public:
  static constexpr std::size_t size = 2048;

  SquareProduct();
  void run();
  static constexpr double operations() { return 2.0 * size * size * size; }

 private:
  std::vector<T> a_, b_, c_;
};

/// Fused multiply-adds on numbers that never leave the registers, on each of the threads, in the instruction
/// set that the kernels use: what the processor can do at most. A set without the fused form multiplies and
/// adds.
template <class T>
class RegisterLoop {
 public:
  /// `steps` is how long a run is.
  explicit RegisterLoop(int threads, std::size_t steps = 4'000'000) : threads_(threads), steps_(steps) {}
  void run() const;
  double operations() const;

 private:
  int threads_;
  std::size_t steps_;
};

/// BLAS uses that many threads from here on.
void use_blas_threads(int threads);

/// The processor that OpenBLAS has chosen its kernels for: "SkylakeX".
std::string blas_core();

}  // namespace attn::bench
