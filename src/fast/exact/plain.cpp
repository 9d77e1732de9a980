// Kernel 1: the formula as loops, one query after the other. It holds the scores of a single query, makes a
// softmax of them in two passes and sums the values. Nothing is reused: each query reads all keys and values
// again, and each addition of a sum waits for the one before. All other kernels are checked against this one.
#include <algorithm>
#include <numeric>
#include <vector>

#include "fast/exact/heads.hpp"

namespace attn::exact {

namespace {

template <class T>
T dot(const T* x, const T* y, std::size_t length) {
  return std::inner_product(x, x + length, y, T{0});
}

template <class T>
void add_scaled(T factor, const T* x, T* sum, std::size_t length) {
  for (std::size_t c = 0; c < length; ++c) sum[c] += factor * x[c];
}

/// The keys that a query attends to.
template <class T>
std::vector<Range> keys_of(const Call<T>& problem, std::size_t sample, std::size_t query) {
  const Range visible = visible_keys(problem.sizes, problem.visible, sample, query);
  if (problem.pattern == nullptr) return {visible};
  return key_ranges(*problem.pattern, query / problem.pattern->block, visible);
}

/// Writes the weights of these keys, one after the other, and returns their log-sum-exp.
template <class T>
T weigh(const Call<T>& problem, const Head<T>& head, std::size_t query, const std::vector<Range>& ranges,
        T* weights) {
  const std::size_t d_k = problem.sizes.d_k;
  T* weight = weights;
  for (const Range& keys : ranges)
    for (std::size_t key = keys.begin; key < keys.end; ++key)
      *weight++ = problem.scale * dot(head.query + query * d_k, head.key + key * d_k, d_k);
  return softmax(weights, static_cast<std::size_t>(weight - weights));
}

/// `weights` has room for a number per key, here and below.
template <class T>
void attend(const Call<T>& problem, const Head<T>& head, std::size_t query, T* weights) {
  const std::size_t d_v = problem.sizes.d_v;
  const auto ranges = keys_of(problem, head.sample, query);
  const T log_sum_exp = weigh(problem, head, query, ranges, weights);
  if (head.log_sum_exp != nullptr) head.log_sum_exp[query] = log_sum_exp;
  T* output = head.output + query * d_v;
  std::fill_n(output, d_v, T{0});
  for (const Range& keys : ranges)
    for (std::size_t key = keys.begin; key < keys.end; ++key)
      add_scaled(*weights++, head.value + key * d_v, output, d_v);
}

/// Adds what one query contributes to the gradients. With weights w = softmax(s) and o = Σ wⱼ vⱼ the gradient
/// of a score is dsⱼ = wⱼ (do·vⱼ − do·o).
template <class T>
void attend_backward(const Call<T>& problem, const Head<T>& head, std::size_t query, T* weights) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  const auto ranges = keys_of(problem, head.sample, query);
  weigh(problem, head, query, ranges, weights);

  const T* d_output = head.d_output + query * d_v;
  const T mean = dot(d_output, head.output + query * d_v, d_v);
  for (const Range& keys : ranges)
    for (std::size_t j = keys.begin; j < keys.end; ++j) {
      const T weight = *weights++;
      const T d_weight = dot(d_output, head.value + j * d_v, d_v);
      const T d_score = weight * (d_weight - mean) * problem.scale;
      add_scaled(weight, d_output, head.d_value + j * d_v, d_v);
      add_scaled(d_score, head.key + j * d_k, head.d_query + query * d_k, d_k);
      add_scaled(d_score, head.query + query * d_k, head.d_key + j * d_k, d_k);
    }
}

template <class T>
void plain_forward(const Call<T>& problem) {
  const Sizes& sizes = problem.sizes;
  if (problem.pattern != nullptr) require_fitting(*problem.pattern, sizes);
  for_each_head(problem, 1, [&](const Head<T>& head, std::size_t) {
    std::vector<T> weights(sizes.n_k);
    for (std::size_t query = 0; query < sizes.n_q; ++query) attend(problem, head, query, weights.data());
  });
}

template <class T>
void plain_backward(const Call<T>& problem) {
  if (problem.is_part)
    throw std::invalid_argument("[backward] this kernel needs all keys of a query at once");
  const Sizes& sizes = problem.sizes;
  for_each_group(problem, [&](const std::vector<Head<T>>& heads) {
    std::vector<T> weights(sizes.n_k);
    for (const auto& head : heads)
      for (std::size_t query = 0; query < sizes.n_q; ++query)
        attend_backward(problem, head, query, weights.data());
  });
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {{.name = "plain",
                                             .takes_pattern = true,
                                             .forward = {plain_forward, plain_forward},
                                             .backward = {plain_backward, plain_backward}},
                                            blas_kernel(),
                                            tiled_kernel(),
                                            simd_kernel()};
  return table;
}

const Kernel& fastest(const Sizes& sizes) {
  return *std::find_if(kernels().rbegin(), kernels().rend(),
                       [&](const Kernel& kernel) { return kernel.fits(sizes); });
}

}  // namespace attn::exact
