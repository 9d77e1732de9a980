#include "attn/efficient/key_lists.hpp"

#include <algorithm>
#include <stdexcept>

namespace attn {

KeyLists all_keys(std::size_t n) {
  return window_keys(n, n, n);
}

KeyLists window_keys(std::size_t n, std::size_t before, std::size_t after) {
  KeyLists keys(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t first = i - std::min(i, before), last = i + std::min(n - 1 - i, after);
    for (std::size_t j = first; j <= last; ++j) keys[i].push_back(j);
  }
  return keys;
}

KeyLists keys_of(const Mask<2>& mask) {
  KeyLists keys(mask.shape(0));
  for (std::size_t i = 0; i < mask.shape(0); ++i)
    for (std::size_t j = 0; j < mask.shape(1); ++j)
      if (mask(i, j)) keys[i].push_back(j);
  return keys;
}

Mask<2> mask_of(const KeyLists& keys, std::size_t n_k) {
  Mask<2> mask({keys.size(), n_k}, false);
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (const std::size_t j : keys[i]) {
      if (j >= n_k)
        throw std::invalid_argument("[mask_of] query " + std::to_string(i) + " attends to key " +
                                    std::to_string(j) + " of " + std::to_string(n_k));
      mask(i, j) = true;
    }
  return mask;
}

std::size_t pair_count(const KeyLists& keys) {
  std::size_t count = 0;
  for (const auto& of_query : keys) count += of_query.size();
  return count;
}

}  // namespace attn
