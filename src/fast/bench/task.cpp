#include "fast/bench/task.hpp"

#include <algorithm>
#include <numeric>

#include "fast/exact/visible.hpp"
#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

exact::Range visible_keys(const Setting& setting, std::size_t query) {
  return exact::visible_keys(setting.sizes(), setting.visible(), 0, query);
}

}  // namespace

std::vector<std::size_t> Task::keys_of(std::size_t query) const {
  const auto visible = visible_keys(setting, query);
  std::vector<std::size_t> keys(visible.size());
  std::iota(keys.begin(), keys.end(), visible.begin);
  if (!pattern) return keys;

  const auto& blocks = pattern->key_blocks[query / pattern->block];
  std::erase_if(keys, [&](std::size_t key) {
    return !std::binary_search(blocks.begin(), blocks.end(), key / pattern->block);
  });
  return keys;
}

double Task::pairs() const {
  if (pattern && !setting.window)
    return static_cast<double>(block_sparse::pairs(*pattern, setting.sizes(), setting.causal));
  double pairs = 0.0;
  for (std::size_t query = 0; query < setting.n; ++query)
    pairs += static_cast<double>(pattern ? keys_of(query).size() : visible_keys(setting, query).size());
  return pairs;
}

double Task::operations(Pass pass) const {
  if (formula == Formula::linear) return linear_time::operations(setting.sizes());
  const auto d_k = static_cast<double>(setting.d_k), d_v = static_cast<double>(setting.d_v);
  const double products = pass == Pass::forward ? d_k + d_v : 3.0 * d_k + 2.0 * d_v;
  return 2.0 * products * pairs() * static_cast<double>(setting.heads);
}

}  // namespace attn::bench
