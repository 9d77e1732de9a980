#pragma once

#include <cstddef>
#include <string>

#include "attn/tensor.hpp"

namespace attn {

/// Numbers of that type which differ by this share of them may be the same but for rounding.
double rounding_of(Dtype dtype);

/// Writes all numbers of one tensor in the same notation, whole ones without digits after the point.
class NumberFormat {
 public:
  /// `precision` digits after the point. The tensor has to outlive it.
  NumberFormat(const TensorView& tensor, int precision);

  /// The element at a row-major offset: "-0.1200", "1.5000e-07", "-inf", "nan"; of a mask "1" or "·".
  std::string operator()(std::size_t offset) const;

 private:
  const TensorView& tensor_;
  int precision_;
  bool scientific_ = false;
};

/// A tensor of rank 0 as one number, with `precision` digits after the point; of a truth "true" or "false".
std::string scalar_text(const TensorView& tensor, int precision);

}  // namespace attn
