#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include <xtensor/xtensor.hpp>

#include "attn/budget.hpp"

/// The library `attn`: attention, its building blocks and its trace.
namespace attn {

/// Row-major containers of rank N that own their elements. Every function of the library takes and returns
/// these, never a lazy expression.
template <class Element, std::size_t N>
using Array = xt::xtensor<Element, N, xt::layout_type::row_major, BudgetAllocator<Element>>;

/// Numbers. The lab computes in float64 throughout; the tap rounds what a step computed to the run's dtype.
template <std::size_t N>
using Tensor = Array<double, N>;

/// True = may be seen.
template <std::size_t N>
using Mask = Array<bool, N>;

/// Counts, indices, buckets and distances.
template <std::size_t N>
using Integers = Array<std::int64_t, N>;

/// What a function that is compiled for some ranks alone requires of its rank, so that of another one the
/// compiler says so, and not the linker.
template <std::size_t N, std::size_t least, std::size_t most>
concept Rank = (least <= N && N <= most);

/// Element types that a traced tensor may have. Masks are `boolean`, counts and indices `int64`.
enum class Dtype { float64, float32, float16, bfloat16, int64, boolean };

/// "float64", "bfloat16", "int64", "bool": the names that NumPy uses, and PyTorch.
std::string_view name_of(Dtype dtype);

/// Bytes that a number of this type takes.
std::size_t item_size(Dtype dtype);

/// Whether the elements are floating-point numbers.
bool is_floating(Dtype dtype);

/// The number of that floating-point type nearest to x, ties to even; infinity where x is too large for it.
/// x itself where the type is not floating-point.
double round_to(Dtype dtype, double x);

/// Of double, float, std::int64_t or bool.
template <class T>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<T, double>) return Dtype::float64;
  if constexpr (std::is_same_v<T, float>) return Dtype::float32;
  if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::int64;
  if constexpr (std::is_same_v<T, bool>) return Dtype::boolean;
}

/// Lengths of a tensor's axes.
using Shape = std::vector<std::size_t>;

/// Number of elements of a tensor of that shape; 1 for a scalar, whose shape is empty.
std::size_t element_count(const Shape& shape);

/// A tensor of any rank and element type, looked at without owning or copying it. The elements are doubles
/// where the type is floating-point, whichever it is, each of them a number of that type; otherwise
/// std::int64_t or bool.
struct TensorView {
  Dtype dtype = Dtype::float64;
  Shape shape;
  const void* data = nullptr;

  /// The element at a row-major offset, converted to double.
  double at(std::size_t offset) const;

  /// All elements as doubles, in row-major order.
  std::vector<double> numbers() const;
};

/// Of a tensor of float, whose elements are no doubles, the shape alone.
template <class T, std::size_t N>
TensorView view_of(const Array<T, N>& tensor) {
  const void* const data = std::is_same_v<T, float> ? nullptr : static_cast<const void*>(tensor.data());
  return {dtype_of<T>(), Shape(tensor.shape().begin(), tensor.shape().end()), data};
}

/// A scalar seen as a tensor of rank 0.
template <class T>
TensorView view_of(const T& scalar) {
  return {dtype_of<T>(), {}, &scalar};
}

/// "6×4", or "scalar" for an empty shape.
std::string to_string(const Shape& shape);

/// What an op throws when two tensors do not fit together:
/// "[matmul] a is 2×3 but b is 4×5: the inner axes must match".
template <class A, class B>
std::invalid_argument shape_mismatch(const std::string& op, const std::string& a_name, const A& a,
                                     const std::string& b_name, const B& b, const std::string& rule) {
  return std::invalid_argument("[" + op + "] " + a_name + " is " + to_string(view_of(a).shape) + " but " +
                               b_name + " is " + to_string(view_of(b).shape) + ": " + rule);
}

}  // namespace attn
