#include "attn/layers/causal_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "attn/ops/arithmetic.hpp"
#include "attn/ops/mask.hpp"
#include "attn/ops/matmul.hpp"
#include "attn/ops/measure.hpp"
#include "attn/ops/shape_mismatch.hpp"
#include "attn/ops/steps.hpp"

namespace attn {

Tensor<3> embed_tokens(const Tensor<2>& embedding, const Tensor<2>& positions,
                          const std::vector<std::size_t>& tokens, std::size_t first) {
  const auto d_model = embedding.shape(1);
  if (positions.shape(1) != d_model)
    throw shape_mismatch("embed_tokens", "embedding", embedding, "positions", positions,
                         "the rows must be of one length");
  if (first + tokens.size() > positions.shape(0))
    throw std::invalid_argument(
        fmt::format("[embed_tokens] positions has {} rows but the last token stands at {}",
                    positions.shape(0), first + tokens.size() - 1));
  Tensor<3> x({1, tokens.size(), d_model});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= embedding.shape(0))
      throw std::invalid_argument(fmt::format("[embed_tokens] embedding has {} rows but there is a token {}",
                                              embedding.shape(0), tokens[i]));
    for (std::size_t j = 0; j < d_model; ++j) x(0, i, j) = embedding(tokens[i], j) + positions(first + i, j);
  }
  return x;
}

CausalDecoder causal_decoder(const Tensor<3>& x, const CausalDecoderWeights& weights) {
  const auto n = x.shape(1);
  const std::optional mask = repeat_mask(causal_mask(n, n), x.shape(0));
  CausalDecoder result{.layers = {}, .hidden = x, .logits = {}};
  for (const auto& layer : weights.layers) {
    result.layers.push_back(
        multihead_attention(result.hidden, result.hidden, layer, weights.heads, weights.kv_heads, mask));
    result.hidden = add(result.hidden, result.layers.back().output);
  }
  result.logits = linear(result.hidden, weights.W_vocabulary);
  return result;
}

double deviation_from_full_pass(const std::vector<Tensor<2>>& logits_by_step,
                                const CausalDecoder& full) {
  const auto rows = full.logits.shape(1), steps = logits_by_step.size();
  if (steps > rows)
    throw std::invalid_argument(fmt::format(
        "[deviation_from_full_pass] there are {} steps but the full pass has {} rows", steps, rows));
  double largest = 0.0;
  for (std::size_t step = 0; step < steps; ++step)
    largest = maximum(
        {largest, max_abs_difference(logits_by_step[step], step_of(full.logits, rows - steps + step))});
  return largest;
}

std::size_t greedy_token(const Tensor<2>& logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}


}  // namespace attn
