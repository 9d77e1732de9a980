#pragma once

#include "fast/bench/setting.hpp"
#include "attn/tensor.hpp"

namespace attn::bench {

/// What a kernel reads and where it writes, for one sample.
template <class T>
struct Operands {
  Array<T, 4> query;     ///< [batch×head×query×d_k]
  Array<T, 4> key;       ///< [batch×kv_head×key×d_k]
  Array<T, 4> value;     ///< [batch×kv_head×key×d_v]
  Array<T, 4> d_output;  ///< [batch×head×query×d_v]; empty, as the others below, without a way back

  Array<T, 4> output;       ///< [batch×head×query×d_v]
  Array<T, 3> log_sum_exp;  ///< [batch×head×query]
  Array<T, 4> d_query, d_key, d_value;
};

/// Inputs of nearly normal numbers, the same at every call. With rising scores each key scores about a tenth
/// more than the one before, for every query. Instantiated for float and double.
template <class T>
Operands<T> draw_operands(const Setting& setting);

/// Bytes that these take up, without taking them.
double operand_bytes(const Setting& setting, std::size_t element_size);

}  // namespace attn::bench
