#include "fast/bench/setting.hpp"

namespace attn::bench {

std::string_view name_of(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

std::string_view name_of(Scores scores) {
  return scores == Scores::normal ? "normal" : "rising";
}

exact::Sizes Setting::sizes() const {
  return {.samples = 1, .heads = heads, .kv_heads = kv_heads, .n_q = n, .n_k = n, .d_k = d_k, .d_v = d_v};
}

exact::Visibility Setting::visible() const {
  return {.causal = causal, .window = window};
}

Setting Setting::unmasked() const {
  Setting setting = *this;
  setting.causal = false;
  setting.window.reset();
  return setting;
}

}  // namespace attn::bench
