#pragma once

#include <map>
#include <string>

#include "trace/any_tensor.hpp"

namespace attn {

/// Tensors that stand in for what a lesson would start from, by their ids in the trace.
using GivenTensors = std::map<std::string, AnyTensor>;

/// Copies the elements of `given` to `elements`, as many of type `dtype`, which lie there as TensorView has
/// them. Floating-point numbers are rounded to `dtype`; whole numbers are taken for counts and for masks (0
/// or 1) whatever type holds them. Throws Error, with `id` and the index, for NaN, for an infinity, and for a
/// number that the type cannot hold.
void copy_elements(const std::string& id, const AnyTensor& given, Dtype dtype, void* elements);

/// "(8 d_model × 4 d_k)", or "(scalar)"; as "8×4" where the axes have no names.
std::string shape_with_axes(const Shape& shape, const std::vector<std::string>& axes);

}  // namespace attn
