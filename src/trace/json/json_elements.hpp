#pragma once

#include "trace/any_tensor.hpp"
#include "trace/json/json_text.hpp"

namespace attn {

/// Reads the `data` of a tensor: numbers, or true and false, in lists nested as the shape says, bit for bit
/// those that were written. Throws Error for anything else.
AnyTensor read_elements(JsonText& text, Dtype dtype, const Shape& shape);

}  // namespace attn
