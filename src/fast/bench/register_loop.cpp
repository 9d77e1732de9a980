// Compiled with -ffp-contract=fast: a product and the sum that it is added to become one instruction where
// the instruction set has it.
#include "fast/bench/baselines.hpp"
#include "fast/parallel.hpp"
#include "fast/simd/isa.hpp"

namespace attn::bench {

namespace {

/// Independent sequences of operations: enough to hide the latency of an instruction, and few enough for
/// sixteen registers.
constexpr std::size_t sequences = 12;

/// x ← 0.5 x + 0.5 in every lane of every sequence. Each starts with another x, so that the compiler removes
/// none. Returns their sum.
template <class T, std::size_t bytes>
[[gnu::always_inline]] inline T multiply_and_add(std::size_t steps) {
  using Lanes [[gnu::vector_size(bytes)]] = T;
  Lanes x[sequences];
  for (std::size_t sequence = 0; sequence < sequences; ++sequence)
    x[sequence] = Lanes{} + static_cast<T>(sequence + 2);
  const Lanes half = Lanes{} + T{0.5};
  for (std::size_t step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (std::size_t sequence = 0; sequence < sequences; ++sequence) x[sequence] = x[sequence] * half + half;
  T sum{};
  for (const Lanes& lanes : x)
    for (std::size_t lane = 0; lane < bytes / sizeof(T); ++lane) sum += lanes[lane];
  return sum;
}

template <class T>
struct Version {
  T (*run)(std::size_t steps);
  std::size_t bytes;  ///< of a register
};

template <class T>
T run_generic(std::size_t steps) {
  return multiply_and_add<T, 16>(steps);
}

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2,fma")]] T run_avx2(std::size_t steps) {
  return multiply_and_add<T, 32>(steps);
}

template <class T>
[[gnu::target("avx512f")]] T run_avx512(std::size_t steps) {
  return multiply_and_add<T, 64>(steps);
}

template <class T>
Version<T> version_in_use() {
  switch (simd::isa_in_use()) {
    case simd::Isa::avx512:
      return {run_avx512<T>, 64};
    case simd::Isa::avx2:
      return {run_avx2<T>, 32};
    default:
      return {run_generic<T>, 16};
  }
}
#else
template <class T>
Version<T> version_in_use() {
  return {run_generic<T>, 16};
}
#endif

}  // namespace

template <class T>
void RegisterLoop<T>::run() const {
  const auto threads = static_cast<std::size_t>(threads_);
  for_each_task(threads, threads_, [&](std::size_t) {
    volatile T sum = version_in_use<T>().run(steps_);
    static_cast<void>(sum);
  });
}

template <class T>
double RegisterLoop<T>::operations() const {
  const double lanes = static_cast<double>(version_in_use<T>().bytes / sizeof(T));
  return 2.0 * lanes * sequences * static_cast<double>(steps_) * threads_;
}

template class RegisterLoop<float>;
template class RegisterLoop<double>;

}  // namespace attn::bench
