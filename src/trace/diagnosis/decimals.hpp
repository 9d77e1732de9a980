#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/diagnosis/replay.hpp"

namespace attn {

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
