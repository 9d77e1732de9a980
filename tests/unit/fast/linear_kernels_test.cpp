#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "attn/ops/cost_counter.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "fast/linear/kernels.hpp"
#include "tests/unit/fast/draws.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/exact_result.hpp"
#include "tests/unit/fast/same_bits.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using attn::linear_time::Call;
using attn::linear_time::chunk_size;
using attn::linear_time::Kernel;
using attn::linear_time::kernels;
using attn::linear_time::most_segments;
using attn::linear_time::segment_size;
using attn::linear_time::Sizes;

namespace {

/// A call. Its numbers are such that float32 holds them.
struct Problem {
  Sizes sizes;
  bool causal = false;
  std::vector<std::size_t> key_lengths{};
  std::vector<double> query{}, key{}, value{};
  bool are_features = false;

  std::string description() const {
    return fmt::format("{} samples, {} heads on {}, n_q {}, n_k {}, d_k {}, d_v {}{}, lengths {}",
                       sizes.samples, sizes.heads, sizes.kv_heads, sizes.n_q, sizes.n_k, sizes.d_k, sizes.d_v,
                       causal ? ", causal" : "", fmt::join(key_lengths, " "));
  }
};

/// `deviation` is that of queries and keys: the larger it is, the more features are next to 0.
Problem filled(Problem problem, unsigned seed, float deviation = 1.0F) {
  std::mt19937 random(seed);
  const Sizes& sizes = problem.sizes;
  const std::size_t keys = sizes.samples * sizes.kv_heads * sizes.n_k;
  problem.query = normal_numbers(random, sizes.samples * sizes.heads * sizes.n_q * sizes.d_k, deviation);
  problem.key = normal_numbers(random, keys * sizes.d_k, deviation);
  problem.value = normal_numbers(random, keys * sizes.d_v);
  return problem;
}

/// Any number of tokens, now and then next to the end of a chunk.
std::size_t random_length(std::mt19937& random) {
  if (one_in(random, 6)) return 1;
  if (one_in(random, 3)) return chunk_size * pick(random, 1, 3) + pick(random, 0, 2) - 1;
  return one_in(random, 2) ? pick(random, 2, 9) : pick(random, 2, 150);
}

std::size_t random_width(std::mt19937& random) {
  if (one_in(random, 4)) return std::size_t{1} << pick(random, 2, 7);
  return one_in(random, 2) ? pick(random, 1, 9) : pick(random, 10, 90);
}

Problem random_shapes(unsigned seed) {
  std::mt19937 random(seed);
  Problem problem;
  Sizes& sizes = problem.sizes;
  sizes.samples = pick(random, 1, 2);
  sizes.kv_heads = pick(random, 1, 2);
  sizes.heads = sizes.kv_heads * pick(random, 1, 3);
  sizes.n_q = random_length(random);
  sizes.n_k = one_in(random, 2) ? sizes.n_q : random_length(random);
  sizes.d_k = random_width(random);
  sizes.d_v = one_in(random, 2) ? sizes.d_k : random_width(random);
  problem.causal = one_in(random, 2);
  if (one_in(random, 3))
    for (std::size_t sample = 0; sample < sizes.samples; ++sample)
      problem.key_lengths.push_back(one_in(random, 5) ? 0 : pick(random, 1, sizes.n_k));
  return filled(problem, seed, one_in(random, 5) ? 20.0F : 1.0F);
}

/// All tensors begin `offset` numbers after an allocated address.
template <class T>
std::vector<T> run(const Kernel& kernel, const Problem& problem, int threads = 1, std::size_t offset = 0) {
  const auto moved = [&](const std::vector<double>& numbers) {
    std::vector<T> result = rounded<T>(numbers);
    result.insert(result.begin(), offset, T{0});
    return result;
  };
  const auto query = moved(problem.query), key = moved(problem.key), value = moved(problem.value);
  const Sizes& sizes = problem.sizes;
  std::vector<T> output(offset + sizes.samples * sizes.heads * sizes.n_q * sizes.d_v,
                        std::numeric_limits<T>::quiet_NaN());
  kernel.forward(Call<T>{.sizes = sizes,
                         .visible = {.causal = problem.causal, .key_lengths = problem.key_lengths},
                         .query = query.data() + offset,
                         .key = key.data() + offset,
                         .value = value.data() + offset,
                         .output = output.data() + offset,
                         .threads = threads,
                         .are_features = problem.are_features});
  output.erase(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(offset));
  return output;
}

const Kernel& plain() {
  return kernels().front();
}
const Kernel& simd() {
  return kernels().back();
}

template <class T>
double error(const std::vector<T>& actual, const std::vector<double>& expected) {
  return relative_error(actual, expected, largest(expected));
}

template <class T>
std::vector<double> numbers_of(const attn::Array<T, 2>& matrix) {
  return {matrix.begin(), matrix.end()};
}

}  // namespace

TEST_CASE("the operations of linear attention grow with the tokens, not with their square",
          "[linear_kernels]") {
  CHECK(attn::linear_time::operations({.heads = 2, .n_q = 3, .n_k = 5, .d_k = 7, .d_v = 11}) ==
        2 * (3 + 5) * 2 * 7 * 11);
}

TEST_CASE("kernel 1 of linear attention is what the lessons compute", "[linear_kernels]") {
  const std::size_t n = GENERATE(1, 9, 40);
  const auto Q = normal_tensor<2>({n, 5}, 1), K = normal_tensor<2>({n, 5}, 2),
             V = normal_tensor<2>({n, 3}, 3);
  const auto phi_Q = attn::elu_plus_one(Q), phi_K = attn::elu_plus_one(K);
  Problem problem = {.sizes = {.n_q = n, .n_k = n, .d_k = 5, .d_v = 3},
                     .query = numbers_of(Q),
                     .key = numbers_of(K),
                     .value = numbers_of(V)};
  attn::CostCounter counter;
  const auto all = attn::matmul(implied_weights(phi_Q, phi_K, attn::Mask<2>({n, n}, true)), V);
  CHECK(error(run<double>(plain(), problem), numbers_of(all)) <= 1e-13);
  problem.causal = true;
  const auto causal = lessons::causal_linear_attention(phi_Q, phi_K, V, counter);
  CHECK(error(run<double>(plain(), problem), numbers_of(causal)) <= 1e-13);
  const auto weighted = attn::matmul(implied_weights(phi_Q, phi_K, attn::causal_mask(n, n)), V);
  CHECK(error(run<double>(plain(), problem), numbers_of(weighted)) <= 1e-13);
}

TEMPLATE_TEST_CASE("linear attention in chunks equals kernel 1 over 600 random shapes", "[linear_kernels]",
                   float, double) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    const Problem problem = random_shapes(seed);
    INFO("seed " << seed << ": " << problem.description());
    const auto expected = run<double>(plain(), problem);
    for_each_isa([&] { CHECK(error(run<TestType>(simd(), problem), expected) <= tolerance<TestType>); });
  }
}

TEMPLATE_TEST_CASE("segments of a long sequence add up, whatever the number of threads", "[linear_kernels]",
                   float, double) {
  const std::size_t n = GENERATE(segment_size - 1, segment_size, segment_size + 1, 2 * segment_size + 49,
                                 most_segments * segment_size + 300);
  const bool causal = GENERATE(false, true), shared = GENERATE(false, true);
  Problem problem = {.sizes = {.heads = shared ? 2U : 1U, .n_q = n, .n_k = n, .d_k = 3, .d_v = 2},
                     .causal = causal};
  if (shared) problem.key_lengths = {n - 700};
  problem = filled(problem, static_cast<unsigned>(n));
  INFO(problem.description());
  const auto expected = run<double>(plain(), problem);
  for_each_isa([&] {
    const auto actual = run<TestType>(simd(), problem, 1);
    CHECK(error(actual, expected) <= tolerance<TestType>);
    CHECK(same_bits(run<TestType>(simd(), problem, 2), actual));
    CHECK(same_bits(run<TestType>(simd(), problem, 3), actual));
  });
}

TEMPLATE_TEST_CASE("linear attention of several heads has the same digits on 1, 2 and 3 threads",
                   "[linear_kernels]", float, double) {
  const bool causal = GENERATE(false, true);
  const auto problem = filled({.sizes = {.samples = 2,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .n_q = segment_size + 500,
                                         .n_k = 5000,
                                         .d_k = 9,
                                         .d_v = 5},
                               .causal = causal,
                               .key_lengths = {5000, 2500}},
                              1);
  const auto one = run<TestType>(simd(), problem, 1);
  CHECK(error(one, run<double>(plain(), problem)) <= tolerance<TestType>);
  CHECK(same_bits(run<TestType>(simd(), problem, 2), one));
  CHECK(same_bits(run<TestType>(simd(), problem, 3), one));
  CHECK(same_bits(run<TestType>(simd(), problem, 16), one));
}

TEST_CASE("a long sum in float32 stays as exact as a short one", "[linear_kernels]") {
  const std::size_t n = 300'000;
  auto problem =
      filled({.sizes = {.n_q = n, .n_k = n, .d_k = 2, .d_v = 2}, .causal = GENERATE(false, true)}, 1);
  for (double& x : problem.value) x = static_cast<double>(static_cast<float>(x + 1.0));
  const auto expected = run<double>(plain(), problem);
  CHECK(error(run<float>(plain(), problem), expected) > 5e-6);
  CHECK(error(run<float>(simd(), problem), expected) <= 1e-6);
}

TEMPLATE_TEST_CASE("a query that sees no key gets 0", "[linear_kernels]", float, double) {
  Problem problem = {.sizes = {.samples = 2, .n_q = 40, .n_k = 35, .d_k = 4, .d_v = 3},
                     .causal = GENERATE(false, true)};
  problem.key_lengths = {0, 35};
  problem = filled(problem, 1);
  for (const Kernel& kernel : kernels()) {
    const auto output = run<TestType>(kernel, problem);
    for (std::size_t i = 0; i < 40; ++i) CHECK(output[i * 3] == 0);
    for (std::size_t i = 0; i < 40; ++i) CHECK((output[(40 + i) * 3] == 0) == (problem.causal && i < 5));
  }
}

TEMPLATE_TEST_CASE("a NaN in a key reaches the queries that see it and no others", "[linear_kernels]", float,
                   double) {
  const std::size_t n = 100, bad = 41;
  Problem problem = {.sizes = {.n_q = n, .n_k = n, .d_k = 5, .d_v = 3}, .causal = GENERATE(false, true)};
  problem = filled(problem, 1);
  problem.key[bad * 5 + 2] = std::numeric_limits<double>::quiet_NaN();
  for_each_isa([&] {
    const auto output = run<TestType>(simd(), problem);
    for (std::size_t i = 0; i < n; ++i) {
      INFO(i);
      CHECK(std::isnan(output[i * 3]) == (!problem.causal || i >= bad));
    }
  });
}

TEMPLATE_TEST_CASE("linear attention reads and writes tensors at any address", "[linear_kernels]", float,
                   double) {
  const auto problem = filled({.sizes = {.n_q = 70, .n_k = 70, .d_k = 16, .d_v = 32}, .causal = true}, 1);
  for_each_isa(
      [&] { CHECK(same_bits(run<TestType>(simd(), problem, 1, 1), run<TestType>(simd(), problem))); });
}

TEMPLATE_TEST_CASE("features are used as they are where a call says so", "[linear_kernels]", float, double) {
  auto problem = filled({.sizes = {.heads = 2, .n_q = 70, .n_k = 70, .d_k = 5, .d_v = 3}}, 1);
  problem.causal = GENERATE(false, true);
  const auto expected = run<double>(plain(), problem);
  for (auto* numbers : {&problem.query, &problem.key})
    for (double& x : *numbers) x = x > 0.0 ? x + 1.0 : std::exp(x);
  problem.are_features = true;
  CHECK(error(run<double>(plain(), problem), expected) <= 1e-13);
  for_each_isa([&] { CHECK(error(run<TestType>(simd(), problem), expected) <= tolerance<TestType>); });
}

TEMPLATE_TEST_CASE("queries and keys whose features are 0 give 0", "[linear_kernels]", float, double) {
  auto problem = filled({.sizes = {.n_q = 60, .n_k = 60, .d_k = 4, .d_v = 3}}, 1);
  problem.causal = GENERATE(false, true);
  for (std::size_t i = 0; i < 4 * 30; ++i) problem.key[i] = -2000.0;
  for (std::size_t i = 4 * 50; i < 4 * 60; ++i) problem.query[i] = -2000.0;
  const auto expected = run<double>(plain(), problem);
  CHECK(expected[3 * 55] == 0.0);
  if (problem.causal) CHECK(expected[3 * 29] == 0.0);
  for_each_isa([&] { CHECK(error(run<TestType>(simd(), problem), expected) <= tolerance<TestType>); });
}
