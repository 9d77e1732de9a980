#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <stdexcept>

#include "fast/exact/kernels.hpp"
#include "tests/unit/fast/draws.hpp"
#include "tests/unit/fast/each_isa.hpp"
#include "tests/unit/fast/exact_result.hpp"
#include "tests/unit/fast/same_bits.hpp"
#include "tests/unit/lessons/efficient/attention.hpp"

using attn::exact::Call;
using attn::exact::Kernel;
using attn::exact::kernels;
using attn::exact::Sizes;
using attn::fast::BlockPattern;
using attn::fast::strided_blocks;
using Catch::Contains;

namespace {

using Lists = std::vector<std::vector<std::size_t>>;

std::size_t blocks(std::size_t length, std::size_t block) {
  return (length + block - 1) / block;
}

/// Any blocks: none of them, one, or many.
BlockPattern random_pattern(const Sizes& sizes, unsigned seed) {
  std::mt19937 random(seed);
  BlockPattern pattern;
  pattern.block = random() % 3 == 0 ? 16U << random() % 4 : 1 + random() % 90;
  const auto share = random() % 5;
  for (std::size_t i = 0; i < blocks(sizes.n_q, pattern.block); ++i) {
    pattern.key_blocks.emplace_back();
    for (std::size_t j = 0; j < blocks(sizes.n_k, pattern.block); ++j)
      if (random() % 4 < share) pattern.key_blocks.back().push_back(j);
  }
  return pattern;
}

BlockPattern full_pattern(const Sizes& sizes, std::size_t block) {
  return strided_blocks(sizes.n_q, sizes.n_k, block, 0, 1);
}

template <class T>
ExactResult<T> run(const Kernel& kernel, const ExactProblem& problem, const BlockPattern& pattern,
                   int threads = 1) {
  const auto query = rounded<T>(problem.query), key = rounded<T>(problem.key),
             value = rounded<T>(problem.value);
  ExactResult<T> result;
  const auto nan = std::numeric_limits<T>::quiet_NaN();
  result.output.assign(problem.d_output.size(), nan);
  result.log_sum_exp.assign(query.size() / problem.sizes.d_k, nan);
  kernel.forward(Call<T>{problem.sizes, problem.visible, static_cast<T>(problem.scale), query.data(),
                         key.data(), value.data(), result.output.data(), result.log_sum_exp.data(), threads,
                         &pattern});
  return result;
}

const Kernel& plain() {
  return kernels().front();
}
const Kernel& simd() {
  return kernels().back();
}

}  // namespace

TEST_CASE("a kernel of block-sparse attention says which sizes it takes", "[sparse_kernels]") {
  CHECK(simd().fits({.d_k = 256, .d_v = 256}));
  CHECK_FALSE(simd().fits({.d_k = 257, .d_v = 1}));
  CHECK(plain().fits({.d_k = 257, .d_v = 1}));
  for (const Kernel& kernel : kernels())
    CHECK(kernel.takes_pattern == (kernel.name == "plain" || kernel.name == "simd"));
}

TEST_CASE("the strided pattern keeps near blocks and every stride-th one", "[sparse_kernels]") {
  const auto pattern = strided_blocks(9, 14, 2, 2, 3);
  CHECK(pattern.block == 2);
  CHECK(
      (pattern.key_blocks == Lists{{0, 1, 3, 6}, {0, 1, 2, 4}, {1, 2, 3, 5}, {0, 2, 3, 4, 6}, {1, 3, 4, 5}}));
}

TEST_CASE("blocks and strides of 0 make no pattern", "[sparse_kernels]") {
  CHECK_THROWS_WITH(strided_blocks(1, 1, 0, 1, 1), Contains("[strided_blocks] a block of 0"));
  CHECK_THROWS_WITH(strided_blocks(1, 1, 1, 1, 0), Contains("[strided_blocks] a stride of 0"));
}

TEST_CASE("a pattern for other lengths is refused", "[sparse_kernels]") {
  ExactProblem problem;
  problem.sizes = {.n_q = 5, .n_k = 3, .d_k = 1, .d_v = 1};
  problem.draw(1);
  for (const Kernel& kernel : {plain(), simd()}) {
    CHECK_THROWS_WITH(run<float>(kernel, problem, {2, {{0}, {0}}}),
                      Contains("2 lists for 3 blocks of queries"));
    CHECK_THROWS_WITH(run<float>(kernel, problem, {2, {{0}, {0, 2}, {0}}}), Contains("key block 2 of 2"));
    CHECK_THROWS_WITH(run<float>(kernel, problem, {2, {{0}, {1, 0}, {0}}}), Contains("does not rise"));
    CHECK_THROWS_WITH(run<float>(kernel, problem, {0, {}}), Contains("a block of 0"));
  }
}

TEST_CASE("kernel 1 of block-sparse attention is what the lessons compute", "[sparse_kernels]") {
  ExactProblem problem;
  problem.sizes = {.n_q = 11, .n_k = 11, .d_k = 4, .d_v = 3};
  problem.scale = 0.5;
  problem.draw(1);
  const BlockPattern pattern = {3, {{0, 3}, {1}, {}, {0, 2, 3}}};
  attn::KeyLists keys(11);
  for (std::size_t i = 0; i < 11; ++i)
    for (const std::size_t block : pattern.key_blocks[i / 3])
      for (std::size_t j = 3 * block; j < std::min<std::size_t>(3 * block + 3, 11); ++j) keys[i].push_back(j);
  const auto matrix = [](const std::vector<double>& numbers, std::size_t columns) {
    attn::Array<double, 2> result({numbers.size() / columns, columns});
    std::copy(numbers.begin(), numbers.end(), result.begin());
    return result;
  };
  attn::CostCounter counter;
  const auto sparse = lessons::sparse_attention(matrix(problem.query, 4), matrix(problem.key, 4),
                                                matrix(problem.value, 3), keys, counter);
  const std::vector<double> expected(sparse.begin(), sparse.end());
  CHECK(relative_error(run<double>(plain(), problem, pattern).output, expected, 1.0) <= 1e-14);
}

TEMPLATE_TEST_CASE("block-sparse attention equals kernel 1 over 600 random problems", "[sparse_kernels]",
                   float, double) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    const ExactProblem problem = random_problem(seed);
    const BlockPattern pattern = random_pattern(problem.sizes, seed);
    INFO(problem.description << ", blocks of " << pattern.block);
    const auto expected = run<double>(plain(), problem, pattern);
    for_each_isa([&] {
      CHECK(forward_error(run<TestType>(simd(), problem, pattern), expected) <= tolerance<TestType>);
    });
  }
}

TEMPLATE_TEST_CASE("with all blocks it is exact attention", "[sparse_kernels]", float, double) {
  const auto& exact = attn::exact::kernels().front();
  for (unsigned seed = 0; seed < 50; ++seed) {
    const ExactProblem problem = random_problem(seed);
    INFO(problem.description);
    const auto expected = run_forward<double>(exact, problem);
    for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{2000}}) {
      const auto actual = run<TestType>(simd(), problem, full_pattern(problem.sizes, block));
      CHECK(forward_error(actual, expected) <= tolerance<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("block-sparse attention has the same digits on 1, 2 and 3 threads", "[sparse_kernels]",
                   float, double) {
  ExactProblem problem;
  problem.sizes = {.samples = 2, .heads = 4, .kv_heads = 2, .n_q = 700, .n_k = 900, .d_k = 9, .d_v = 5};
  problem.visible.causal = GENERATE(false, true);
  problem.draw(1);
  const std::size_t block = GENERATE(64, 600);
  const auto pattern = strided_blocks(700, 900, block, 2, 3);
  const auto one = run<TestType>(simd(), problem, pattern, 1);
  for (const int threads : {2, 3}) {
    const auto several = run<TestType>(simd(), problem, pattern, threads);
    CHECK(same_bits(several.output, one.output));
    CHECK(same_bits(several.log_sum_exp, one.log_sum_exp));
  }
}
