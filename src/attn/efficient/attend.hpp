#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "attn/efficient/key_lists.hpp"
#include "attn/efficient/meter.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What the attention kernels are made of. Not for use outside of them.

/// The keys and values of one head, row by row.
template <class T>
struct KeysAndValues {
  const T* keys;    ///< [n_k×d_k]
  const T* values;  ///< [n_k×d_v]
  std::size_t d_k, d_v;
};

/// Softmax in place, in float64 but for what is stored.
template <class T>
void softmax_in_place(std::span<T> scores) {
  if (scores.empty()) return;
  const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0.0;
  for (T& score : scores) {
    const double exponential = std::exp(static_cast<double>(score) - largest);
    sum += exponential;
    score = static_cast<T>(exponential);
  }
  for (T& score : scores) score = static_cast<T>(static_cast<double>(score) / sum);
}

/// One query's attention to the listed keys: `weights`, as many as keys, and the output row [d_v]. Zeros
/// where no key is listed.
template <class T>
void attend(const T* query, const KeysAndValues<T>& from, std::span<const std::size_t> keys,
            std::span<T> weights, T* output, Meter& meter) {
  const double divisor = std::sqrt(static_cast<double>(from.d_k));
  for (std::size_t k = 0; k < keys.size(); ++k)
    weights[k] = static_cast<T>(meter.dot(query, from.keys + keys[k] * from.d_k, from.d_k) / divisor);
  softmax_in_place(weights);
  std::vector<double> sum(from.d_v);
  for (std::size_t k = 0; k < keys.size(); ++k)
    meter.add_scaled(static_cast<double>(weights[k]), from.values + keys[k] * from.d_v, std::span(sum));
  std::transform(sum.begin(), sum.end(), output, [](double element) { return static_cast<T>(element); });
}

/// Records that the output of token i is made of the listed tokens in one operation.
inline void record(std::span<const std::size_t> tokens, std::size_t i, Meter& meter) {
  const auto operation = meter.operation();
  for (const std::size_t token : tokens) meter.read_token(operation, token);
  meter.deliver(operation, i);
}

/// Throws std::invalid_argument, with both shapes, unless Q [batch…×n_q×d_k], K [batch…×n_k×d_k] and
/// V [batch…×n_k×d_v] fit. Q may have other heads than K and V: what these may be, the caller says.
template <class T, std::size_t N>
void require_fitting(const std::string& kernel, const Tensor<T, N>& Q, const Tensor<T, N>& K,
                     const Tensor<T, N>& V) {
  if (Q.shape(N - 1) != K.shape(N - 1))
    throw shape_mismatch(kernel, "Q", Q, "K", K, "the last axes must match");
  if (K.shape(N - 2) != V.shape(N - 2))
    throw shape_mismatch(kernel, "K", K, "V", V, "the numbers of keys and values must match");
  if (Q.shape(0) != K.shape(0) && N > 2)
    throw shape_mismatch(kernel, "Q", Q, "K", K, "the batch axes must match");
  if (!std::equal(K.shape().begin(), K.shape().end() - 2, V.shape().begin()))
    throw shape_mismatch(kernel, "K", K, "V", V, "the batch axes must match");
}

/// Throws std::invalid_argument unless there is a list of keys for each of n_q queries and all of them are
/// less than n_k.
void require_listed(const std::string& kernel, const KeyLists& keys, std::size_t n_q, std::size_t n_k);

}  // namespace attn
