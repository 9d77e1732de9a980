#pragma once

#include <cstddef>
#include <vector>

namespace attn::bench {

/// The product of two square matrices through BLAS: the rate of well-optimised code on this machine.
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
/// set that the kernels use: the peak rate of the processor. A set without the fused form multiplies and
/// adds.
template <class T>
class RegisterLoop {
 public:
  /// `steps` is the length of a run.
  explicit RegisterLoop(int threads, std::size_t steps = 4'000'000) : threads_(threads), steps_(steps) {}
  void run() const;
  double operations() const;

 private:
  int threads_;
  std::size_t steps_;
};

/// The two rates that all kernels are compared with. Instantiated for float and double.
template <class T>
struct Baselines {
  explicit Baselines(int threads) : register_loop(threads) {}

  SquareProduct<T> product{};
  RegisterLoop<T> register_loop;
};

}  // namespace attn::bench
