// Kernel 1: the formula as loops, one query after the other, over the keys in its blocks. Kernel 2 is judged
// by this one.
#include "fast/sparse/plain.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "fast/exact/head.hpp"
#include "fast/exact/softmax.hpp"
#include "fast/parallel.hpp"
#include "fast/sparse/runs.hpp"

namespace attn::block_sparse {

namespace {

std::vector<std::size_t> keys_in(const std::vector<exact::Range>& runs) {
  std::vector<std::size_t> keys;
  for (const auto& run : runs)
    for (std::size_t key = run.begin; key < run.end; ++key) keys.push_back(key);
  return keys;
}

template <class T>
void attend(const exact::Forward<T>& problem, const exact::Head<T>& head, std::size_t query,
            const std::vector<std::size_t>& keys) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  const T* q = head.query + query * d_k;
  std::vector<T> weights;
  for (const std::size_t key : keys)
    weights.push_back(problem.scale * std::inner_product(q, q + d_k, head.key + key * d_k, T{0}));
  const T log_sum_exp = exact::softmax(weights.data(), weights.size());
  if (head.log_sum_exp != nullptr) head.log_sum_exp[query] = log_sum_exp;

  T* output = head.output + query * d_v;
  std::fill_n(output, d_v, T{0});
  for (std::size_t j = 0; j < keys.size(); ++j)
    for (std::size_t c = 0; c < d_v; ++c) output[c] += weights[j] * head.value[keys[j] * d_v + c];
}

}  // namespace

template <class T>
void plain_forward(const Forward<T>& problem) {
  const exact::Sizes& sizes = problem.exact.sizes;
  require_fitting(*problem.pattern, sizes);
  for_each_task(sizes.samples * sizes.heads, problem.exact.threads, [&](std::size_t task) {
    const auto head = exact::head_of(problem.exact, task / sizes.heads, task % sizes.heads);
    for (std::size_t query = 0; query < sizes.n_q; ++query) {
      const auto visible = exact::visible_keys(sizes, problem.exact.visible, head.sample, query);
      attend(problem.exact, head, query,
             keys_in(runs(*problem.pattern, query / problem.pattern->block, visible)));
    }
  });
}

template void plain_forward(const Forward<float>&);
template void plain_forward(const Forward<double>&);

}  // namespace attn::block_sparse
