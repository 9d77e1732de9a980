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
struct KeysAndValues {
  const double* keys;    ///< [n_k×d_k]
  const double* values;  ///< [n_k×d_v]
  std::size_t d_k, d_v;
};

/// Softmax in place.
void softmax_in_place(std::span<double> scores);

/// One query's attention to the listed keys: `weights`, as many as keys, and the output row [d_v]. Zeros
/// where no key is listed.
void attend(const double* query, const KeysAndValues& from, std::span<const std::size_t> keys,
            std::span<double> weights, double* output, Meter& meter);

/// Records that the output of token i is made of the listed tokens in one operation.
inline void record(std::span<const std::size_t> tokens, std::size_t i, Meter& meter) {
  const auto operation = meter.operation();
  for (const std::size_t token : tokens) meter.read_token(operation, token);
  meter.deliver(operation, i);
}

/// Throws std::invalid_argument, with both shapes, unless Q [batch…×n_q×d_k], K [batch…×n_k×d_k] and
/// V [batch…×n_k×d_v] fit. Q may have other heads than K and V: what these may be, the caller says.
template <std::size_t N>
void require_fitting(const std::string& kernel, const Tensor<N>& Q, const Tensor<N>& K,
                     const Tensor<N>& V) {
  if (Q.shape(N - 1) != K.shape(N - 1))
    throw shape_mismatch(kernel, "Q", Q, "K", K, "the last axes must match");
  if (K.shape(N - 2) != V.shape(N - 2))
    throw shape_mismatch(kernel, "K", K, "V", V, "the numbers of keys and values must match");
  if (Q.shape(0) != K.shape(0) && N > 2)
    throw shape_mismatch(kernel, "Q", Q, "K", K, "the batch axes must match");
  if (!std::equal(K.shape().begin(), K.shape().end() - 2, V.shape().begin()))
    throw shape_mismatch(kernel, "K", K, "V", V, "the batch axes must match");
}


}  // namespace attn
