#pragma once

#include <optional>

#include "lessons/sdpa.hpp"

namespace lessons {

/// What scaled dot-product attention has to keep of its forward pass for the backward pass, [batch×n×d] for a
/// single attention and [batch×head×n×d] for several heads, of which fewer may have keys and values.
template <std::size_t N>
struct AttentionKept {
  const Tensor<N>&Q, &K, &V;
  const Tensor<N>& weights;
  const std::optional<Mask<3>>& mask;
};

/// The claim `gradients-equal-kernel`: the fast kernel gives the same d_Q, d_K and d_V. A note where rounding
/// alone may change more than the hundredth part of them. Ranks 3 and 4.
template <std::size_t N>
void claim_gradients_of_kernel(Workbench& bench, const AttentionKept<N>& kept, const Tensor<N>& d_output,
                               const Tensor<N>& d_Q, const Tensor<N>& d_K, const Tensor<N>& d_V);

}  // namespace lessons
