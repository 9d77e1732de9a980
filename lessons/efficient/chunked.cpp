/// Attention computed for some queries at a time: exact, with less held at a time.
/// Source: Rabe & Staats 2021.

#include <algorithm>
#include <stdexcept>

#include "lessons/efficient/variants.hpp"

namespace lessons {

Tensor<2> chunked_attention(const Tensor<2>& Q, const Tensor<2>& K, const Tensor<2>& V, const KeyLists& keys,
                            std::size_t chunk, CostCounter& counter) {
  if (chunk == 0) throw std::invalid_argument("[chunked_attention] a chunk has 0 queries; valid: 1 or more");
  require_fitting("chunked_attention", Q, K, V);
  attn::require_listed("chunked_attention", keys, Q.shape(0), K.shape(0));
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

}  // namespace lessons
