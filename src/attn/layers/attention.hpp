#pragma once

#include <optional>

#include "attn/tensor.hpp"

namespace attn {

/// Scaled dot-product attention (Vaswani et al. 2017, equation 1) and all that it is made of. The axes are
/// [batch×query×key] for a single attention, [batch×head×query×key] for several heads.
template <class T, std::size_t N>
struct Attention {
  Tensor<T, N> scores;                 ///< Q Kᵀ
  Tensor<T, N> scaled;                 ///< scores / (√d_k · temperature)
  std::optional<Tensor<T, N>> masked;  ///< −∞ where the mask is false; only with a mask
  Tensor<T, N> weights;                ///< softmax over the keys
  Tensor<T, N> output;                 ///< weights V, [batch…×query×d_v]
};

/// Q [batch…×query×d_k], K [batch…×key×d_k], V [batch…×key×d_v], mask [batch×query×key], true = may be seen.
/// Instantiated for float and double, ranks 3 and 4. Throws std::invalid_argument, with both shapes, where
/// they do not match.
template <class T, std::size_t N>
Attention<T, N> scaled_dot_product_attention(const Tensor<T, N>& Q, const Tensor<T, N>& K,
                                             const Tensor<T, N>& V,
                                             const std::optional<Tensor<bool, 3>>& mask = std::nullopt,
                                             double temperature = 1.0);

}  // namespace attn
