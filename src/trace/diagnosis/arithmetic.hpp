#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/any_tensor.hpp"
#include "trace/diagnosis/replay.hpp"

namespace attn {

/// The floating-point type that computed tensors were rounded to: the narrowest of theirs. Somebody's float64
/// or float32 may hold narrower numbers, because npz has no bfloat16 and lists of numbers have no type:
/// tensors of one stored type are of the narrowest that has all of their entries, as long as at least 4 of
/// these are neither small integers nor of few binary digits. A decimal that a float32 was printed as counts
/// as a float32. Where some tensors are wider, as autocast keeps softmax in float32, at least 16 entries of
/// the others have to tell a half-precision type, fractions of small denominators not among them. Tensors of
/// other types say nothing; without any it is float64.
Dtype arithmetic_of(const std::vector<const AnyTensor*>& computed);

/// Float16 or bfloat16 where every number of a tensor is the one of `right` rounded to it, some are no small
/// integers nor of few binary digits, and one is another than the right one. None otherwise.
std::optional<Dtype> half_precision_of(const AnyTensor& tensor, const std::vector<double>& right);

/// To how many decimals, 3 to 9, numbers were rounded that were printed with as many each: the most that one
/// of them has. None where they have more, or fewer, or are fractions of powers of 2 that have no more
/// digits.
std::optional<int> decimals_of(const std::vector<const AnyTensor*>& tensors);

/// The number rounded to that many decimals.
double rounded_to_decimals(double number, int decimals);

/// Numbers that were rounded to decimals.
struct RoundedNumbers {
  int decimals;
  const Tensors& steps;                    ///< somebody's, by id
  const std::vector<std::string>& inputs;  ///< ids of the inputs that were rounded as well
};

/// How far each number may be from what is expected under the hypothesis because somebody's were rounded: by
/// half a unit of the last decimal, and by what moves it when all before it move at random by up to half such
/// a unit. By id.
std::map<std::string, std::vector<double>> tolerance_of_decimals(const RoundedNumbers& rounded,
                                                                 const Rerun& rerun,
                                                                 const Hypothesis& hypothesis);

}  // namespace attn
