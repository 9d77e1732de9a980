#include "trace/diagnosis/dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "trace/diagnosis/catalogue.hpp"
#include "trace/diagnosis/layout.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/diagnosis/replay.hpp"
#include "trace/event.hpp"

namespace attn {

namespace {

using Ids = std::vector<std::string>;

constexpr std::string_view turned_from_linear = ", transposed: nn.Linear has it as [out×in]";

bool is_mask(const std::string& id) {
  return id == "mask" || id.ends_with("/mask") || id.ends_with("_mask");
}

/// Whether the outputs of a fused matrix are its rows: they are three times as many as the inputs.
std::optional<bool> has_outputs_first(const Shape& shape) {
  if (shape.size() != 2) return std::nullopt;
  if (shape[0] == 3 * shape[1]) return true;
  return shape[1] == 3 * shape[0] ? std::optional(false) : std::nullopt;
}

std::optional<std::size_t> count_in(const Header& header, std::string_view option) {
  constexpr std::int64_t most = 1 << 20;
  for (const auto& [name, value] : header.config)
    if (const auto* count = std::get_if<std::int64_t>(&value); name == option && count != nullptr)
      if (*count > 0 && *count <= most) return static_cast<std::size_t>(*count);
  return std::nullopt;
}

/// What the tensors of a state dict say of each other.
class StateDict {
 public:
  /// Heads of `fusion` count where the file's config has none.
  StateDict(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion)
      : heads_(count_in(file.header(), "heads")),
        kv_heads_(count_in(file.header(), "kv_heads")),
        layout_(fusion.layout) {
    if (!heads_) heads_ = fusion.heads;
    if (!kv_heads_) kv_heads_ = fusion.kv_heads;
    for (const auto& tensor : file.tensors())
      if (folded(tensor.id).ends_with("cattn.weight"))
        c_attn_is_transposed_ = has_outputs_first(tensor.shape);
    for (const auto& tensor : file.tensors()) {
      const auto meaning =
          contains(known_ids, tensor.id) ? Meaning{.ids = {tensor.id}} : meaning_of(tensor.id, known_ids);
      const auto transposed = is_transposed(meaning.storage, tensor.shape);
      if (meaning.ids.size() == 1 && last_of_path(meaning.ids[0]) == "W_O" && transposed)
        outputs_of_queries_ = tensor.shape[*transposed ? 1 : 0];
    }
  }

  /// Whether a tensor of that shape is [out×in]. None where its shape cannot be that of a matrix of its kind.
  std::optional<bool> is_transposed(Storage storage, const Shape& shape) const {
    const auto rank = shape.size();
    if (storage == Storage::by_its_shape) return has_outputs_first(shape);
    if (storage == Storage::as_it_is) return rank > 0 ? std::optional(false) : std::nullopt;
    if (storage == Storage::interleaved && rank == 1) return false;
    if (rank != 2) return std::nullopt;
    return storage != Storage::as_in_gpt2 || c_attn_is_transposed_.value_or(false);
  }

  /// Whether the outputs of a fused tensor stand head by head.
  bool is_per_head(const Meaning& meaning) const {
    if (meaning.ids.size() != 3 || meaning.is_third_each) return false;
    return layout_.value_or(meaning.storage == Storage::interleaved
                                ? FusedLayout::per_head
                                : FusedLayout::parts) == FusedLayout::per_head;
  }

  /// Queries, keys and values of a fused tensor [in×out] or [out] whose outputs stand head by head. None
  /// where nobody says how many heads there are, and where keys have fewer than queries.
  std::optional<std::vector<AnyTensor>> parts_per_head(const AnyTensor& fused) const {
    const auto outputs = fused.shape().back();
    if (!heads_ || kv_heads_.value_or(*heads_) != *heads_ || outputs % (3 * *heads_) != 0)
      return std::nullopt;
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

  /// The lengths of the parts of a fused tensor, whose outputs are as many as the parts have together: equal
  /// ones, or fewer keys and values than queries where the output projection or the config says how many
  /// queries there are. `inputs` is none of a bias. None where it could be several ways.
  std::optional<std::vector<std::size_t>> lengths_of_parts(const Meaning& meaning, std::size_t outputs,
                                                           std::optional<std::size_t> inputs) const {
    const auto parts = meaning.ids.size();
    auto queries = outputs_of_queries_;
    if (!queries && heads_ && kv_heads_) queries = outputs * *heads_ / (*heads_ + 2 * *kv_heads_);
    const bool has_equal_parts =
        parts != 3 || meaning.is_third_each || (!queries && outputs == 3 * inputs.value_or(0));
    if (has_equal_parts)
      return outputs % parts == 0 ? std::optional(std::vector(parts, outputs / parts)) : std::nullopt;
    if (!queries || *queries == 0 || outputs <= *queries || (outputs - *queries) % 2 != 0)
      return std::nullopt;
    const auto keys = (outputs - *queries) / 2;
    if (*queries % keys != 0) return std::nullopt;
    return std::vector{*queries, keys, keys};
  }

 private:
  std::optional<bool> c_attn_is_transposed_;
  std::optional<std::size_t> outputs_of_queries_;  ///< of all heads
  std::optional<std::size_t> heads_, kv_heads_;
  std::optional<FusedLayout> layout_;
};

/// A parameter with the axis of its heads split as [d_model×head×d_k], [head×d_v×d_model] or [head×d_k], as
/// in Flax, or [head×d_model×d_k], brought to the two axes, or the one, that the lessons have. As it is where
/// it has no such axis, and where `d_model` does not tell which axis is which. Of v_a, which a layer has as
/// [1×d_a], one axis.
AnyTensor with_merged_heads(const std::string& id, AnyTensor tensor, std::optional<std::size_t> d_model) {
  static const std::set<std::string_view> of_one_axis = {"v_a", "b_Q", "b_K", "b_V"},
                                          of_heads = {"W_Q", "W_K", "W_V"};
  const auto name = last_of_path(id);
  const auto& shape = tensor.shape();
  if (of_one_axis.contains(name) && shape.size() == 2) return reshaped(tensor, {shape[0] * shape[1]});
  if (name == "W_O" && shape.size() == 3) return reshaped(tensor, {shape[0] * shape[1], shape[2]});
  if (!of_heads.contains(name) || shape.size() != 3 || !d_model) return tensor;
  if ((shape[0] == *d_model) == (shape[1] == *d_model)) return tensor;
  if (shape[0] != *d_model) return with_merged_heads(id, permuted(tensor, {1, 0, 2}), d_model);
  return reshaped(tensor, {shape[0], shape[1] * shape[2]});
}

/// Reads a file under the ids of a lesson.
class Naming {
 public:
  Naming(const StoredTrace& file, const Ids& known_ids, const Fusion& fusion)
      : file_(file), known_ids_(known_ids), state_dict_(file, known_ids, fusion) {
    dump_.has_module_of_torch = has_module_of_torch(file);
  }

  Dump read() {
    for (const auto& stored : file_.tensors())
      if (contains(known_ids_, stored.id)) add_claim(stored.id, named_tensor(stored), "");
    claim_arguments_of_torch();
    for (const auto& stored : file_.tensors())
      if (!contains(known_ids_, stored.id) && !contains(arguments_, stored.id)) claim(stored);
    for (auto& [id, claims] : claims_) decide(id, claims);
    turn_tokens_first();
    merge_heads();
    std::vector<const AnyTensor*> all;
    for (const auto& [id, tensor] : dump_.tensors) all.push_back(&tensor);
    for (const auto& tensor : dump_.undecided) all.push_back(&tensor.tensor);
    dump_.arithmetic = arithmetic_of(all);
    return std::move(dump_);
  }

 private:
  NamedTensor named_tensor(const StoredTensor& stored) const {
    return {.name = stored.id, .tensor = file_.read(stored.id), .axes = stored.axes};
  }

  void take(const std::string& id, NamedTensor tensor) {
    dump_.assume(tensor.assumption);
    dump_.tensors.insert_or_assign(id, tensor.tensor);
    dump_.as_named.insert_or_assign(id, std::move(tensor));
  }

  void add_claim(const std::string& id, NamedTensor tensor, std::string assumption) {
    tensor.ids = {id};
    tensor.assumption = std::move(assumption);
    claims_[id].push_back(std::move(tensor));
  }

  /// Whether the file is of a block of a decoder, which is known by its second attention.
  bool has_cross_attention() const {
    return any_of(file_.tensors(), [](const auto& tensor) {
      const auto name = folded(tensor.id);
      return name.find("cross") != name.npos || name.find("multiheadattn") != name.npos;
    });
  }

  Meaning meaning_of_name(const std::string& name) const {
    auto meaning = meaning_of(name, known_ids_);
    if (contains(meaning.ids, "memory") && contains(meaning.ids, "X"))
      meaning.ids = {has_cross_attention() ? "memory" : "X"};
    if (const auto last = folded(name); last.ends_with("oproj") || last.ends_with("outproj"))
      if (meaning.ids.size() == 1) meaning.ids.clear();  // a lesson without W_O
    if (name == "attn_output" && contains(meaning.ids, "output") && dump_.has_module_of_torch)
      meaning.ids = {"output"};
    return meaning;
  }

  /// The three arguments of nn.MultiheadAttention are what is projected and not the projections.
  void claim_arguments_of_torch() {
    const auto *query = file_.find("query"), *key = file_.find("key"), *value = file_.find("value");
    if (!dump_.has_module_of_torch || query == nullptr) return;
    if (key == nullptr && value == nullptr && contains(known_ids_, "X") && file_.find("X") == nullptr) {
      add_claim("X", named_tensor(*query), "query is taken for X.");
      arguments_ = {"query"};
    }
    if (key == nullptr || value == nullptr) return;
    auto queries = named_tensor(*query), keys = named_tensor(*key);
    if (!are_identical(keys.tensor, file_.read("value"))) return;
    const bool is_turned = has_tokens_first(queries.tensor.shape()) && keys.tensor.shape().size() == 3;
    if (is_turned) {
      queries.tensor = permuted(queries.tensor, {1, 0, 2});
      keys.tensor = permuted(keys.tensor, {1, 0, 2});
    }
    const std::string_view how = is_turned ? ", with the batch before the tokens" : "";
    if (contains(known_ids_, "X") && are_identical(queries.tensor, keys.tensor)) {
      add_claim("X", std::move(queries),
                fmt::format("query, key and value are the same tensor, which is taken for X{}.", how));
    } else if (contains(known_ids_, "X_target") && contains(known_ids_, "X_source")) {
      add_claim("X_target", std::move(queries), fmt::format("query is taken for X_target{}.", how));
      add_claim("X_source", std::move(keys),
                fmt::format("key and value are the same tensor, which is taken for X_source{}.", how));
    } else {
      return;
    }
    arguments_ = {"query", "key", "value"};
  }

  void turn_tokens_first() {
    for (const auto* id : {"X", "X_source", "X_target"}) {
      auto* const tensor = value_in(dump_.tensors, id);
      if (tensor == nullptr || !has_tokens_first(tensor->shape())) continue;
      *tensor = permuted(*tensor, {1, 0, 2});
      dump_.assume(fmt::format("{} is taken to be [token×batch×d_model], as PyTorch has it by default.", id));
    }
  }

  /// Whether queries are [token×batch×d_model], as PyTorch has them by default: its weights always begin with
  /// the batch.
  bool has_tokens_first(const Shape& queries) const {
    if (queries.size() != 3 || queries[0] == queries[1]) return false;
    return any_of(file_.tensors(), [&](const auto& tensor) {
      const auto& shape = tensor.shape;
      return shape.size() >= 3 && shape[0] == queries[1] && shape[shape.size() - 2] == queries[0] &&
             contains(meaning_of(tensor.id, known_ids_).ids, "weights");
    });
  }

  void claim(const StoredTensor& stored) {
    const auto meaning = meaning_of_name(stored.id);
    const auto transposed = state_dict_.is_transposed(meaning.storage, stored.shape);
    if (meaning.ids.empty() || !transposed) return leave_out_without_meaning(stored.id);
    auto tensor = named_tensor(stored);
    if (*transposed) {
      tensor.tensor = permuted(tensor.tensor, {1, 0});
      std::reverse(tensor.axes.begin(), tensor.axes.end());
    }
    if (meaning.is_fused) return claim_parts(tensor, meaning, *transposed);
    const std::string_view how = *transposed ? turned_from_linear : "";
    if (meaning.ids.size() == 1) {
      const auto& id = meaning.ids[0];
      add_claim(id, std::move(tensor), fmt::format("{} is taken for {}{}.", stored.id, id, how));
    } else {
      if (*transposed) dump_.assume(fmt::format("{} is read{}.", stored.id, how));
      tensor.ids = meaning.ids;
      dump_.undecided.push_back(std::move(tensor));
    }
  }

  /// A bias that a lesson has no place for changes nothing where it is 0.
  void leave_out_without_meaning(const std::string& name) {
    if (!folded(name).ends_with("bias")) return dump_.leave_out(name);
    const auto tensor = file_.read(name);
    for (std::size_t offset = 0; offset < element_count(tensor.shape()); ++offset)
      if (tensor.view().at(offset) != 0.0) return dump_.leave_out(name);
    dump_.assume(fmt::format("{} is all 0 and left out.", name));
  }

  /// `whole` is [in×out] or [out], as the lessons have it.
  void claim_parts(const NamedTensor& whole, const Meaning& meaning, bool was_transposed) {
    auto ids = meaning.ids;
    std::erase(ids, "");
    const auto names = listed(ids, "and");
    const auto parts = parts_of(whole, meaning);
    const bool is_per_head = state_dict_.is_per_head(meaning);
    if (!parts)
      return dump_.leave_out(
          whole.name, fmt::format("{} could be split into {} in several ways; save them apart, or say {}.",
                                  whole.name, names, is_per_head ? "--heads" : "--heads and --kv-heads"));
    const auto assumption =
        fmt::format("{} is split into {}{}{}.", whole.name, names, is_per_head ? " of each head" : "",
                    was_transposed ? turned_from_linear : "");
    for (std::size_t part = 0; part < parts->size(); ++part)
      if (!meaning.ids[part].empty())
        add_claim(meaning.ids[part], {.name = whole.name, .tensor = std::move((*parts)[part])}, assumption);
  }

  /// None where there are several ways to split it.
  std::optional<std::vector<AnyTensor>> parts_of(const NamedTensor& whole, const Meaning& meaning) const {
    if (state_dict_.is_per_head(meaning)) return state_dict_.parts_per_head(whole.tensor);
    const auto& shape = whole.tensor.shape();
    const auto inputs = shape.size() == 2 ? std::optional(shape[0]) : inputs_of_weight_beside(whole.name);
    const auto lengths = state_dict_.lengths_of_parts(meaning, shape.back(), inputs);
    if (!lengths) return std::nullopt;
    std::vector<AnyTensor> parts;
    for (std::size_t part = 0, begin = 0; part < lengths->size(); begin += (*lengths)[part++])
      parts.push_back(part_of_last_axis(whole.tensor, begin, (*lengths)[part]));
    return parts;
  }

  /// How many inputs the weight has that a fused bias belongs to, where the file has it.
  std::optional<std::size_t> inputs_of_weight_beside(const std::string& bias) const {
    const auto at = bias.rfind("bias");
    if (at == bias.npos) return std::nullopt;
    const auto* const weight = file_.find(std::string(bias).replace(at, 4, "weight"));
    if (weight == nullptr || weight->shape.size() != 2) return std::nullopt;
    return std::min(weight->shape[0], weight->shape[1]);
  }

  void decide(const std::string& id, std::vector<NamedTensor>& claims) {
    Ids names;
    for (const auto& claim : claims) names.push_back(claim.name);
    if (names[0] == id && !is_mask(id)) {  // of masks, what one of them hides is hidden
      for (std::size_t i = 1; i < names.size(); ++i)
        dump_.leave_out(names[i], fmt::format("{} is left out, because {} is there itself.", names[i], id));
      take(id, std::move(claims[0]));
    } else if (all_of(claims,
                      [&](const auto& other) { return are_identical(other.tensor, claims[0].tensor); })) {
      take(id, std::move(claims[0]));
    } else if (is_mask(id)) {
      dump_.undecided.insert(dump_.undecided.end(), claims.begin(), claims.end());
    } else {
      dump_.contested[id] = names;
      for (const auto& name : names)
        dump_.leave_out(name, fmt::format("{} could each be {}; none is taken.", listed(names, "and"), id));
    }
  }

  void merge_heads() {
    const auto* const input = value_in(dump_.tensors, dump_.tensors.contains("X") ? "X" : "X_target");
    const bool has_rows = input != nullptr && !input->shape().empty();
    const auto d_model = has_rows ? std::optional(input->shape().back()) : std::nullopt;
    for (auto& [id, tensor] : dump_.tensors) {
      auto merged = with_merged_heads(id, tensor, d_model);
      if (merged.shape() == tensor.shape()) continue;
      dump_.assume(fmt::format("{} is [{}] and is taken for [{}], its heads side by side.", id,
                               to_string(tensor.shape()), to_string(merged.shape())));
      tensor = std::move(merged);
    }
  }

  const StoredTrace& file_;
  const Ids& known_ids_;
  StateDict state_dict_;
  Ids arguments_;                                           ///< of nn.MultiheadAttention, by name
  std::map<std::string, std::vector<NamedTensor>> claims_;  ///< by id
  Dump dump_;
};

}  // namespace

bool has_module_of_torch(const StoredTrace& file) {
  return any_of(file.tensors(),
                [](const auto& tensor) { return folded(tensor.id).ends_with("inprojweight"); });
}

Dump named(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion) {
  return Naming(file, known_ids, fusion).read();
}

void Dump::assume(std::string sentence) {
  if (!sentence.empty() && !contains(assumptions, sentence)) assumptions.push_back(std::move(sentence));
}

void Dump::leave_out(const std::string& name, std::string sentence) {
  if (!contains(unknown, name)) unknown.push_back(name);
  assume(std::move(sentence));
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
  for (const auto& one : frameworks())
    if (one.name == name) return &one;
  return nullptr;
}

}  // namespace attn
