#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trace/diagnosis/dump.hpp"
#include "trace/diagnosis/names.hpp"
#include "trace/stored_trace.hpp"

namespace attn {

/// What the tensors of a state dict say of each other.
class StateDict {
 public:
  /// Heads of `fusion` count where the file's config has none.
  StateDict(const StoredTrace& file, const std::vector<std::string>& known_ids, const Fusion& fusion);

  /// Whether a tensor of that shape is [out×in]. None where its shape cannot be that of a matrix of its kind.
  std::optional<bool> is_transposed(Storage storage, const Shape& shape) const;

  /// Whether the outputs of a fused tensor stand head by head.
  bool is_per_head(const Meaning& meaning) const;

  /// Queries, keys and values of a fused tensor [in×out] or [out] whose outputs stand head by head. None
  /// where nobody says how many heads there are, and where keys have fewer than queries.
  std::optional<std::vector<AnyTensor>> parts_per_head(const AnyTensor& fused) const;

  /// The lengths of the parts of a fused tensor, whose outputs are as many as the parts have together: equal
  /// ones, or fewer keys and values than queries where the output projection or the config says how many
  /// queries there are. `inputs` is none of a bias. None where it could be several ways.
  std::optional<std::vector<std::size_t>> lengths_of_parts(const Meaning& meaning, std::size_t outputs,
                                                           std::optional<std::size_t> inputs) const;

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
AnyTensor with_merged_heads(const std::string& id, AnyTensor tensor, std::optional<std::size_t> d_model);

/// How a framework does what others do in another way that is as right.
struct Framework {
  std::string_view name;
  MaskTrue mask_true;                 ///< what true means in its masks
  std::set<std::string> conventions;  ///< ids of the catalogue that hold for it, where the lesson lists them:
                                      ///< of the corner, empty rows, RoPE's pairs, sinusoids and gates
  FusedLayout fused = FusedLayout::parts;
};

/// torch, keras, onnx, hf-llama, gptj, numpy.
const std::vector<Framework>& frameworks();

/// Null where there is none of that name.
const Framework* find_framework(std::string_view name);

}  // namespace attn
