#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <type_traits>

#include "fast/visibility.hpp"
#include "tests/unit/fast/exact_result.hpp"
#include "tests/unit/fast/same_bits.hpp"

using attn::exact::Call;
using attn::exact::fastest;
using attn::exact::Kernel;
using attn::exact::kernels;
using attn::exact::Sizes;
using attn::exact::Visibility;
using attn::fast::Range;
using attn::fast::visible_keys;

namespace {

bool sees(const Sizes& sizes, const Visibility& visible, std::size_t sample, std::size_t query,
          std::size_t key) {
  const auto distance = static_cast<double>(query) + static_cast<double>(sizes.n_k) -
                        static_cast<double>(sizes.n_q) - static_cast<double>(key);
  if (visible.causal && distance < 0) return false;
  if (visible.window && std::abs(distance) > static_cast<double>(*visible.window)) return false;
  return visible.key_lengths.empty() || key < visible.key_lengths[sample];
}

template <class T>
bool same_bits(const ExactResult<T>& a, const ExactResult<T>& b) {
  return ::same_bits(a.output, b.output) && ::same_bits(a.log_sum_exp, b.log_sum_exp) &&
         ::same_bits(a.d_query, b.d_query) && ::same_bits(a.d_key, b.d_key) &&
         ::same_bits(a.d_value, b.d_value);
}

template <class T>
bool all_zero(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](T x) { return x == T{0}; });
}

}  // namespace

TEST_CASE("axes may be empty, forward and backward", "[exact_kernels]") {
  for (std::size_t Sizes::*axis : {&Sizes::n_q, &Sizes::n_k, &Sizes::d_k, &Sizes::d_v}) {
    ExactProblem problem;
    problem.sizes = {.samples = 2, .heads = 2, .kv_heads = 1, .n_q = 5, .n_k = 7, .d_k = 4, .d_v = 3};
    problem.sizes.*axis = 0;
    problem.draw(1);
    const auto expected = run<double>(kernels().front(), problem);
    for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
      INFO(name);
      const auto actual = run<double>(kernel, problem);
      CHECK(relative_error(actual.output, expected.output, 1.0) < 1e-13);
      CHECK(relative_error(actual.log_sum_exp, expected.log_sum_exp, 1.0) < 1e-13);
      CHECK(relative_error(actual.d_query, expected.d_query, 1.0) < 1e-13);
      CHECK(relative_error(actual.d_key, expected.d_key, 1.0) < 1e-13);
      CHECK(relative_error(actual.d_value, expected.d_value, 1.0) < 1e-13);
    });
  }
}

TEST_CASE("the last kernel that fits is the fastest", "[exact]") {
  Sizes sizes = {.n_q = 1000, .n_k = 1000, .d_k = 64, .d_v = 64};
  CHECK(fastest(sizes).name == "simd");
  sizes.d_v = 257;
  CHECK(fastest(sizes).name == "tiled");
}

TEST_CASE("the keys that a query sees are those that the definition names", "[exact]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const ExactProblem problem = random_problem(seed);
    INFO(problem.description);
    const Sizes& sizes = problem.sizes;
    std::size_t wrong = 0;
    for (std::size_t sample = 0; sample < sizes.samples; ++sample)
      for (std::size_t query = 0; query < sizes.n_q; ++query) {
        const Range keys = visible_keys(sizes, problem.visible, sample, query);
        for (std::size_t key = 0; key < sizes.n_k; ++key)
          if ((keys.begin <= key && key < keys.end) != sees(sizes, problem.visible, sample, query, key))
            ++wrong;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a block of queries sees what its queries see", "[exact]") {
  const Sizes sizes = {.n_q = 9, .n_k = 12};
  const Visibility visible = {.causal = true, .window = 3, .key_lengths = {8}};
  const Range keys = visible_keys(sizes, visible, 0, Range{1, 3});
  CHECK(keys.begin == 1);
  CHECK(keys.end == 6);
  CHECK(visible_keys(sizes, visible, 0, Range{8, 9}).empty());
}

TEMPLATE_TEST_CASE("every kernel computes what plain loops in float64 do", "[exact]", float, double) {
  for (unsigned seed = 0; seed < random_problems; ++seed) {
    const ExactProblem problem = random_problem(seed);
    const auto expected = run_forward<double>(kernels().front(), problem);
    for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
      INFO(name << ", " << problem.description);
      CHECK(digits(forward_error(run_forward<TestType>(kernel, problem), expected)) >=
            required_digits<TestType>);
    });
  }
}

TEMPLATE_TEST_CASE("the number of threads changes no bit of any kernel's results", "[exact]", float, double) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const ExactProblem problem = random_problem(seed);
    for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
      INFO(name << ", " << problem.description);
      const auto alone = run<TestType>(kernel, problem, 1);
      CHECK(same_bits(run<TestType>(kernel, problem, 2), alone));
      CHECK(same_bits(run<TestType>(kernel, problem, 3), alone));
    });
  }
}

TEMPLATE_TEST_CASE("where no key is to be seen, outputs and gradients are zero", "[exact]", float, double) {
  ExactProblem problem;
  problem.sizes = {.samples = 2, .heads = 2, .n_q = 7, .n_k = 4, .d_k = 3, .d_v = 5};
  const bool is_padding = GENERATE(true, false);
  problem.visible = {.causal = true, .key_lengths = {}};
  if (is_padding) problem.visible = {.key_lengths = {0, 0}};
  problem.draw(1);
  for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
    INFO(name);
    const auto result = run<TestType>(kernel, problem);
    for (std::size_t i = 0; i < result.log_sum_exp.size(); ++i) {
      if (!is_padding && i % 7 >= 3) continue;  // the first three of seven queries stand before the first key
      CHECK(result.log_sum_exp[i] == -std::numeric_limits<TestType>::infinity());
      for (std::size_t c = 0; c < 5; ++c) CHECK(result.output[i * 5 + c] == 0);
      for (std::size_t c = 0; c < 3; ++c) CHECK(result.d_query[i * 3 + c] == 0);
    }
    if (is_padding) CHECK((all_zero(result.d_key) && all_zero(result.d_value)));
  });
}

TEMPLATE_TEST_CASE("the log-sum-exp may be left out", "[exact]", float, double) {
  const std::vector<TestType> ones(30, TestType{1});
  for_each_version({.n_q = 2, .n_k = 10, .d_k = 3, .d_v = 3},
                   [&](const Kernel& kernel, const std::string& name) {
                     INFO(name);
                     std::vector<TestType> output(6);
                     kernel.forward(Call<TestType>{.sizes = {.n_q = 2, .n_k = 10, .d_k = 3, .d_v = 3},
                                                   .query = ones.data(),
                                                   .key = ones.data(),
                                                   .value = ones.data(),
                                                   .output = output.data()});
                     for (const TestType x : output) CHECK(x == Approx(1));
                   });
}
