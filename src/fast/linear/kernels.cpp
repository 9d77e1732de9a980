#include "fast/linear/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fast/parallel.hpp"

namespace attn::linear_time {

namespace {

template <class T>
T feature(FeatureMap phi, T x) {
  if (phi == FeatureMap::identity) return x;
  return x > T{0} ? x + T{1} : std::exp(x);
}

/// S and z of the keys so far. Each token reads or writes all of S, for two operations a number.
template <class T>
class State {
 public:
  State(FeatureMap phi, std::size_t d_k, std::size_t d_v)
      : phi_(phi), d_k_(d_k), d_v_(d_v), S_(d_k * d_v), z_(d_k) {}

  void add(const T* key, const T* value) {
    for (std::size_t a = 0; a < d_k_; ++a) {
      const T phi_k = feature(phi_, key[a]);
      for (std::size_t b = 0; b < d_v_; ++b) S_[a * d_v_ + b] += phi_k * value[b];
      z_[a] += phi_k;
    }
  }

  void read(const T* query, T* output) const {
    std::fill_n(output, d_v_, T{0});
    T sum = 0;
    for (std::size_t a = 0; a < d_k_; ++a) {
      const T phi_q = feature(phi_, query[a]);
      for (std::size_t b = 0; b < d_v_; ++b) output[b] += phi_q * S_[a * d_v_ + b];
      sum += phi_q * z_[a];
    }
    if (sum == T{0}) return;
    for (std::size_t b = 0; b < d_v_; ++b) output[b] /= sum;
  }

 private:
  FeatureMap phi_;
  std::size_t d_k_, d_v_;
  std::vector<T> S_;  ///< [d_k×d_v] Σ φ(k) vᵀ
  std::vector<T> z_;  ///< [d_k] Σ φ(k)
};

/// How many keys a query sees.
template <class T>
std::size_t seen(const Forward<T>& problem, const Keys<T>& keys, std::size_t query) {
  const Sizes& sizes = problem.sizes;
  if (!problem.causal) return keys.count;
  const std::size_t position_plus_one = query + 1 + sizes.n_k;
  return std::min(keys.count, position_plus_one - std::min(position_plus_one, sizes.n_q));
}

template <class T>
void attend(const Forward<T>& problem, const Keys<T>& keys, const Queries<T>& queries) {
  const std::size_t d_k = problem.sizes.d_k, d_v = problem.sizes.d_v;
  State<T> state(problem.phi, d_k, d_v);
  std::size_t added = 0;
  for (std::size_t i = 0; i < problem.sizes.n_q; ++i) {
    for (; added < seen(problem, keys, i); ++added)
      state.add(keys.key + added * d_k, keys.value + added * d_v);
    state.read(queries.query + i * d_k, queries.output + i * d_v);
  }
}

/// A key is added to S and z, and a query reads them: after all keys, or, if causal, after its own.
template <class T>
void plain_forward(const Forward<T>& problem) {
  const Sizes& sizes = problem.sizes;
  for_each_task(sizes.samples * sizes.heads, problem.threads, [&](std::size_t task) {
    const std::size_t sample = task / sizes.heads, head = task % sizes.heads;
    attend(problem, keys_of(problem, sample, head * sizes.kv_heads / sizes.heads),
           queries_of(problem, sample, head));
  });
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> table = {{"plain", plain_forward, plain_forward}, simd_kernel()};
  return table;
}

double operations(const Sizes& sizes) {
  const auto heads = static_cast<double>(sizes.samples * sizes.heads);
  const auto tokens = static_cast<double>(sizes.n_q + sizes.n_k);
  return heads * tokens * 2.0 * static_cast<double>(sizes.d_k * sizes.d_v);
}

}  // namespace attn::linear_time
