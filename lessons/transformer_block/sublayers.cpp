#include "lessons/transformer_block/sublayers.hpp"

#include "lessons/transformer_block.hpp"

namespace lessons {

NormOrder norm_order_of(const Workbench& bench) {
  return norm_comes_first(bench) ? NormOrder::pre : NormOrder::post;
}

SublayerText around_attention() {
  return {.residual_id = "residual_1",
          .residual_title = "What attention found is added",
          .residual_note = "Attention only adds to a token's row; the row itself goes on (He et al. 2016).",
          .norm_id = "norm_1",
          .norm_note = note_of_layer_norm,
          .weights = "norm_1"};
}

SublayerText around_cross_attention() {
  return {.residual_id = "residual_cross",
          .residual_title = "What cross-attention found is added",
          .residual_note =
              "The queries came from this sentence, the keys and values from the memory. Only a decoder's "
              "block has this sublayer.",
          .norm_id = "norm_cross",
          .norm_note = "",
          .weights = "norm_cross"};
}

SublayerText around_feed_forward(NormOrder order) {
  return {.residual_id = "residual_2",
          .residual_title = "What the network found is added",
          .residual_note = "",
          .norm_id = order == NormOrder::post ? "output" : "norm_2",
          .norm_note = "",
          .weights = "norm_2"};
}

}  // namespace lessons
