#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Whether a tensor is there with its elements, of which there may be none, or as a shape only.
bool has_elements(const TensorView& tensor);

/// Bytes that an element takes in memory: floating-point numbers are doubles there.
std::size_t size_of(Dtype dtype);

/// Puts a number in the place of an element of that type, of which it is one.
void store(Dtype dtype, void* elements, std::size_t i, double number);

/// Whether int64 and double both have that whole number.
bool is_whole_number(double x);

/// A tensor of any rank and any of the trace's element types that owns its elements, in row-major order.
class AnyTensor {
 public:
  /// Elements are zero.
  AnyTensor(Dtype dtype, Shape shape);

  /// A copy of what is looked at. Throws std::invalid_argument where that has no elements.
  explicit AnyTensor(const TensorView& view);

  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

  /// Valid as long as this tensor lives and is not moved. Its data is never null, even where the shape leaves
  /// no element.
  TensorView view() const { return {dtype_, shape_, bytes_.data()}; }

  /// The elements, for T double, std::int64_t or bool, as TensorView has them.
  template <class T>
  T* elements() {
    return reinterpret_cast<T*>(bytes_.data());
  }

 private:
  Dtype dtype_;
  Shape shape_;
  std::vector<std::byte> bytes_;
};

/// Somebody's tensors by the ids of the lesson.
using Tensors = std::map<std::string, AnyTensor>;

/// A copy in which every NaN is the positive quiet one: which of the many a computation gives depends on the
/// processor.
AnyTensor with_one_nan(const TensorView& tensor);

/// By how many elements a step along each axis moves on, in row-major order.
std::vector<std::size_t> strides_of(const Shape& shape);

/// The tensor of that shape whose element (i, j, …) is the one of `given` at the offset `start` +
/// i·strides[0]
/// + j·strides[1] + …; a stride of 0 repeats it along an axis.
AnyTensor strided(const AnyTensor& given, Shape shape, const std::vector<std::size_t>& strides,
                  std::size_t start = 0);

/// Axis i of the result is axis order[i] of `given`.
AnyTensor permuted(const AnyTensor& given, const std::vector<std::size_t>& order);

/// The same elements in a shape that has as many.
AnyTensor reshaped(const AnyTensor& given, Shape shape);

/// The `count` entries of the last axis from `begin` on.
AnyTensor part_of_last_axis(const AnyTensor& given, std::size_t begin, std::size_t count);

/// Whether type, shape and elements are the same, bit for bit.
bool are_identical(const AnyTensor& a, const AnyTensor& b);

/// What an element may be in a file.
struct ElementType {
  std::string_view name;         ///< as NumPy calls it: "float16"
  std::string_view npy;          ///< in the header of an .npy file, behind the order of the bytes; none: ""
  std::string_view safetensors;  ///< in the header of a .safetensors file
  std::size_t size;              ///< in bytes
  Dtype dtype;                   ///< of a tensor that is read from such elements: int64 for all whole numbers

  /// Puts the elements that are these bytes, or these from the last to the first, where a tensor has its own.
  void (*read)(std::string_view stored, bool is_reversed, std::string_view place, void* elements);
};

/// The type that has this name, null where none has: `element_type_called("F16", &ElementType::safetensors)`.
const ElementType* element_type_called(std::string_view name,
                                       std::string_view ElementType::*of = &ElementType::name);

/// The type of the same name.
const ElementType* element_type_of(Dtype dtype);

/// A number of as many bytes, the lowest first, and these bytes.
std::uint64_t little_endian(std::string_view bytes);
std::string little_endian(std::uint64_t number, std::size_t size);

/// How the elements of a tensor lie in a file.
struct Layout {
  const ElementType* type = nullptr;
  bool big_endian = false;
  bool fortran_order = false;  ///< the first axis runs fastest, not the last
  Shape shape{};
};

/// Bytes that the elements take in a file. Throws Error, with `place`, for more than 32 axes and for a shape
/// whose elements nothing could hold.
std::size_t stored_size(const Layout& layout, std::string_view place);

/// The tensor whose elements are these bytes, as many as `stored_size` says. Throws Error, with `place`, for
/// a whole number beyond int64 and for a bool that is neither 0 nor 1.
AnyTensor decode(const Layout& layout, std::string_view stored, std::string_view place);

/// The elements of a tensor as such bytes, the lowest first. Floating-point numbers are rounded to `dtype`,
/// which is one of the floating-point types for them and their own type for all others.
std::string encode(const TensorView& tensor, Dtype dtype);

}  // namespace attn
