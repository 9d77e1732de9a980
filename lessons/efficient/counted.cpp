/// Variants of attention that count what they take. What they leave out is never computed.
/// Sources: local and sliding windows: Luong et al. 2015, section 3.2; Beltagy et al. 2020 (Longformer);
/// Jiang et al. 2023 (Mistral 7B). Sparse patterns: Child et al. 2019 (Sparse Transformer); Zaheer et al.
/// 2020 (Big Bird). Some queries at a time: Rabe & Staats 2021. Shared keys and values: Shazeer 2019 (one
/// head for all); Ainslie et al. 2023 (one for each group, and how a finished model is converted). A few
/// mixtures of the keys: Wang et al. 2020. Tiles, with a softmax that runs along the keys: Milakov &
/// Gimelshein 2018, Dao et al. 2022. Features of queries and keys in place of the exponential of a score, so
/// that keys and values are summed up before any query reads them: Katharopoulos et al. 2020; Performer:
/// Choromanski et al. 2021.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>
#include <xtensor/xmath.hpp>

#include "attn/ops/matmul.hpp"
#include "attn/ops/slice.hpp"
#include "attn/ops/softmax.hpp"
#include "lessons/efficient.hpp"

namespace lessons {

namespace {

constexpr double nothing_seen = -std::numeric_limits<double>::infinity();

/// 0, 1, … below `count`.
std::vector<std::size_t> numbers_up_to(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// Records one operation that reads all keys, and one of each query that reads what that gave.
void record_summary(std::size_t keys, std::size_t queries, CostCounter& counter) {
  const auto summary = counter.operation(numbers_up_to(keys));
  for (std::size_t i = 0; i < queries; ++i) counter.output(counter.operation({summary}), i);
}

/// The keys that each of some queries sees.
using ListsOfKeys = std::span<const std::vector<std::size_t>>;

/// softmax(q kᵀ / √d_k) V of as many queries as there are lists, from `first_query` on, over their listed
/// keys: the rows `output` [query×d_v]. Each is recorded as computed from its keys in one operation.
void attend_to_listed(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const ListsOfKeys& keys,
                      std::size_t first_query, CostCounter& counter, double* output) {
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  const auto d_k = Q.shape(1), d_v = V.shape(1);
  std::vector<double> weights;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::fill_n(output + i * d_v, d_v, 0.0);
    counter.output(counter.operation(keys[i]), first_query + i);
    if (keys[i].empty()) continue;
    weights.resize(keys[i].size());
    counter.multiply_rows(Q.data() + (first_query + i) * d_k, K, keys[i], weights.data());
    for (double& score : weights) score /= root;
    attn::softmax_rows(weights.data(), 1, weights.size());
    for (std::size_t k = 0; k < weights.size(); ++k)
      counter.add_product(weights[k], {V.data() + keys[i][k] * d_v, d_v}, output + i * d_v);
  }
}

}  // namespace

Tensor<2> sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                           CostCounter& counter) {
  return chunked_attention(Q, K, V, keys, keys.size(), counter);
}

Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                            std::size_t chunk, CostCounter& counter) {
  Tensor<2> output({Q.shape(0), V.shape(1)});
  for (std::size_t begin = 0, end = 0; begin < Q.shape(0); begin = end) {
    end = begin + std::min(chunk, Q.shape(0) - begin);
    const auto keys_of_chunk = ListsOfKeys(keys).subspan(begin, end - begin);
    std::size_t pairs = 0;
    for (const auto& of_query : keys_of_chunk) pairs += of_query.size();
    const auto held = counter.hold(pairs);
    attend_to_listed(Q, K, V, keys_of_chunk, begin, counter, output.data() + begin * V.shape(1));
  }
  return output;
}

namespace {

/// One head of one sample of [batch×head×n×d]: [n×d].
Tensor<2> matrix(const Tensor<4>& heads, std::size_t sample, std::size_t head) {
  return attn::sample(attn::head(heads, head), sample);
}

}  // namespace

Tensor<3> grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V, const KeyLists& keys,
                            CostCounter& counter) {
  const auto batch = Q.shape(0), h = Q.shape(1), h_kv = K.shape(1), n_q = Q.shape(2);
  const auto held = counter.hold(batch * h * attn::pair_count(keys));
  Tensor<4> output({batch, h, n_q, V.shape(3)});
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t i = 0; i < h; ++i) {
      const auto shared = i * h_kv / h;
      attend_to_listed(matrix(Q, b, i), matrix(K, b, shared), matrix(V, b, shared), keys, 0, counter,
                       &output(b, i, 0, 0));
    }
  return attn::merge_heads(output);
}

Tensor<2> linformer_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const Tensor<2>& E,
                              const Tensor<2>& F, CostCounter& counter) {
  const auto projected_K = counter.matmul(E, K), projected_V = counter.matmul(F, V);
  const Tensor<2> scores =
      counter.matmul(Q, attn::transpose(projected_K)) / std::sqrt(static_cast<double>(Q.shape(1)));
  const auto held = counter.hold(scores.size());
  auto output = counter.matmul(attn::softmax(scores), projected_V);
  record_summary(K.shape(0), Q.shape(0), counter);
  return output;
}

Tensor<2> flash_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, std::size_t block,
                          bool causal, CostCounter& counter) {
  const std::size_t n_q = Q.shape(0), n_k = K.shape(0), d_v = V.shape(1);
  const double root = std::sqrt(static_cast<double>(K.shape(1)));
  const auto numbers = numbers_up_to(n_k);
  std::vector<double> scores(std::min(block, n_k));
  Tensor<2> output({n_q, d_v}, 0.0);
  for (std::size_t begin = 0, end = 0; begin < n_q; begin = end) {
    end = begin + std::min(block, n_q - begin);
    // Of each query the softmax so far: only the largest score, the sum and what is summed up are kept.
    std::vector<double> largest(end - begin, nothing_seen), sum(end - begin, 0.0);
    std::vector<std::optional<CostCounter::Node>> operations(end - begin);
    for (std::size_t first = 0, last = 0; first < n_k; first = last) {
      last = first + std::min(block, n_k - first);
      const auto keys_seen = [&](std::size_t i) {  // of the block: its first ones, all of them or none
        if (!causal) return last - first;
        return std::clamp(i + n_k + 1 > n_q ? i + n_k + 1 - n_q : 0, first, last) - first;
      };
      if (keys_seen(end - 1) == 0) break;
      const auto held = counter.hold((end - begin) * (last - first));
      for (std::size_t i = begin; i < end; ++i) {
        const auto seen = keys_seen(i);
        if (seen == 0) continue;
        counter.multiply_rows(&Q(i, 0), K, {&numbers[first], seen}, scores.data());
        for (std::size_t j = 0; j < seen; ++j) scores[j] /= root;
        auto &m = largest[i - begin], &l = sum[i - begin];
        auto* const o = &output(i, 0);
        const double maximum = std::max(m, *std::max_element(scores.begin(), scores.begin() + seen));
        if (m !=
            nothing_seen) {  // what was summed relative to the old maximum is smaller relative to the new
          const double factor = std::exp(m - maximum);
          l = counter.scale(factor, l);
          counter.scale(factor, {o, d_v});
        }
        m = maximum;
        for (std::size_t j = 0; j < seen; ++j) {
          const double weight = std::exp(scores[j] - maximum);
          l += weight;
          counter.add_product(weight, {&V(first + j, 0), d_v}, o);
        }
        if (!counter.records()) continue;
        std::vector<CostCounter::Node> inputs(&numbers[first], &numbers[first] + seen);
        auto& operation = operations[i - begin];
        if (operation) inputs.push_back(*operation);
        operation = counter.operation(inputs);
      }
    }
    for (std::size_t i = begin; i < end; ++i) {
      const double l = sum[i - begin] == 0.0 ? 1.0 : sum[i - begin];
      for (std::size_t c = 0; c < d_v; ++c) output(i, c) /= l;
      if (operations[i - begin]) counter.output(*operations[i - begin], i);
    }
  }
  return output;
}

namespace {

/// Each row divided by its own number; zeros where that is 0.
Tensor<2> divide_rows(Tensor<2> rows, const Tensor<1>& divisors) {
  for (std::size_t i = 0; i < rows.shape(0); ++i)
    for (std::size_t c = 0; c < rows.shape(1); ++c)
      rows(i, c) = divisors(i) == 0.0 ? 0.0 : rows(i, c) / divisors(i);
  return rows;
}

}  // namespace

Tensor<2> linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                           CostCounter& counter) {
  const auto S = counter.matmul(attn::transpose(phi_K), V);
  const Tensor<1> z = xt::sum(phi_K, {0});
  const auto held = counter.hold(S.size() + z.size());
  auto output = divide_rows(counter.matmul(phi_Q, S), counter.matmul(phi_Q, z));

  record_summary(phi_K.shape(0), phi_Q.shape(0), counter);
  return output;
}

Tensor<2> causal_linear_attention(const Tensor<2>& phi_Q, const Tensor<2>& phi_K, const Tensor<2>& V,
                                  CostCounter& counter) {
  const std::size_t features = phi_K.shape(1), d_v = V.shape(1);
  Tensor<2> S({features, d_v}, 0.0);
  Tensor<1> z({features}, 0.0);
  const auto held = counter.hold(S.size() + z.size());
  Tensor<2> output({phi_Q.shape(0), d_v});
  std::vector<CostCounter::Node> before;  // the operation that gave S and z, after the first token
  for (std::size_t i = 0; i < phi_Q.shape(0); ++i) {
    const auto phi_q = attn::rows(phi_Q, i, i + 1), phi_k = attn::rows(phi_K, i, i + 1),
               v = attn::rows(V, i, i + 1);
    S += counter.matmul(attn::transpose(phi_k), v);
    z += attn::row(phi_k, 0);
    const auto read = divide_rows(counter.matmul(phi_q, S), counter.matmul(phi_q, z));
    std::copy(read.begin(), read.end(), &output(i, 0));

    before.push_back(i);
    const auto adding = counter.operation(before);
    counter.output(counter.operation({adding}), i);
    before = {adding};
  }
  return output;
}

}  // namespace lessons
