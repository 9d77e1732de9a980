#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "fast/simd/isa.hpp"

namespace attn::bench {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline double seconds_of(const std::function<void()>& run) {
  const Stopwatch watch;
  run();
  return watch.seconds();
}

// Counts of allocated memory. A program that wants them replaces operator new and delete and reports each
// block here, as `lab/bench/allocations.cpp` does.

/// Blocks of malloc.
void count_allocation(void* block) noexcept;
void count_release(void* block) noexcept;

/// The largest growth of allocated memory since this object was made. One at a time.
class AllocationMeter {
 public:
  AllocationMeter();
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  /// In bytes; nothing in a program that reports no allocations.
  std::optional<double> growth() const;
};

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

/// The loop of RegisterLoop as compiled for one instruction set.
template <class T>
struct RegisterKernel {
  T (*run)(std::size_t steps);
  std::size_t operations;  ///< of a step
};

template <simd::Isa, class T>
RegisterKernel<T> register_kernel();

/// Fused multiply-adds on numbers that never leave the registers, on each of the threads, in the instruction
/// set that the kernels use: the peak rate of the processor. A set without the fused form multiplies and
/// adds.
template <class T>
class RegisterLoop {
 public:
  explicit RegisterLoop(int threads) : threads_(threads) {}
  void run() const;
  double operations() const { return static_cast<double>(kernel_.operations * steps) * threads_; }

 private:
  static constexpr std::size_t steps = 4'000'000;

  int threads_;
  RegisterKernel<T> kernel_ = simd::for_isa_in_use([](auto isa) { return register_kernel<isa(), T>(); });
};

/// The two rates that all kernels are compared with. Instantiated for float and double.
template <class T>
struct Baselines {
  explicit Baselines(int threads) : register_loop(threads) {}

  SquareProduct<T> product{};
  RegisterLoop<T> register_loop;
};

}  // namespace attn::bench
