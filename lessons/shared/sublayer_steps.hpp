#pragma once

#include <functional>
#include <string>

#include "attn/layers/transformer_block.hpp"
#include "attn/ops/layer_norm.hpp"
#include "lessons/workbench/workbench.hpp"

namespace lessons {

/// The inputs `NAME/gain`, all 1, and `NAME/bias`, all 0, which cost no draw.
attn::LayerNormWeights norm_weights(Workbench& bench, const std::string& name);

/// Shows `residual` = X + output, for attention from X.
Tensor<3> show_attention_residual(Workbench& bench, const Named& X, const Tensor<3>& output);

/// Shows `normalized`, the layer norm of x with the inputs `norm/gain` and `norm/bias`.
Tensor<3> show_attention_norm(Workbench& bench, const Named& x,
                                 const attn::LayerNormWeights& weights);

/// A sublayer of a transformer block: what is there to say about it, and where its layer norm stands.
struct SublayerText {
  std::string residual_id, residual_title, residual_note;
  std::string norm_id, norm_note;
  std::string weights;  ///< the layer norm's inputs are `WEIGHTS/gain` and `WEIGHTS/bias`
};

/// Shows the sublayer around `show`, which shows the steps of a function f and returns its result: LN(x +
/// f(x)) after f or x + f(LN(x)) before it. Claims that the rows of the layer norm have mean 0 and
/// variance 1.
Named show_sublayer(Workbench& bench, const Named& x, attn::NormOrder order,
                       const SublayerText& text, const attn::LayerNormWeights& weights,
                       const std::function<Named(const Named&)>& show);

}  // namespace lessons
