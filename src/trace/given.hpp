#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "trace/any_tensor.hpp"

namespace attn {

/// Ones on the diagonal of a matrix that is as large as the run has it.
struct Identity {};

/// What stands in for an input of a lesson.
struct Given {
  Given(AnyTensor elements, std::string_view by = "--input") : tensor(std::move(elements)), option(by) {}
  Given(Identity, std::string_view by) : option(by) {}

  std::optional<AnyTensor> tensor{};  ///< none of the identity, whose shape is the run's
  std::string_view option;            ///< that gives it, as messages name it
  bool may_be_step = false;           ///< whether its file does not say that it is an input
};

/// By the ids that the inputs have in the trace.
using GivenTensors = std::map<std::string, Given>;

/// Copies the elements of `given` to `elements`, as many of type `dtype`, which lie there as TensorView has
/// them. Floating-point numbers are rounded to `dtype`; whole numbers are taken for counts and for masks (0
/// or 1) whatever type holds them. Throws Error, with `name` and the index, for NaN, for an infinity, and for
/// a number that the type cannot hold.
void copy_elements(const std::string& name, const AnyTensor& given, Dtype dtype, void* elements);

/// "(8 d_model × 4 d_k)", or "(scalar)"; as "8×4" where the axes have no names.
std::string shape_with_axes(const Shape& shape, const std::vector<std::string>& axes);

}  // namespace attn
