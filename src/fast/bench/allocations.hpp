#pragma once

#include <optional>

/// Counts of allocated memory. A program that wants them replaces operator new and delete and reports each
/// block here, as `lab/bench/allocations.cpp` does.
namespace attn::bench {

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

}  // namespace attn::bench
