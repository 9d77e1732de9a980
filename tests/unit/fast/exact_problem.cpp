#include "tests/unit/fast/exact_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/fast/draws.hpp"

using attn::exact::Sizes;
using attn::exact::Visibility;

namespace {

std::size_t random_length(std::mt19937& random) {
  if (one_in(random, 6)) return 1;
  if (one_in(random, 40)) return pick(random, 250, 300);
  if (one_in(random, 5)) return pick(random, 60, 140);
  return one_in(random, 2) ? pick(random, 2, 9) : pick(random, 2, 70);
}

std::size_t random_width(std::mt19937& random) {
  if (one_in(random, 4)) return std::size_t{1} << pick(random, 2, 8);
  if (one_in(random, 8)) return pick(random, 120, 256);
  return one_in(random, 2) ? pick(random, 1, 9) : pick(random, 10, 80);
}

Sizes random_sizes(std::mt19937& random) {
  Sizes sizes;
  sizes.samples = pick(random, 1, 2);
  sizes.kv_heads = pick(random, 1, 2);
  sizes.heads = sizes.kv_heads * pick(random, 1, 3);
  sizes.n_q = random_length(random);
  sizes.n_k = one_in(random, 2) ? sizes.n_q : random_length(random);
  sizes.d_k = random_width(random);
  sizes.d_v = one_in(random, 2) ? sizes.d_k : random_width(random);
  return sizes;
}

Visibility random_visibility(std::mt19937& random, const Sizes& sizes) {
  Visibility visible;
  visible.causal = one_in(random, 2);
  if (one_in(random, 3)) visible.window = one_in(random, 3) ? 0 : pick(random, 1, sizes.n_k);
  if (one_in(random, 3))
    for (std::size_t sample = 0; sample < sizes.samples; ++sample)
      visible.key_lengths.push_back(one_in(random, 5) ? 0 : pick(random, 1, sizes.n_k));
  return visible;
}

void fill(ExactProblem& problem, std::mt19937& random) {
  const Sizes& sizes = problem.sizes;
  const std::size_t queries = sizes.samples * sizes.heads * sizes.n_q;
  const std::size_t keys = sizes.samples * sizes.kv_heads * sizes.n_k;
  problem.query = normal_numbers(random, queries * sizes.d_k);
  problem.key = normal_numbers(random, keys * sizes.d_k);
  problem.value = normal_numbers(random, keys * sizes.d_v);
  problem.d_output = normal_numbers(random, queries * sizes.d_v);
}

/// Scores from −10⁴ to 10⁴ that are equal or at least 50 apart: closer ones would turn the rounding of a
/// score into a much larger change of the weights.
void make_scores_large(ExactProblem& problem, std::mt19937& random) {
  problem.scale = 0.125;
  for (double& x : problem.query) x = 0.0;
  for (double& x : problem.key) x = 0.0;
  const std::size_t d_k = problem.sizes.d_k;
  for (std::size_t i = 0; i < problem.query.size(); i += d_k)
    problem.query[i + d_k / 2] = one_in(random, 2) ? 8.0 : -4.0;
  for (std::size_t j = 0; j < problem.key.size(); j += d_k)
    problem.key[j + d_k / 2] = 100.0 * (static_cast<double>(pick(random, 0, 200)) - 100.0);
}

/// Scores that rise by the same step from the first key to the last, by 120 in all: relative to a later
/// maximum the weights of early keys go through all denormals to 0.
void make_scores_rise(ExactProblem& problem) {
  problem.scale = 0.125;
  const std::size_t d_k = problem.sizes.d_k, n_k = problem.sizes.n_k;
  const double step = std::max(0.25, std::round(4.0 * 120.0 / static_cast<double>(n_k)) / 4.0);
  for (double& x : problem.query) x = 0.0;
  for (double& x : problem.key) x = 0.0;
  for (std::size_t i = 0; i < problem.query.size(); i += d_k) problem.query[i] = 8.0;
  for (std::size_t j = 0; j < problem.key.size(); j += d_k)
    problem.key[j] = step * static_cast<double>(j / d_k % n_k);
}

/// A third of the inputs becomes denormal in float32 or in float64.
void make_denormal(std::vector<double>& numbers, std::mt19937& random) {
  for (double& x : numbers)
    if (one_in(random, 3))
      x = one_in(random, 2) ? static_cast<double>(static_cast<float>(x * 1e-40)) : x * 1e-310;
}

std::string change_numbers(ExactProblem& problem, std::mt19937& random) {
  switch (pick(random, 0, 9)) {
    case 0:
      make_scores_large(problem, random);
      return "scores of ±10⁴";
    case 1:
      make_scores_rise(problem);
      return "rising scores";
    case 2:
      for (auto* numbers : {&problem.query, &problem.key, &problem.value, &problem.d_output})
        make_denormal(*numbers, random);
      return "denormal inputs";
    case 3:
      problem.scale *= 4.0;
      return "weights far from equal";
    default:
      return "normal inputs";
  }
}

std::string description(const ExactProblem& problem, const std::string& numbers) {
  const Sizes& sizes = problem.sizes;
  const Visibility& visible = problem.visible;
  return fmt::format(
      "{} samples, {} heads on {}, n_q {}, n_k {}, d_k {}, d_v {}{}, window {}, lengths {}, {}",
      sizes.samples, sizes.heads, sizes.kv_heads, sizes.n_q, sizes.n_k, sizes.d_k, sizes.d_v,
      visible.causal ? ", causal" : "", visible.window ? std::to_string(*visible.window) : "none",
      fmt::join(visible.key_lengths, " "), numbers);
}

}  // namespace

void ExactProblem::draw(unsigned seed) {
  std::mt19937 random(seed);
  fill(*this, random);
}

ExactProblem random_problem(unsigned seed) {
  std::mt19937 random(seed);
  ExactProblem problem;
  problem.sizes = random_sizes(random);
  problem.visible = random_visibility(random, problem.sizes);
  problem.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.sizes.d_k)));
  fill(problem, random);
  const std::string numbers = change_numbers(problem, random);
  problem.description = fmt::format("seed {}: {}", seed, description(problem, numbers));
  return problem;
}
