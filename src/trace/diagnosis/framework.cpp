#include "trace/diagnosis/framework.hpp"

#include <algorithm>

namespace attn {

const std::vector<Framework>& frameworks() {
  static const std::vector<Framework> table = {
      // nn.MultiheadAttention hides where a mask is true; is_causal counts from the top left.
      {"torch", MaskTrue::hidden, {"mask-causal-corner", "empty-row-nan"}},
      // MultiHeadAttention adds -1e9 (or the type's minimum), which leaves a hidden row uniform.
      {"keras", MaskTrue::seen, {"mask-causal-corner", "empty-row-uniform"}},
      // The operator Attention counts from the top left; the operator LSTM has its gates in the order i, o,
      // f, c.
      {"onnx", MaskTrue::seen, {"mask-causal-corner", "gate-order:iofg"}},
      // rotate_half pairs number i with number i + d/2; masks hold the type's minimum. Its sinusoids (Marian,
      // M2M100) are all sines, then all cosines; qkv_proj (Phi-3) has all queries first.
      {"hf-llama", MaskTrue::seen, {"rope-pairing", "empty-row-uniform", "pe-halves"}},
      // rotate_every_two pairs neighbours, as the lesson does. query_key_value of GPT-NeoX, by the same
      // makers, goes head by head.
      {"gptj", MaskTrue::seen, {"empty-row-uniform"}, FusedLayout::per_head},
      {"numpy", MaskTrue::seen, {}},
  };
  return table;
}

const Framework* find_framework(std::string_view name) {
  const auto& all = frameworks();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Framework& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace attn
