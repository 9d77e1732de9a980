#include "attn/layers/transformer_block_measure.hpp"

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/slice.hpp"

namespace attn {

namespace {

/// Each number x of the last token of each sample becomes 1 − x: a change that no layer norm undoes, as it
/// would undo the same number added to all.
Tensor<3> with_another_last_token(Tensor<3> X) {
  const std::size_t last = X.shape(1) - 1;
  for (std::size_t b = 0; b < X.shape(0); ++b)
    for (std::size_t c = 0; c < X.shape(2); ++c) X(b, last, c) = double{1} - X(b, last, c);
  return X;
}

}  // namespace

double look_ahead(const Tensor<3>& X, const TransformerBlockWeights& weights,
                  const TransformerBlockSettings& settings, const std::optional<Mask<3>>& mask,
                  const std::optional<Memory>& memory) {
  const auto earlier_rows = [&](const Tensor<3>& input) {
    return first_rows(transformer_block(input, weights, settings, mask, memory).output, X.shape(1) - 1);
  };
  return max_abs_difference(earlier_rows(with_another_last_token(X)), earlier_rows(X));
}

double deviation_from_sum(const Tensor<3>& X, const TransformerBlock& block) {
  auto found = add(block.attention.output, block.feed_forward.output);
  if (block.cross) found = add(found, block.cross->output);
  return max_abs_difference(add(X, found), block.output);
}


}  // namespace attn
