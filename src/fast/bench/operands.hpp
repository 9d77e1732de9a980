#pragma once

#include <cstdint>

#include "attn/tensor.hpp"
#include "fast/bench/setting.hpp"

namespace attn::bench {

/// The inputs and outputs of a kernel, for one sample.
template <class T>
struct Operands {
  Array<T, 4> query;     ///< [batch×head×query×d_k]
  Array<T, 4> key;       ///< [batch×kv_head×key×d_k]
  Array<T, 4> value;     ///< [batch×kv_head×key×d_v]
  Array<T, 4> d_output;  ///< [batch×head×query×d_v]; this and the gradients are empty unless
                         ///< they are measured

  Array<T, 4> output;       ///< [batch×head×query×d_v]
  Array<T, 3> log_sum_exp;  ///< [batch×head×query]
  Array<T, 4> d_query, d_key, d_value;
};

/// Of mean 0 and variance 1: the sum of four uniform numbers, made of 64 random bits.
double nearly_normal(std::uint64_t bits);

/// Inputs of nearly normal numbers, the same at every call. With rising scores each key scores about a tenth
/// more than the one before, for every query. The loss depends only on the outputs that are checked: the
/// other rows of d_output are 0 (see `checked_queries`). Instantiated for float and double.
template <class T>
Operands<T> draw_operands(const Setting& setting);

/// Bytes that the operands of a setting need.
double operand_bytes(const Setting& setting, std::size_t element_size);

/// The queries whose results are checked, in rising order, the first and the last among them. To check all of
/// them would take longer than anything that is measured.
std::vector<std::size_t> checked_queries(const Setting& setting);

}  // namespace attn::bench
