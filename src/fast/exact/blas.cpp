// Kernel 2: the scores of all queries of a head at once, as a matrix product, and the output as another. BLAS
// cuts a product into blocks that stay in the caches and the registers, so that a number that was read is
// used many times: the products run near the processor's peak. The cost is the whole n × n scores, which are
// written to memory and read again in each pass of the softmax; hidden scores are computed too.
#include <algorithm>
#include <numeric>
#include <vector>

#include "fast/exact/heads.hpp"
#include "fast/exact/softmax.hpp"
#include "fast/gemm.hpp"

namespace attn::exact {

namespace {

using fast::Matrix;

/// The matrices of a head.
template <class T>
struct Operands {
  Matrix<T> query, key, value;
};

template <class T>
Operands<T> operands(const Sizes& sizes, const Head<T>& head) {
  return {{head.query, sizes.n_q, sizes.d_k},
          {head.key, sizes.n_k, sizes.d_k},
          {head.value, sizes.n_k, sizes.d_v}};
}

/// Turns a row of scores into weights, 0 where the key is hidden, and returns their log-sum-exp.
template <class T>
T masked_softmax(T* row, const Range& visible, std::size_t n_k) {
  std::fill(row, row + visible.begin, T{0});
  std::fill(row + visible.end, row + n_k, T{0});
  return softmax(row + visible.begin, visible.size());
}

/// Writes the weights [query×key] of a head and, unless null, their log-sum-exps [query].
template <class T>
void weigh(const Forward<T>& problem, const Head<T>& head, T* weights, T* log_sum_exp) {
  const Sizes& sizes = problem.sizes;
  const auto [query, key, value] = operands(sizes, head);
  multiply(problem.scale, query, transposed(key), weights);
  for (std::size_t i = 0; i < sizes.n_q; ++i) {
    const Range visible = visible_keys(sizes, problem.visible, head.sample, i);
    const T row_log_sum_exp = masked_softmax(weights + i * sizes.n_k, visible, sizes.n_k);
    if (log_sum_exp != nullptr) log_sum_exp[i] = row_log_sum_exp;
  }
}

/// Turns the gradients of the weights into those of the products q·k: ds = scale · w (dw − do·o).
template <class T>
void softmax_backward(const Forward<T>& problem, const BackwardHead<T>& head, const T* weights,
                      T* d_weights) {
  const std::size_t n_k = problem.sizes.n_k, d_v = problem.sizes.d_v;
  for (std::size_t i = 0; i < problem.sizes.n_q; ++i) {
    const T* d_output = head.d_output + i * d_v;
    const T mean = std::inner_product(d_output, d_output + d_v, head.forward.output + i * d_v, T{0});
    std::transform(weights + i * n_k, weights + (i + 1) * n_k, d_weights + i * n_k, d_weights + i * n_k,
                   [&](T weight, T d_weight) { return problem.scale * weight * (d_weight - mean); });
  }
}

/// `weights` and `d_scores` have room for [query×key].
template <class T>
void attend_backward(const Forward<T>& problem, const BackwardHead<T>& head, T* weights, T* d_scores) {
  const Sizes& sizes = problem.sizes;
  const auto [query, key, value] = operands(sizes, head.forward);
  const Matrix<T> d_output = {head.d_output, sizes.n_q, sizes.d_v};
  weigh<T>(problem, head.forward, weights, nullptr);
  multiply(T{1}, d_output, transposed(value), d_scores);
  softmax_backward(problem, head, weights, d_scores);

  const Matrix<T> from_weights = {weights, sizes.n_q, sizes.n_k};
  const Matrix<T> from_scores = {d_scores, sizes.n_q, sizes.n_k};
  add_product(transposed(from_weights), d_output, head.d_value);
  add_product(from_scores, key, head.d_query);
  add_product(transposed(from_scores), query, head.d_key);
}

}  // namespace

template <class T>
void blas_forward(const Forward<T>& problem) {
  const Sizes& sizes = problem.sizes;
  const fast::SingleThreadedBlas single_threaded;
  for_each_task(sizes.samples * sizes.heads, problem.threads, [&](std::size_t task) {
    const auto head = head_of(problem, task / sizes.heads, task % sizes.heads);
    std::vector<T> weights(sizes.n_q * sizes.n_k);
    weigh(problem, head, weights.data(), head.log_sum_exp);
    multiply(T{1}, {weights.data(), sizes.n_q, sizes.n_k}, operands(sizes, head).value, head.output);
  });
}

template <class T>
void blas_backward(const Backward<T>& problem) {
  require_all_keys(problem);
  const Sizes& sizes = problem.forward.sizes;
  const fast::SingleThreadedBlas single_threaded;
  for_each_group(problem, [&](const std::vector<BackwardHead<T>>& heads) {
    std::vector<T> weights(sizes.n_q * sizes.n_k), d_scores(weights.size());
    for (const auto& head : heads) attend_backward(problem.forward, head, weights.data(), d_scores.data());
  });
}

template void blas_forward(const Forward<float>&);
template void blas_forward(const Forward<double>&);
template void blas_backward(const Backward<float>&);
template void blas_backward(const Backward<double>&);

}  // namespace attn::exact
