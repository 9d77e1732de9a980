#include "trace/diagnosis/state_dict.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "trace/diagnosis/layout.hpp"
#include "trace/event.hpp"

namespace attn {

namespace {

/// Whether the outputs of a fused matrix are its rows: they are three times as many as the inputs.
std::optional<bool> has_outputs_first(const Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  if (shape[0] == 3 * shape[1]) return true;
  return shape[1] == 3 * shape[0] ? std::optional(false) : std::nullopt;
}

std::optional<std::size_t> count_in(const Header& header, std::string_view option) {
  constexpr std::int64_t most = 1 << 20;
  for (const auto& [name, value] : header.config)
    if (const auto* const count = std::get_if<std::int64_t>(&value);
        name == option && count != nullptr && *count > 0 && *count <= most)
      return static_cast<std::size_t>(*count);
  return std::nullopt;
}

bool is_any_of(std::string_view text, const std::array<std::string_view, 3>& texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

StateDict::StateDict(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion)
    : heads_(count_in(file.header(), "heads")),
      kv_heads_(count_in(file.header(), "kv_heads")),
      layout_(fusion.layout) {
  if (!heads_) heads_ = fusion.heads;
  if (!kv_heads_) kv_heads_ = fusion.kv_heads;
  for (const auto& tensor : file.tensors())
    if (folded(tensor.id).ends_with("cattn.weight")) c_attn_is_transposed_ = has_outputs_first(tensor.shape);
  for (const auto& tensor : file.tensors()) {
    const bool is_ours = std::find(known_ids.begin(), known_ids.end(), tensor.id) != known_ids.end();
    const auto meaning = is_ours ? Meaning{.ids = {tensor.id}} : meaning_of(tensor.id, known_ids);
    const auto transposed = is_transposed(meaning.storage, tensor.shape);
    if (meaning.ids.size() == 1 && last_of_path(meaning.ids[0]) == "W_O" && transposed)
      outputs_of_queries_ = tensor.shape[*transposed ? 1 : 0];
  }
}

std::optional<bool> StateDict::is_transposed(Storage storage, const Shape& shape) const {
  const bool is_matrix = shape.size() == 2;
  switch (storage) {
    case Storage::transposed:
      return is_matrix ? std::optional(true) : std::nullopt;
    case Storage::interleaved:
      return is_matrix || shape.size() == 1 ? std::optional(is_matrix) : std::nullopt;
    case Storage::as_in_gpt2:
      return is_matrix ? std::optional(c_attn_is_transposed_.value_or(false)) : std::nullopt;
    case Storage::by_its_shape:
      return has_outputs_first(shape);
    case Storage::as_it_is:
      return shape.empty() ? std::nullopt : std::optional(false);
  }
  return std::nullopt;
}

bool StateDict::is_per_head(const Meaning& meaning) const {
  if (meaning.ids.size() != 3 || meaning.is_third_each) return false;
  return layout_.value_or(meaning.storage == Storage::interleaved
                              ? FusedLayout::per_head
                              : FusedLayout::parts) == FusedLayout::per_head;
}

std::optional<std::vector<AnyTensor>> StateDict::parts_per_head(const AnyTensor& fused) const {
  const auto outputs = fused.shape().back();
  if (!heads_ || kv_heads_.value_or(*heads_) != *heads_ || outputs % (3 * *heads_) != 0) return std::nullopt;
  const auto d_k = outputs / 3 / *heads_;
  const auto inputs = element_count(fused.shape()) / outputs;
  auto shape = fused.shape();
  shape.back() = outputs / 3;
  std::vector<AnyTensor> parts;
  for (std::size_t part = 0; part < 3; ++part)
    parts.push_back(
        reshaped(strided(fused, {inputs, *heads_, d_k}, {outputs, 3 * d_k, 1}, part * d_k), shape));
  return parts;
}

std::optional<std::vector<std::size_t>> StateDict::lengths_of_parts(const Meaning& meaning,
                                                                    std::size_t outputs,
                                                                    std::optional<std::size_t> inputs) const {
  const auto parts = meaning.ids.size();
  auto queries = outputs_of_queries_;
  if (!queries && heads_ && kv_heads_) queries = outputs * *heads_ / (*heads_ + 2 * *kv_heads_);
  const bool has_equal_parts =
      parts != 3 || meaning.is_third_each || (!queries && outputs == 3 * inputs.value_or(0));
  if (has_equal_parts)
    return outputs % parts == 0 ? std::optional(std::vector(parts, outputs / parts)) : std::nullopt;
  if (!queries || *queries == 0 || outputs <= *queries || (outputs - *queries) % 2 != 0) return std::nullopt;
  const auto keys = (outputs - *queries) / 2;
  if (*queries % keys != 0) return std::nullopt;
  return std::vector{*queries, keys, keys};
}

AnyTensor with_merged_heads(const std::string& id, AnyTensor tensor, std::optional<std::size_t> d_model) {
  const auto name = last_of_path(id);
  const auto& shape = tensor.shape();
  if ((name == "v_a" || is_any_of(name, {"b_Q", "b_K", "b_V"})) && shape.size() == 2)
    return reshaped(tensor, {shape[0] * shape[1]});
  if (name == "W_O" && shape.size() == 3) return reshaped(tensor, {shape[0] * shape[1], shape[2]});
  if (!is_any_of(name, {"W_Q", "W_K", "W_V"}) || shape.size() != 3 || !d_model) return tensor;
  if ((shape[0] == *d_model) == (shape[1] == *d_model)) return tensor;
  if (shape[0] != *d_model) return with_merged_heads(id, permuted(tensor, {1, 0, 2}), d_model);
  return reshaped(tensor, {shape[0], shape[1] * shape[2]});
}

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
