#pragma once

#include <string>

#include "lessons/workbench/workbench.hpp"

/// What is said of the sublayers of a block, on the page and in its NumPy code.
namespace lessons {

/// The note of every layer norm.
inline constexpr const char* note_of_layer_norm =
    "LN(x) = (x − mean) / √(variance + 1e−05) · gain + bias (Ba et al. 2016). Mean and variance are those of "
    "the token's own row, the variance divided by d. Gain and bias are learned; before training they are 1 "
    "and 0. 1e−05 = 0.00001, called epsilon, avoids a division by 0.";

/// Where a sublayer f has its layer norm: after it, LN(x + f(x)) (Vaswani et al. 2017), or before it,
/// x + f(LN(x)) (Xiong et al. 2020).
enum class NormOrder { post, pre };

/// The option --norm.
NormOrder norm_order_of(const Workbench& bench);

/// What is to be said of a sublayer.
struct SublayerText {
  std::string residual_id, residual_title, residual_note;
  std::string norm_id, norm_note;
  std::string weights;  ///< the layer norm's inputs are `WEIGHTS/gain` and `WEIGHTS/bias`
};

/// What is said of attention, of the attention to an encoder's sentence, and of the feed-forward network,
/// whose layer norm is the block's output with post-norm.
SublayerText around_attention();
SublayerText around_cross_attention();
SublayerText around_feed_forward(NormOrder order);

}  // namespace lessons
