#include "attn/efficient/grouped_attention.hpp"

#include <stdexcept>

#include "attn/efficient/attend.hpp"

namespace attn {

namespace {

void require_valid(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V,
                   const KeyLists& keys) {
  require_fitting("grouped_attention", Q, K, V);
  if (K.shape(1) == 0 || Q.shape(1) % K.shape(1) != 0)
    throw shape_mismatch("grouped_attention", "Q", Q, "K", K,
                         "the key and value heads must divide the heads");
  require_listed("grouped_attention", keys, Q.shape(2), K.shape(2));
}

}  // namespace

GroupedAttention grouped_attention(const Tensor<4>& Q, const Tensor<4>& K, const Tensor<4>& V,
                                      const KeyLists& keys, Meter& meter) {
  require_valid(Q, K, V, keys);
  const std::size_t batch = Q.shape(0), heads = Q.shape(1), kv_heads = K.shape(1), n_q = Q.shape(2);
  const std::size_t n_k = K.shape(2), d_k = Q.shape(3), d_v = V.shape(3), pairs = pair_count(keys);
  GroupedAttention attention;
  attention.weights = Tensor<4>({batch, heads, n_q, n_k}, double{0});
  attention.output = Tensor<4>({batch, heads, n_q, d_v});
  auto weights = meter.hold(batch * heads * pairs);

  std::size_t done = 0;
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t kv_head = b * kv_heads + h * kv_heads / heads;
      const KeysAndValues from = {K.data() + kv_head * n_k * d_k, V.data() + kv_head * n_k * d_v, d_k,
                                     d_v};
      for (std::size_t i = 0; i < n_q; ++i) {
        const auto row = weights.part(done, keys[i].size());
        attend(&Q(b, h, i, 0), from, std::span(keys[i]), row, &attention.output(b, h, i, 0), meter);
        record(keys[i], i, meter);
        for (std::size_t k = 0; k < row.size(); ++k) attention.weights(b, h, i, keys[i][k]) = row[k];
        done += row.size();
      }
    }
  return attention;
}

Tensor<4> group_means(const Tensor<4>& heads, std::size_t kv_heads) {
  const std::size_t count = heads.shape(1);
  if (kv_heads == 0 || count % kv_heads != 0)
    throw std::invalid_argument("[group_means] " + std::to_string(kv_heads) + " groups of " +
                                std::to_string(count) + " heads are not of one size");
  const std::size_t group = count / kv_heads, size = heads.shape(2) * heads.shape(3);
  Tensor<4> means({heads.shape(0), kv_heads, heads.shape(2), heads.shape(3)});
  for (std::size_t g = 0; g < heads.shape(0) * kv_heads; ++g)
    for (std::size_t element = 0; element < size; ++element) {
      double sum = 0.0;
      for (std::size_t h = 0; h < group; ++h)
        sum += static_cast<double>(heads.data()[(g * group + h) * size + element]);
      means.data()[g * size + element] = static_cast<double>(sum / static_cast<double>(group));
    }
  return means;
}


}  // namespace attn
