#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/random/random.hpp"
#include "lessons/backward/attention.hpp"
#include "trace/trace.hpp"

namespace lessons {

/// How far one gradient is from central differences of the loss.
struct GradientDeviation {
  std::string name;  ///< of the tensor: "V", "weights", "W_Q", …
  double deviation = 0.0;
  double allowed = 0.0;  ///< what the truncation of a difference and rounding may amount to together
  double size = 0.0;     ///< of the gradient: its largest number, or √Σ g² where all of them move at once
};

/// A tensor that the loss is seen to depend on by moving it.
struct MovedTensor {
  std::string name;
  Tensor<3> x;          ///< where it stands in the forward pass
  Tensor<3> gradient;   ///< what d_x is said to be
  Tensor<3> magnitude;  ///< what the terms of each entry of d_x sum up to without their signs
  std::function<Tensor<3>(const Tensor<3>& x)> output_of;
};

/// Multiply-adds that are done in a moment.
constexpr double affordable_multiply_adds = 1 << 27;

/// Central differences of L = Σ output ∘ d_output in one tensor after the other, with steps that move no
/// scaled score by more than 1e-5: a difference is off by the square of that, and rounding by epsilon divided
/// by it. They are taken in float64.
class DifferenceCheck {
 public:
  /// `d_weights` is the magnitude of that gradient, `dtype` what the tensors of the forward pass are rounded
  /// to.
  DifferenceCheck(const Attention<3>& attention, const Tensor<3>& d_output, const Tensor<3>& d_weights,
                  attn::Dtype dtype, bool entry_by_entry);

  bool entry_by_entry() const { return entry_by_entry_; }

  /// `direction` says which way each entry goes where all of them move at once. L is linear in the tensor.
  GradientDeviation in_linear(const MovedTensor& moved, const Tensor<3>& direction) const;

  /// Likewise. `reach` is how far a scaled score moves at most where one entry moves by 1, or all of them by
  /// `direction`.
  GradientDeviation through_softmax(const MovedTensor& moved, double reach, const Tensor<3>& direction) const;

 private:
  GradientDeviation deviation(const MovedTensor& moved, double step, double reach,
                              const Tensor<3>& direction) const;

  const Tensor<3>& d_output_;
  bool entry_by_entry_;
  double relative_, noise_, near_0_;
};

/// x − y.
Tensor<3> difference(const Tensor<3>& x, const Tensor<3>& y);

/// 1 or −1, by chance.
Tensor<3> random_signs(attn::Random& random, const std::array<std::size_t, 3>& shape);

/// How large a gradient is where it is checked number by number, and where all of them are at once.
double size_of(const std::vector<double>& gradient, bool entry_by_entry);

/// Half the distance from 1 to the next number of that floating-point type.
double unit_roundoff(attn::Dtype dtype);

/// The smallest number of that type that has all its digits.
double smallest_normal(attn::Dtype dtype);

/// Makes the claim that differences agree with the gradient `d_id`. Where its limit is beyond the hundredth
/// part of `size`, which is the gradient's own, or in half precision beyond the fourth, it would say nothing:
/// a note of the same id tells so.
void claim_differences(attn::Trace& trace, const std::string& d_id, double size, const attn::Claim& claim);

}  // namespace lessons
