#include "fast/bench/allocations.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace attn::bench {

namespace {

std::atomic<bool> is_reported = false;
std::atomic<bool> is_counting = false;

/// Bytes since the meter was made; negative where old blocks were freed.
std::atomic<std::ptrdiff_t> in_use = 0;

std::atomic<std::ptrdiff_t> peak = 0;

std::ptrdiff_t size_of(void* block) {
  return static_cast<std::ptrdiff_t>(malloc_usable_size(block));
}

}  // namespace

void count_allocation(void* block) noexcept {
  if (!is_reported) is_reported = true;
  if (!is_counting) return;
  const std::ptrdiff_t now = in_use += size_of(block);
  std::ptrdiff_t highest = peak;
  while (now > highest && !peak.compare_exchange_weak(highest, now)) {
  }
}

void count_release(void* block) noexcept {
  if (is_counting && block != nullptr) in_use -= size_of(block);
}

AllocationMeter::AllocationMeter() {
  in_use = peak = 0;
  is_counting = true;
}

AllocationMeter::~AllocationMeter() {
  is_counting = false;
}

std::optional<double> AllocationMeter::growth() const {
  if (!is_reported) return std::nullopt;
  return static_cast<double>(peak.load());
}

}  // namespace attn::bench
