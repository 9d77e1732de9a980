#include "attn/efficient/sparse_attention.hpp"

#include <algorithm>
#include <stdexcept>

#include "attn/efficient/attend.hpp"

namespace attn {

namespace {

/// Queries begin, …, end − 1. Their scores are held until the weights have been given to `keep`.
template <class Keep>
void attend_queries(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                    std::size_t begin, std::size_t end, Tensor<2>& output, Meter& meter, Keep keep) {
  std::size_t pairs = 0;
  for (std::size_t i = begin; i < end; ++i) pairs += keys[i].size();
  auto weights = meter.hold(pairs);
  const KeysAndValues from = {K.data(), V.data(), K.shape(1), V.shape(1)};
  std::size_t done = 0;
  for (std::size_t i = begin; i < end; ++i) {
    attend(Q.data() + i * from.d_k, from, std::span(keys[i]), weights.part(done, keys[i].size()),
           output.data() + i * from.d_v, meter);
    record(keys[i], i, meter);
    done += keys[i].size();
  }
  keep(weights.all());
}

}  // namespace

SparseAttention sparse_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                                    const KeyLists& keys, Meter& meter) {
  require_fitting("sparse_attention", Q, K, V);
  require_listed("sparse_attention", keys, Q.shape(0), K.shape(0));
  SparseAttention attention;
  attention.output = Tensor<2>({Q.shape(0), V.shape(1)});
  attend_queries(Q, K, V, keys, 0, Q.shape(0), attention.output, meter,
                 [&](std::span<double> weights) { attention.weights.assign(weights.begin(), weights.end()); });
  return attention;
}

Tensor<2> scatter(const SparseAttention& attention, const KeyLists& keys, std::size_t n_k) {
  Tensor<2> square({keys.size(), n_k}, double{0});
  auto weight = attention.weights.begin();
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::size_t j : keys[i]) square(i, j) = *weight++;
  return square;
}

Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V,
                               const KeyLists& keys, std::size_t chunk, Meter& meter) {
  require_fitting("chunked_attention", Q, K, V);
  require_listed("chunked_attention", keys, Q.shape(0), K.shape(0));
  if (chunk == 0) throw std::invalid_argument("[chunked_attention] a chunk of 0 queries has no end");
  Tensor<2> output({Q.shape(0), V.shape(1)});
  for (std::size_t begin = 0; begin < Q.shape(0); begin += std::min(chunk, Q.shape(0) - begin))
    attend_queries(Q, K, V, keys, begin, begin + std::min(chunk, Q.shape(0) - begin), output, meter,
                   [](std::span<double>) {});
  return output;
}


}  // namespace attn
