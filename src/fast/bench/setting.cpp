#include "fast/bench/setting.hpp"

#include <algorithm>
#include <numeric>

#include "fast/linear/kernels.hpp"

namespace attn::bench {

namespace {

fast::Range visible_keys(const Setting& setting, std::size_t query) {
  return fast::visible_keys(setting.sizes(), setting.visible(), 0, query);
}

}  // namespace

std::string_view name_of(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

std::string_view name_of(Scores scores) {
  return scores == Scores::normal ? "normal" : "rising";
}

fast::Sizes Setting::sizes() const {
  return {.samples = 1, .heads = heads, .kv_heads = kv_heads, .n_q = n, .n_k = n, .d_k = d_k, .d_v = d_v};
}

fast::Visibility Setting::visible() const {
  return {.causal = causal, .window = window};
}

Setting Setting::unmasked() const {
  Setting setting = *this;
  setting.causal = false;
  setting.window.reset();
  return setting;
}

double softmax_operations(const Setting& setting, Pass pass, double pairs) {
  const auto d_k = static_cast<double>(setting.d_k), d_v = static_cast<double>(setting.d_v);
  const double products = pass == Pass::forward ? d_k + d_v : 3.0 * d_k + 2.0 * d_v;
  return 2.0 * products * pairs * static_cast<double>(setting.heads);
}

Task Task::full() const {
  Task task{.setting = setting};
  task.setting.window.reset();
  return task;
}

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
    return static_cast<double>(fast::pair_count(*pattern, setting.sizes(), setting.causal));
  double pairs = 0.0;
  for (std::size_t query = 0; query < setting.n; ++query)
    pairs += static_cast<double>(pattern ? keys_of(query).size() : visible_keys(setting, query).size());
  return pairs;
}

double Task::operations(Pass pass) const {
  if (formula == Formula::linear) return linear_time::operations(setting.sizes());
  return softmax_operations(setting, pass, pairs());
}

}  // namespace attn::bench
