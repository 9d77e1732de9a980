#include "tests/unit/fast/ranks/random_ring.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/unit/numbers.hpp"

template <class T>
attn::exact::Call<T> call_of(const attn::fast::RingProblem& problem, attn::fast::RankBlock<T>& whole) {
  return {.sizes = problem.sizes,
          .visible = problem.visible,
          .scale = static_cast<T>(problem.scale),
          .query = whole.query.data(),
          .key = whole.key.data(),
          .value = whole.value.data(),
          .output = whole.output.data(),
          .log_sum_exp = whole.log_sum_exp.data(),
          .d_output = whole.d_output.data(),
          .d_query = whole.d_query.data(),
          .d_key = whole.d_key.data(),
          .d_value = whole.d_value.data()};
}

namespace {

using attn::Array;
using attn::fast::Order;
using attn::fast::Range;
using attn::fast::RankBlock;
using attn::fast::RingProblem;

RingProblem random_problem(std::mt19937& generator) {
  const auto among = [&](std::size_t least, std::size_t most) {
    return least + generator() % (most - least + 1);
  };
  const std::size_t n = among(1, 40), kv_heads = among(1, 3);
  RingProblem problem = {.sizes = {.samples = among(1, 3),
                                   .heads = kv_heads * among(1, 3),
                                   .kv_heads = kv_heads,
                                   .n_q = n,
                                   .n_k = n,
                                   .d_k = among(1, 20),
                                   .d_v = among(1, 20)}};
  problem.visible.causal = generator() % 2 == 0;
  if (generator() % 3 == 0) problem.visible.window = among(0, n);
  if (generator() % 3 == 0)
    for (std::size_t sample = 0; sample < problem.sizes.samples; ++sample)
      problem.visible.key_lengths.push_back(among(0, n));
  problem.order = attn::fast::all_orders()[generator() % 3];
  problem.scale = 1.0 / std::sqrt(static_cast<double>(problem.sizes.d_k));
  problem.threads = static_cast<int>(among(1, 2));
  return problem;
}

template <class T, std::size_t N>
Array<T, N> normal(const std::array<std::size_t, N>& shape, std::mt19937& generator) {
  std::normal_distribution<double> draw;
  Array<T, N> tensor(shape);
  for (T& element : tensor) element = static_cast<T>(draw(generator));
  return tensor;
}

/// The rows of the positions, along the third axis.
template <class T, std::size_t N>
Array<T, N> rows(const Array<T, N>& whole, const std::vector<std::size_t>& positions) {
  auto shape = whole.shape();
  const std::size_t outer = shape[0] * shape[1], n = shape[2], width = N == 4 ? shape[N - 1] : 1;
  shape[2] = positions.size();
  Array<T, N> part(shape);
  T* to = part.data();
  for (std::size_t i = 0; i < outer; ++i)
    for (const auto position : positions)
      to = std::copy_n(whole.data() + (i * n + position) * width, width, to);
  return part;
}

template <class T, std::size_t N>
double relative_error(const Array<T, N>& actual, const Array<T, N>& expected) {
  if (actual.shape() != expected.shape()) return infinity;
  return largest_difference(actual, expected) / std::max(1.0, largest(expected));
}

/// One process, plain loops.
template <class T>
void compute_whole(const RingProblem& problem, RankBlock<T>& whole) {
  const auto& sizes = problem.sizes;
  whole.output = Array<T, 4>(whole.d_output.shape());
  whole.log_sum_exp = Array<T, 3>({sizes.samples, sizes.heads, sizes.n_q});
  whole.d_query = Array<T, 4>(whole.query.shape());
  whole.d_key = Array<T, 4>(whole.key.shape());
  whole.d_value = Array<T, 4>(whole.value.shape());
  const auto call = call_of(problem, whole);
  attn::exact::kernels().front().forward(call);
  attn::exact::kernels().front().backward(call);
}

}  // namespace

template <class T>
RandomRing<T> random_ring(unsigned seed, std::size_t ranks) {
  std::mt19937 generator(seed);
  RandomRing<T> ring = {.ranks = ranks, .problem = random_problem(generator), .whole = {}};
  const auto& sizes = ring.problem.sizes;
  ring.whole.query = normal<T, 4>({sizes.samples, sizes.heads, sizes.n_q, sizes.d_k}, generator);
  ring.whole.key = normal<T, 4>({sizes.samples, sizes.kv_heads, sizes.n_k, sizes.d_k}, generator);
  ring.whole.value = normal<T, 4>({sizes.samples, sizes.kv_heads, sizes.n_k, sizes.d_v}, generator);
  ring.whole.d_output = normal<T, 4>({sizes.samples, sizes.heads, sizes.n_q, sizes.d_v}, generator);
  compute_whole(ring.problem, ring.whole);
  return ring;
}

template <class T>
std::vector<RankBlock<T>> RandomRing<T>::blocks(const Range& here) const {
  const auto positions = attn::fast::blocks_of(problem.order, problem.sizes.n_k, ranks);
  std::vector<RankBlock<T>> blocks;
  for (std::size_t rank = here.begin; rank < here.end; ++rank)
    blocks.push_back({.query = rows(whole.query, positions[rank]),
                      .key = rows(whole.key, positions[rank]),
                      .value = rows(whole.value, positions[rank]),
                      .d_output = rows(whole.d_output, positions[rank])});
  return blocks;
}

template <class T>
double RandomRing<T>::error_forward(std::size_t rank, const RankBlock<T>& block) const {
  const auto positions = attn::fast::blocks_of(problem.order, problem.sizes.n_k, ranks)[rank];
  return std::max(relative_error(block.output, rows(whole.output, positions)),
                  relative_error(block.log_sum_exp, rows(whole.log_sum_exp, positions)));
}

template <class T>
double RandomRing<T>::error_backward(std::size_t rank, const RankBlock<T>& block) const {
  const auto positions = attn::fast::blocks_of(problem.order, problem.sizes.n_k, ranks)[rank];
  return std::max({relative_error(block.d_query, rows(whole.d_query, positions)),
                   relative_error(block.d_key, rows(whole.d_key, positions)),
                   relative_error(block.d_value, rows(whole.d_value, positions))});
}

template struct RandomRing<float>;
template struct RandomRing<double>;
template RandomRing<float> random_ring(unsigned seed, std::size_t ranks);
template RandomRing<double> random_ring(unsigned seed, std::size_t ranks);
template attn::exact::Call<float> call_of(const attn::fast::RingProblem& problem,
                                          attn::fast::RankBlock<float>& whole);
template attn::exact::Call<double> call_of(const attn::fast::RingProblem& problem,
                                           attn::fast::RankBlock<double>& whole);
