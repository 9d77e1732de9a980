#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/exact_result.hpp"

using attn::exact::kernels;

namespace {

/// Longer than what a thread computes at a time.
ExactProblem long_problem(const attn::exact::Visibility& visible) {
  ExactProblem problem;
  problem.sizes = {.heads = 2, .kv_heads = 1, .n_q = 1101, .n_k = 1150, .d_k = 20, .d_v = 9};
  problem.visible = visible;
  problem.scale = 0.25;
  problem.draw(7);
  return problem;
}

template <class T>
std::vector<T> simd_output(const ExactProblem& problem) {
  return run_forward<T>(kernels().back(), problem).output;
}

}  // namespace

TEMPLATE_TEST_CASE("the SIMD kernel is right for sequences of several blocks of queries", "", float, double) {
  for (const attn::exact::Visibility& visible : {attn::exact::Visibility{},
                                                 {.causal = true},
                                                 {.causal = true, .window = 64},
                                                 {.window = 7},
                                                 {.window = 300, .key_lengths = {1000}}}) {
    const ExactProblem problem = long_problem(visible);
    const auto expected = run_forward<double>(kernels().front(), problem);
    for_each_isa([&] {
      const auto actual = run_forward<TestType>(kernels().back(), problem);
      CHECK(digits(forward_error(actual, expected)) >= required_digits<TestType>);
    });
  }
}

TEMPLATE_TEST_CASE("a later token changes no bit of the SIMD kernel's causal outputs before it", "", float,
                   double) {
  ExactProblem problem = long_problem({.causal = true});
  ExactProblem changed = problem;
  const std::size_t token = 777;
  const auto [heads, kv_heads, n_q, n_k, d_k, d_v] =
      std::tuple(problem.sizes.heads, problem.sizes.kv_heads, problem.sizes.n_q, problem.sizes.n_k,
                 problem.sizes.d_k, problem.sizes.d_v);
  const std::size_t query = token - (n_k - n_q);
  for (std::size_t i = token * d_k; i < changed.key.size(); ++i) changed.key[i] = 1000;
  for (std::size_t i = token * d_v; i < changed.value.size(); ++i) changed.value[i] = -5;
  REQUIRE(kv_heads == 1);
  for_each_isa([&] {
    const auto before = simd_output<TestType>(problem), after = simd_output<TestType>(changed);
    for (std::size_t head = 0; head < heads; ++head) {
      const auto first = static_cast<std::ptrdiff_t>(head * n_q * d_v);
      const auto count = static_cast<std::ptrdiff_t>(query * d_v);
      CHECK(std::equal(before.begin() + first, before.begin() + first + count, after.begin() + first));
      CHECK(before[head * n_q * d_v + query * d_v] != after[head * n_q * d_v + query * d_v]);
    }
  });
}

TEST_CASE("denormals count again once the SIMD kernel is done") {
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  for_each_isa([&] {
    simd_output<float>(long_problem({.window = 3}));
    CHECK(denormal * 2 > 0);
  });
}
