#pragma once

#include <stdexcept>
#include <string>

#include "attn/tensor.hpp"

namespace attn {

/// What an op throws when two tensors do not fit together:
/// "[matmul] a is 2×3 but b is 4×5: the inner axes must match".
template <class A, class B>
std::invalid_argument shape_mismatch(const std::string& op, const std::string& a_name, const A& a,
                                     const std::string& b_name, const B& b, const std::string& rule) {
  return std::invalid_argument("[" + op + "] " + a_name + " is " + to_string(view_of(a).shape) + " but " +
                               b_name + " is " + to_string(view_of(b).shape) + ": " + rule);
}

}  // namespace attn
