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

/// The loop of the peak rate as compiled for one instruction set.
template <class T>
struct RegisterKernel {
  T (*run)(std::size_t steps);
  std::size_t operations;  ///< of a step
};

template <simd::Isa, class T>
RegisterKernel<T> register_kernel();

/// Rows and columns of the matrices whose product kernels are compared with.
inline constexpr std::size_t product_size = 2048;

/// The two rates that all kernels are compared with, in operations a second. Instantiated for float and
/// double.
template <class T>
class Baselines {
 public:
  explicit Baselines(int threads) : threads_(threads) {}

  /// Of the product of two square matrices through BLAS: that of well-optimised code on this machine.
  double product_rate();

  /// Of fused multiply-adds on numbers that never leave the registers, on each of the threads, in the
  /// instruction set that the kernels use: the peak rate of the processor. A set without the fused form
  /// multiplies and adds.
  double peak_rate() const;

 private:
  static constexpr std::size_t numbers = product_size * product_size;

  int threads_;
  std::vector<T> a_ = std::vector<T>(numbers, T{0.5}), b_ = std::vector<T>(numbers, T{0.25}),
                 c_ = std::vector<T>(numbers);
};

}  // namespace attn::bench
