#pragma once

#include <optional>
#include <string>

#include "trace/diagnosis/layout.hpp"

namespace attn {

/// What true, or 1, means in somebody's masks: one thing in all of them. By name it is seen, unless one of
/// the masks is called as one of nn.MultiheadAttention, for which it is hidden.
enum class MaskTrue { seen, hidden, by_name };

/// Whether the name is that of an argument of nn.MultiheadAttention: key_padding_mask, or attn_mask, which
/// says so beside the module's weights alone.
bool is_named_as_in_torch(const std::string& name, bool has_module = true);

/// Somebody's mask as the lesson has it: true = may be seen. It may be of bools, of 0 and 1, or additive, 0
/// for what is seen and −∞ or at most −1000 for what is hidden, and [key], [query×key], [batch×key],
/// [batch×query×key], [head×query×key], [batch·head×query×key] or [batch×head×query×key], with 1 for any axis
/// but that of the keys. Where it has heads and the lesson has none they have to agree. None for anything
/// else, and where two of these shapes are possible and mean different things; `name`, as the file has it,
/// may then say which: a padding mask is [batch×key], a causal one [query×key].
std::optional<Fitted> as_mask(const AnyTensor& given, const std::string& name, const ExpectedTensor& expected,
                              MaskTrue mask_true);

/// The mask that hides what either hides. Both are of bools and of the same shape.
AnyTensor hidden_by_either(AnyTensor a, const AnyTensor& b);

}  // namespace attn
