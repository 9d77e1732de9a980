#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "fast/visibility.hpp"
#include "tests/unit/central_difference.hpp"
#include "tests/unit/fast/exact_result.hpp"

using attn::Array;
using attn::exact::Kernel;
using attn::exact::kernels;
using attn::exact::Sizes;
using attn::exact::Visibility;
using attn::fast::Range;

namespace {

/// Sums of magnitudes where the gradients have sums: what rounding errors are relative to. Gradients may
/// cancel to nothing, as those of query and key do where only one key is seen.
struct Magnitudes {
  std::vector<double> d_query, d_key, d_value;
};

double magnitude_of_dot(const double* x, const double* y, std::size_t length) {
  return std::inner_product(x, x + length, y, 0.0, std::plus<>(),
                            [](double a, double b) { return std::abs(a * b); });
}

void add_magnitudes(double factor, const double* x, double* sum, std::size_t length) {
  for (std::size_t c = 0; c < length; ++c) sum[c] += std::abs(factor * x[c]);
}

/// Adds what one query of one head contributes; `row` and `kv_row` are its and the keys' first row among all.
void add_query(const ExactProblem& problem, const ExactResult<double>& result, std::size_t row,
               std::size_t kv_row, const Range& keys, Magnitudes& sums) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  const double* q = problem.query.data() + row * d_k;
  const double* d_output = problem.d_output.data() + row * d_v;
  const double mean = magnitude_of_dot(d_output, result.output.data() + row * d_v, d_v);
  for (std::size_t j = kv_row + keys.begin; j < kv_row + keys.end; ++j) {
    const double* k = problem.key.data() + j * d_k;
    const double score = problem.scale * std::inner_product(q, q + d_k, k, 0.0);
    const double weight = std::exp(score - result.log_sum_exp[row]);
    const double d_score =
        problem.scale * weight * (magnitude_of_dot(d_output, problem.value.data() + j * d_v, d_v) + mean);
    add_magnitudes(weight, d_output, sums.d_value.data() + j * d_v, d_v);
    add_magnitudes(d_score, k, sums.d_query.data() + row * d_k, d_k);
    add_magnitudes(d_score, q, sums.d_key.data() + j * d_k, d_k);
  }
}

Magnitudes magnitudes(const ExactProblem& problem, const ExactResult<double>& result) {
  const Sizes& sizes = problem.sizes;
  Magnitudes sums = {std::vector<double>(problem.query.size()), std::vector<double>(problem.key.size()),
                     std::vector<double>(problem.value.size())};
  for (std::size_t head = 0; head < sizes.samples * sizes.heads; ++head)
    for (std::size_t i = 0; i < sizes.n_q; ++i)
      add_query(problem, result, head * sizes.n_q + i, head * sizes.kv_heads / sizes.heads * sizes.n_k,
                visible_keys(sizes, problem.visible, head / sizes.heads, i), sums);
  return sums;
}

/// Relative to the largest element, or to a twentieth of the largest sum of magnitudes where that is more.
template <class T>
double gradient_error(const std::vector<T>& actual, const std::vector<double>& expected,
                      const std::vector<double>& magnitudes) {
  return relative_error(actual, expected, std::max(largest(expected), 0.05 * largest(magnitudes)));
}

std::vector<double> numbers(const nlohmann::json& list) {
  std::vector<double> result;
  for (const auto& number : list)
    result.push_back(number.is_null() ? -std::numeric_limits<double>::infinity() : number.get<double>());
  return result;
}

ExactProblem problem_of(const nlohmann::json& one) {
  ExactProblem problem;
  problem.sizes = {one["samples"], one["heads"], one["kv_heads"], one["n_q"],
                   one["n_k"],     one["d_k"],   one["d_v"]};
  problem.visible.causal = one["causal"];
  if (!one["window"].is_null()) problem.visible.window = one["window"].get<std::size_t>();
  problem.visible.key_lengths = one["key_lengths"].get<std::vector<std::size_t>>();
  problem.scale = one["scale"];
  problem.query = numbers(one["query"]);
  problem.key = numbers(one["key"]);
  problem.value = numbers(one["value"]);
  problem.d_output = numbers(one["d_output"]);
  return problem;
}

ExactResult<double> result_of(const nlohmann::json& one) {
  return {numbers(one["output"]), numbers(one["log_sum_exp"]), numbers(one["d_query"]), numbers(one["d_key"]),
          numbers(one["d_value"])};
}

Array<double, 2> as_tensor(const std::vector<double>& numbers) {
  Array<double, 2> tensor(std::array{std::size_t{1}, numbers.size()});
  std::copy(numbers.begin(), numbers.end(), tensor.begin());
  return tensor;
}

/// How far a gradient of kernel 1 is from central differences in the input that `input` names.
double deviation(const ExactProblem& problem, std::vector<double> ExactProblem::*input,
                 const std::vector<double>& gradient) {
  const auto output = [&](const Array<double, 2>& x) {
    ExactProblem moved = problem;
    (moved.*input).assign(x.begin(), x.end());
    return as_tensor(run_forward<double>(kernels().front(), moved).output);
  };
  return attn::deviation_entry_by_entry<2>(
      {output, as_tensor(problem.*input), as_tensor(problem.d_output), as_tensor(gradient), 1e-5});
}

/// The error of the gradients, the largest of the three.
template <class T>
double gradient_error(const ExactResult<T>& actual, const ExactResult<double>& expected,
                      const Magnitudes& sums) {
  return std::max({gradient_error(actual.d_query, expected.d_query, sums.d_query),
                   gradient_error(actual.d_key, expected.d_key, sums.d_key),
                   gradient_error(actual.d_value, expected.d_value, sums.d_value)});
}

}  // namespace

TEST_CASE("the gradients of plain loops agree with central differences", "[exact]") {
  ExactProblem problem;
  problem.sizes = {.samples = 2, .heads = 4, .kv_heads = 2, .n_q = 4, .n_k = 5, .d_k = 3, .d_v = 2};
  problem.visible = GENERATE(Visibility{}, Visibility{.causal = true, .key_lengths = {5, 2}},
                             Visibility{.window = 1, .key_lengths = {}});
  problem.scale = 0.7;
  problem.draw(1);
  const auto result = run<double>(kernels().front(), problem);
  CHECK(deviation(problem, &ExactProblem::query, result.d_query) <= 1e-8);
  CHECK(deviation(problem, &ExactProblem::key, result.d_key) <= 1e-8);
  CHECK(deviation(problem, &ExactProblem::value, result.d_value) <= 1e-8);
}

TEMPLATE_TEST_CASE("every kernel agrees with PyTorch, forward and backward", "[exact]", float, double) {
  std::ifstream file(ATTN_FIXTURES "/exact.json");
  for (const auto& one : nlohmann::json::parse(file)) {
    const ExactProblem problem = problem_of(one);
    const auto expected = result_of(one);
    const Magnitudes sums = magnitudes(problem, expected);
    for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
      INFO(name << ", n_q " << problem.sizes.n_q << ", n_k " << problem.sizes.n_k);
      const auto actual = run<TestType>(kernel, problem);
      CHECK(digits(forward_error(actual, expected)) >= required_digits<TestType>);
      CHECK(digits(gradient_error(actual, expected, sums)) >= required_digits<TestType>);
    });
  }
}

TEMPLATE_TEST_CASE("every kernel's gradients are those of plain loops in float64", "[exact]", float, double) {
  for (unsigned seed = 0; seed < random_problems; ++seed) {
    const ExactProblem problem = random_problem(seed);
    const auto expected = run<double>(kernels().front(), problem);
    const Magnitudes sums = magnitudes(problem, expected);
    for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
      INFO(name << ", " << problem.description);
      CHECK(digits(gradient_error(run<TestType>(kernel, problem), expected, sums)) >=
            required_digits<TestType>);
    });
  }
}

TEMPLATE_TEST_CASE("many tiles of keys and blocks of queries add up", "[exact]", float, double) {
  ExactProblem problem;
  problem.sizes = {.heads = 2, .n_q = 700, .n_k = 777, .d_k = 5, .d_v = 3};
  problem.visible = GENERATE(Visibility{}, Visibility{.causal = true, .key_lengths = {}},
                             Visibility{.causal = true, .window = 100, .key_lengths = {555}});
  problem.scale = 0.5;
  problem.draw(1);
  const auto expected = run<double>(kernels().front(), problem);
  const Magnitudes sums = magnitudes(problem, expected);
  for_each_version(problem.sizes, [&](const Kernel& kernel, const std::string& name) {
    INFO(name);
    const auto actual = run<TestType>(kernel, problem);
    CHECK(digits(forward_error(actual, expected)) >= required_digits<TestType>);
    CHECK(digits(gradient_error(actual, expected, sums)) >= required_digits<TestType>);
  });
}
