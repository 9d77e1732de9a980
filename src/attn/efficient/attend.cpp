#include "attn/efficient/attend.hpp"

#include <stdexcept>

namespace attn {

void require_listed(const std::string& kernel, const KeyLists& keys, std::size_t n_q, std::size_t n_k) {
  if (keys.size() != n_q)
    throw std::invalid_argument("[" + kernel + "] there are " + std::to_string(n_q) + " queries but " +
                                std::to_string(keys.size()) + " lists of keys: one for each query");
  for (const auto& list : keys)
    for (const std::size_t key : list)
      if (key >= n_k)
        throw std::invalid_argument("[" + kernel + "] key " + std::to_string(key) +
                                    " is listed, but there are " + std::to_string(n_k) + " keys");
}

}  // namespace attn
