#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "trace/any_tensor.hpp"

/// Tensors as JSON has them: nested row-major lists. All throw Error, with `place`, for anything else.
namespace attn {

/// The elements of a tensor whose type and shape are known.
AnyTensor tensor_from(const nlohmann::ordered_json& data, Dtype dtype, const Shape& shape,
                      std::string_view place);

/// The same where nothing but the lists tells the shape, and the elements tell the type: bool, int64 where
/// all are whole, or float64.
AnyTensor tensor_from(const nlohmann::ordered_json& data, std::string_view place);

}  // namespace attn
