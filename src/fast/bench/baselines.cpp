#include "fast/bench/baselines.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "fast/gemm.hpp"
#include "fast/parallel.hpp"

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

template <class T>
double Baselines<T>::product_rate() {
  constexpr auto n = product_size;
  const Stopwatch watch;
  fast::multiply<T>(T{1}, {a_.data(), n, n}, {b_.data(), n, n}, c_.data());
  return 2.0 * n * n * n / watch.seconds();
}

template <class T>
double Baselines<T>::peak_rate() const {
  constexpr std::size_t steps = 4'000'000;
  const auto kernel = simd::for_isa_in_use([](auto isa) { return register_kernel<isa(), T>(); });
  const Stopwatch watch;
  for_each_task(static_cast<std::size_t>(threads_), threads_, [&](std::size_t) {
    volatile T sum = kernel.run(steps);
    static_cast<void>(sum);
  });
  return static_cast<double>(kernel.operations * steps) * threads_ / watch.seconds();
}

template class Baselines<float>;
template class Baselines<double>;

}  // namespace attn::bench
